"""Universal functions of numbers, and of lists and options of numbers: without awkward's broadcasting, which comes to
the same."""

from __future__ import annotations

from typing import Any

import awkward as ak
import numpy as np
from awkward._behavior import find_custom_cast
from awkward.contents import (
    ByteMaskedArray,
    Content,
    IndexedArray,
    IndexedOptionArray,
    ListOffsetArray,
    NumpyArray,
)
from awkward.index import Index64

from primitives import op, transform

from .arrays import CudaArrays
from .carries import numbers_of_option
from .device import Method, context_of, has_named_axis, is_on_device, is_plain, span_of
from .elementwise import Repeated
from .indexes import are_equal
from .keeping import keeps, what_is_there
from .merging import has_lists_of_numbers

OPTIONS = (ByteMaskedArray, IndexedOptionArray)
_NUMBERS = (int, float, complex, np.number, np.bool_)


def array_ufunc(original: Method) -> Method:
    """`array_ufunc`: of arrays that are as long as one another, and lists that are, goes to their numbers at once.

    awkward walks down to them, asks every layout on the way for what users may have named, and wraps the result twice.
    """

    def array_ufunc(ufunc: Any, method: str, inputs: Any, kwargs: dict[str, Any]) -> Any:
        if type(ufunc) is np.ufunc and method == "__call__" and not kwargs and ufunc.nout == 1 and not ufunc.signature:
            arrays = [x for x in inputs if type(x) is ak.Array]
            if (
                arrays
                and all(_is_number(x) for x in inputs if type(x) is not ak.Array)
                and all(_has_numbers(array) for array in arrays)
            ):
                context = context_of(arrays, None, None)
                if all(find_custom_cast(x, context.behavior) is None for x in inputs):
                    layout = _of_numbers(ufunc, [getattr(x, "_layout", x) for x in inputs])
                    if layout is not None:
                        return context.wrap(layout)
        return original(ufunc, method, inputs, kwargs)

    return array_ufunc


def _is_number(x: Any) -> bool:
    """Whether it is a number of NumPy's or Python's, of which awkward takes integers of 64 bits."""
    return -(2**63) <= x < 2**63 if type(x) is int else isinstance(x, _NUMBERS)


def _has_numbers(array: Any) -> bool:
    """Whether it is one dimension of numbers on the device, also by an index or some of them missing, or lists of
    numbers, without names and parameters."""
    layout = array._layout
    if type(layout) is ListOffsetArray:
        return has_lists_of_numbers(array) and not layout._content._parameters
    if type(layout._backend.nplike) is not CudaArrays or layout._parameters or has_named_axis(array):
        return False
    if type(layout) in (IndexedArray, *OPTIONS):
        by = layout._mask if type(layout) is ByteMaskedArray else layout._index
        return is_plain(layout._content) and not layout._content._parameters and is_on_device(by._data)
    return is_plain(layout)


def _of_numbers(ufunc: Any, inputs: list[Any]) -> Any:
    """The layout of the result; None if lengths differ, and awkward may broadcast them or say so."""
    layouts = [x for x in inputs if isinstance(x, Content)]
    if any(layout.length != layouts[0].length for layout in layouts):
        return None
    backend = layouts[0]._backend
    nplike = backend.nplike
    lists = [layout for layout in layouts if type(layout) is ListOffsetArray]
    options = [layout for layout in layouts if type(layout) in OPTIONS]
    if lists and options:
        return None
    offsets: Any = lists[0]._compact_offsets64(True) if lists else None
    if not all(are_equal(other._offsets, offsets, nplike) for other in lists if other is not lists[0]):
        return None
    total = int(offsets[-1]) if lists else 0
    numbers = []
    for x in inputs:
        if type(x) is ListOffsetArray:
            first, _ = span_of(x)
            x = x._content._data[first : first + total]
        elif type(x) is ByteMaskedArray:
            x = x._content._data[: x.length]
        elif type(x) is IndexedOptionArray:
            x = numbers_of_option(x)
        elif isinstance(x, Content):
            x = (x.project() if type(x) is IndexedArray else x)._data
            if lists:
                x = Repeated(x, offsets.data, total).unwritten(nplike)
        numbers.append(x)
    content = NumpyArray(nplike.apply_ufunc(ufunc, "__call__", numbers), backend=backend)
    if options:
        return IndexedOptionArray(_index_of_valid(options), content)
    return ListOffsetArray(offsets, content) if lists else content


@op
def position_or_none(i, out, by, rule):
    out[i] = i if keeps(by[i], rule) else -1


@op
def none_where_missing(i, out, by, rule):
    if not keeps(by[i], rule):
        out[i] = -1


def _index_of_valid(options: list[Any]) -> Index64:
    """Positions of what is missing in none of the options: a launch for each of what tells that."""
    nplike, n = options[0]._backend.nplike, options[0].length
    out = nplike.empty(n, dtype=np.int64)
    first, *others = {id(by): (by, rule) for by, rule in map(what_is_there, options)}.values()
    transform(position_or_none, n, out, *first)
    for other in others:
        transform(none_where_missing, n, out, *other)
    return Index64(out, nplike=nplike)
