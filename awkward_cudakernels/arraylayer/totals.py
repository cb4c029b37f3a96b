"""All elements of an array in one number, which stays on the device: a launch or two, and no wait if none can fail."""

from __future__ import annotations

from typing import Any

import numpy as np
from awkward import _reducers
from awkward.contents import ListOffsetArray

import errorflag
from primitives import op, transform
from primitives import reduce as total

from .arrays import CudaArrays
from .device import is_plain, is_within, span_of
from .elementwise import copy_value


@op
def number(i, value, x):
    value[0] = x[i]


@op
def truth(i, value, x):
    value[0] = x[i] != 0


@op
def is_positive(i, out, count):
    out[i] = count[i] > 0


@op
def is_number(i, out, count, n):
    out[i] = count[i] == n


COMBINATIONS = {_reducers.Sum: "add", _reducers.Max: "maximum", _reducers.Min: "minimum"}
TRUTHS = (_reducers.Any, _reducers.All, _reducers.CountNonzero)
REDUCED = "?bBhHiIlLfd"
"""The dtypes that ops are compiled for."""
WIDE = {"b": "int64", "i": "int64", "u": "uint64", "f": "float64"}
"""In what numbers of a kind are combined."""


def of_all(layout: Any, reducer: Any) -> Any:
    """What awkward's reducer makes of all numbers of an array, as an array without dimensions, as awkward's CUDA
    backend gives it; None if that is awkward's own to find: it is no array of numbers, or of lists of such, or empty.
    """
    kind = type(reducer)
    known = kind in COMBINATIONS or kind in TRUTHS or kind is _reducers.Count
    if not known or getattr(reducer, "_initial", None) is not None:
        return None
    x = all_numbers(layout)
    if x is None:
        return None
    if kind is _reducers.Count:
        return layout._backend.nplike.full(1, len(x), dtype=np.int64)[0]
    dtype = getattr(reducer, "_dtype", None)
    found = of_truths(x, kind) if kind in TRUTHS else of_numbers(x, kind, dtype)
    return None if found is None else as_number(found)


def as_number(found: Any) -> Any:
    """An array of one element without its dimension; waits only if a launch before can have failed."""
    errorflag.check()
    return found[0]


def of_numbers(x: Any, kind: type, dtype: Any = None) -> Any:
    """The sum, maximum or minimum of an array as one of one element; of sums, `dtype` is that of the result.

    None if it cannot be made in that.
    """
    if kind is not _reducers.Sum:
        dtype = x.dtype
    elif dtype is None:
        dtype = x.dtype if x.dtype.kind == "f" else np.dtype(WIDE[x.dtype.kind])
    elif dtype != np.float64:
        return None
    wide = WIDE[dtype.kind]
    out = type(x)(1, wide)
    total(len(x), (number, x), out, combine=COMBINATIONS[kind], dtype=wide)
    if out.dtype == dtype:
        return out
    narrow = type(x)(1, dtype)
    transform(copy_value, 1, narrow, out)
    return narrow


def of_truths(x: Any, kind: type) -> Any:
    """How many elements of an array are not 0, or whether any is or all are, as an array of one element."""
    count = type(x)(1, np.int64)
    total(len(x), (truth, x), count)
    if kind is _reducers.CountNonzero:
        return count
    out = type(x)(1, np.bool_)
    if kind is _reducers.Any:
        transform(is_positive, 1, out, count)
    else:
        transform(is_number, 1, out, count, len(x))
    return out


def all_numbers(layout: Any) -> Any:
    """The numbers at the innermost of lists on the device, at least one; or None."""
    if type(layout._backend.nplike) is not CudaArrays:
        return None
    while type(layout) is ListOffsetArray:
        if not is_within(layout):
            return None
        content, (first, n) = layout._content, span_of(layout)
        layout = content if content.length == n else content[first : first + n]
    if (
        not is_plain(layout)
        or layout._data.dtype.char not in REDUCED
        or layout.parameter("__array__") is not None
    ):
        return None
    return layout._data if layout.length else None
