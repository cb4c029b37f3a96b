"""Universal functions of numbers and of lists of numbers: without awkward's broadcasting, which comes to the same."""

from __future__ import annotations

from typing import Any

import awkward as ak
import numpy as np
from awkward._behavior import find_custom_cast
from awkward.contents import Content, IndexedArray, ListOffsetArray, NumpyArray

from .arrays import CudaArrays
from .device import Method, context_of, has_named_axis, is_plain, span_of
from .elementwise import Repeated
from .indexes import are_equal
from .merging import has_lists_of_numbers

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
                and all(isinstance(x, _NUMBERS) for x in inputs if type(x) is not ak.Array)
                and all(_has_numbers(array) for array in arrays)
            ):
                context = context_of(arrays, None, None)
                if all(find_custom_cast(x, context.behavior) is None for x in inputs):
                    layout = _of_numbers(ufunc, [getattr(x, "_layout", x) for x in inputs])
                    if layout is not None:
                        return context.wrap(layout)
        return original(ufunc, method, inputs, kwargs)

    return array_ufunc


def _has_numbers(array: Any) -> bool:
    """Whether it is one dimension of numbers on the device, also by an index, or lists of these, without names and
    parameters."""
    layout = array._layout
    if type(layout) is ListOffsetArray:
        return has_lists_of_numbers(array) and not layout._content._parameters
    if type(layout._backend.nplike) is not CudaArrays or layout._parameters or has_named_axis(array):
        return False
    if type(layout) is IndexedArray:
        return is_plain(layout._content) and not layout._content._parameters
    return is_plain(layout)


def _of_numbers(ufunc: Any, inputs: list[Any]) -> Any:
    """The layout of the result; None if lengths differ, and awkward may broadcast them or say so."""
    layouts = [x for x in inputs if isinstance(x, Content)]
    if any(layout.length != layouts[0].length for layout in layouts):
        return None
    backend = layouts[0]._backend
    nplike = backend.nplike
    lists = [layout for layout in layouts if type(layout) is ListOffsetArray]
    offsets: Any = lists[0]._compact_offsets64(True) if lists else None
    if not all(are_equal(other._offsets, offsets, nplike) for other in lists if other is not lists[0]):
        return None
    total = int(offsets[-1]) if lists else 0
    numbers = []
    for x in inputs:
        if type(x) is ListOffsetArray:
            first, _ = span_of(x)
            x = x._content._data[first : first + total]
        elif isinstance(x, Content):
            x = (x.project() if type(x) is IndexedArray else x)._data
            if lists:
                x = Repeated(x, offsets.data, total).unwritten(nplike)
        numbers.append(x)
    content = NumpyArray(nplike.apply_ufunc(ufunc, "__call__", numbers), backend=backend)
    return ListOffsetArray(offsets, content) if lists else content
