"""Means, variances and standard deviations of lists of numbers, or of all: each a reduction, or two."""

from __future__ import annotations

import math
from typing import Any

import awkward as ak
import numpy as np
from awkward._namedaxis import NAMED_AXIS_KEY
from awkward.contents import IndexedOptionArray, ListOffsetArray, NumpyArray, RegularArray
from awkward.index import Index64

from primitives import device_function, op, reduce, transform

from ..kernels.reducers import step_centered, step_sum, sum_lists
from .device import Method, context_of, has_named_axis, is_index64, is_plain, is_within, span_of
from .totals import REDUCED, all_numbers, as_number

LARGEST_DDOF = 2**31
"""Degrees of freedom beyond which a count less them is left to awkward."""


@device_function
def store(segment, value, n, out, index, masked):
    """Writes a result, which is NaN if there is none, for 0 / 0 is, and an index that tells if that is wanted."""
    out[segment] = value
    if masked:
        index[segment] = segment if n > 0 else -1


@op
def finish_mean(acc, segment, out, index, masked, offsets):
    n = offsets[segment + 1] - offsets[segment]
    store(segment, acc[0] / np.float64(n), n, out, index, masked)


@device_function
def spread(squares, n, ddof, root):
    """The variance of `n` numbers from the sum of their squared distances, or its root."""
    value = squares / np.float64(n)
    if ddof != 0:  # by two divisions, as awkward does, whose roundings differ from those of one
        value *= np.float64(n) / np.float64(n - ddof)
    return math.sqrt(value) if root else value


@op
def finish_variance(acc, segment, out, index, masked, offsets, ddof, root):
    n = offsets[segment + 1] - offsets[segment]
    store(segment, spread(acc[0], n, ddof, root), n, out, index, masked)


@op
def real(i, value, x):
    value[0] = np.float64(x[i])


@op
def squared_distance(i, value, x, total, n):
    distance = np.float64(x[i]) - total[0] / np.float64(n)
    value[0] = distance * distance


@op
def store_mean(i, out, total, n):
    out[i] = total[i] / np.float64(n)


@op
def store_spread(i, out, squares, n, ddof, root):
    out[i] = spread(squares[i], n, ddof, root)


def write_means(out: Any, index: Any, masked: bool, x: Any, offsets: Any, lists: int, elements: int) -> None:
    """Means of lists: one launch, two for long lists.

    Args:
        out: one float64 for every list.
        index: if masked, receives for every list its position, -1 for one that is empty.
        masked: whether it does.
        x: the numbers.
        offsets: of the lists.
        lists: their number.
        elements: that of their elements.
    """
    finish = (finish_mean, out, index, int(masked), offsets)
    sum_lists(out, offsets, lists, elements, (step_sum, x), finish=finish)


def write_variances(
    out: Any, index: Any, masked: bool, x: Any, offsets: Any, lists: int, elements: int,
    means: Any, ddof: int, root: bool,
) -> None:  # fmt: skip
    """Variances of lists from their means, or their roots: one launch, two for long lists.

    The arguments are those of `write_means` and:
        means: of the lists.
        ddof: what is subtracted from the number of a list's elements before dividing by it.
        root: whether results are the standard deviations.
    """
    finish = (finish_variance, out, index, int(masked), offsets, ddof, int(root))
    sum_lists(out, offsets, lists, elements, (step_centered, x, means), finish=finish)


def mean_of_all(x: Any) -> Any:
    """The mean of an array, as an array of one float64: two launches."""
    total = _sum_of(x, (real, x))
    out = type(x)(1, np.float64)
    transform(store_mean, 1, out, total, len(x))
    return out


def variance_of_all(x: Any, ddof: int, root: bool) -> Any:
    """The variance of an array, or its root, as an array of one float64: three launches."""
    total = _sum_of(x, (real, x))
    squares = _sum_of(x, (squared_distance, x, total, len(x)))
    out = type(x)(1, np.float64)
    transform(store_spread, 1, out, squares, len(x), ddof, int(root))
    return out


def _sum_of(x: Any, value: tuple[Any, ...]) -> Any:
    total = type(x)(1, np.float64)
    reduce(len(x), value, total, dtype="float64")
    return total


def mean(original: Method) -> Method:
    """`ak.mean` of lists of numbers: one reduction, which divides by the lengths as it ends, and no wait. Of all
    numbers: a sum, and a launch to divide it.

    awkward divides two options of one-element lists, of which it looks up repeatedly what is missing.
    """

    def _impl(
        x: Any,
        weight: Any,
        axis: Any,
        keepdims: bool,
        mask_identity: bool,
        highlevel: bool,
        behavior: Any,
        attrs: Any,
    ) -> Any:
        numbers = _all_numbers(x, weight, axis, keepdims)
        if numbers is not None:
            return as_number(mean_of_all(numbers))
        layout = _lists_of_numbers(x, weight, axis, attrs)
        if layout is None:
            return original(x, weight, axis, keepdims, mask_identity, highlevel, behavior, attrs)
        found = _at_innermost(layout, keepdims, mask_identity, write_means)
        return _wrapped(x, found, highlevel, behavior, attrs)

    return _impl


def variance(original: Method) -> Method:
    """`ak.var` of lists of numbers: a reduction for the means, one for the squared distances from them."""
    return _variance(original, root=False)


def standard_deviation(original: Method) -> Method:
    """`ak.std` of lists of numbers: what `ak.var` takes, which writes the roots."""
    return _variance(original, root=True)


def _variance(original: Method, root: bool) -> Method:
    def _impl(
        x: Any, weight: Any, ddof: Any, axis: Any, keepdims: bool, mask_identity: bool, highlevel: bool,
        behavior: Any, attrs: Any,
    ) -> Any:  # fmt: skip
        layout = None
        if type(ddof) is int and abs(ddof) < LARGEST_DDOF:
            numbers = None if _has_named_lists(x) else _all_numbers(x, weight, axis, keepdims)
            if numbers is not None:
                return as_number(variance_of_all(numbers, ddof, root))
            layout = _lists_of_numbers(x, weight, axis, attrs)
        if layout is None:
            return original(x, weight, ddof, axis, keepdims, mask_identity, highlevel, behavior, attrs)

        nplike = layout._backend.nplike

        def write(
            out: Any, index: Any, masked: bool, x: Any, offsets: Any, lists: int, elements: int
        ) -> None:
            means, no_index = nplike.empty(lists, dtype=np.float64), nplike.empty(0, dtype=np.int64)
            write_means(means, no_index, False, x, offsets, lists, elements)
            write_variances(out, index, masked, x, offsets, lists, elements, means, ddof, root)

        found = _at_innermost(layout, keepdims, mask_identity, write)
        return _wrapped(x, found, highlevel, behavior, attrs)

    return _impl


def _all_numbers(x: Any, weight: Any, axis: Any, keepdims: bool) -> Any:
    """All numbers of an array, if they are to be reduced to one; else None."""
    if axis is None and weight is None and not keepdims and isinstance(x, ak.Array):
        return all_numbers(x._layout)
    return None


def _has_named_lists(x: Any) -> bool:
    """Whether lists have names, whose subtraction awkward looks up."""
    layout: Any = getattr(x, "_layout", None)
    while type(layout) is ListOffsetArray:
        if layout.parameter("__list__") is not None:
            return True
        layout = layout._content
    return False


def _lists_of_numbers(x: Any, weight: Any, axis: Any, attrs: Any) -> Any:
    """The layout of lists of numbers, or of lists of such, if they are to be reduced; else None.

    Other parameters than those of characters mean nothing to awkward's reductions, which drop them.
    """
    if not (weight is None and type(axis) is int and isinstance(x, ak.Array)):
        return None
    lists, depth = x.layout, 1
    while type(lists) is ListOffsetArray and type(lists._content) is ListOffsetArray:
        if not _covers(lists._offsets, lists._content.length):
            return None
        lists, depth = lists._content, depth + 1
    if (
        axis in (depth, -1)
        and type(lists) is ListOffsetArray
        and is_plain(lists._content)
        and lists._content._data.dtype.char in REDUCED
        and lists._content.parameter("__array__") is None
        and is_index64(lists._offsets._data)
        and is_within(lists)
        and not has_named_axis(x, attrs)
    ):
        return x.layout
    return None


def _covers(offsets: Any, n: int) -> bool:
    """Whether lists have all elements of their content, so that none is reduced in vain."""
    return is_index64(offsets._data) and offsets[0] == 0 and offsets[-1] == n


def _at_innermost(lists: Any, keepdims: bool, masked: bool, write: Any) -> Any:
    """The layout of what is written for the innermost lists, in the lists around these."""
    if type(lists._content) is ListOffsetArray:
        return ListOffsetArray(lists._offsets, _at_innermost(lists._content, keepdims, masked, write))
    backend, n, offsets = lists._backend, lists.length, lists._offsets
    out = backend.nplike.empty(n, dtype=np.float64)
    index = backend.nplike.empty(n if masked else 0, dtype=np.int64)
    write(out, index, masked, lists._content._data, offsets._data, n, span_of(lists)[1])
    found: Any = NumpyArray(out, backend=backend)
    if masked:
        found = IndexedOptionArray(Index64(index, nplike=backend.nplike), found)
    return RegularArray(found, 1, n) if keepdims else found


def _wrapped(x: Any, found: Any, highlevel: bool, behavior: Any, attrs: Any) -> Any:
    context = context_of((x,), behavior, attrs)
    return context.without_attr(NAMED_AXIS_KEY).wrap(found, highlevel=highlevel)
