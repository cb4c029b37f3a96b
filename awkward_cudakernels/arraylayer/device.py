"""What is on the device, as the other modules ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from awkward._layout import HighLevelContext
from awkward._namedaxis import NAMED_AXIS_KEY
from awkward.contents import ListOffsetArray, NumpyArray
from awkward.index import Index64

Method = Callable[..., Any]

ndarray: Any = None
"""CuPy's type of arrays, while the layer is installed."""


def is_own(array: Any) -> bool:
    """Whether it is an array of CuPy."""
    return type(array) is ndarray


def is_on_device(array: Any) -> bool:
    """Whether it is an array of CuPy, contiguous and of one dimension."""
    return type(array) is ndarray and array.ndim == 1 and array._c_contiguous


def is_plain(content: Any) -> bool:
    """Whether a layout is one dimension of numbers in contiguous memory of the device, for ops to use."""
    return type(content) is NumpyArray and is_on_device(content._data) and content._data.dtype.char != "e"


def is_index64(data: Any) -> bool:
    """Whether it is an index of 64 bits on the device, as most are; some ops are compiled for no other."""
    return is_on_device(data) and data.dtype == np.int64


def is_within(lists: Any) -> bool:
    """Whether a `ListOffsetArray` has its offsets on the device and, as far as their ends tell, in its content."""
    offsets = lists._offsets
    return is_on_device(offsets._data) and 0 <= offsets[0] <= offsets[-1] <= lists._content.length


def span_of(lists: Any) -> tuple[int, int]:
    """Where in its content a `ListOffsetArray` starts, and how many elements it has there."""
    first, last = int(lists._offsets[0]), int(lists._offsets[-1])
    return first, last - first


def context_of(arrays: Any, behavior: Any, attrs: Any) -> HighLevelContext:
    """What a function of arrays wraps its result with: their behaviors and attributes, and what the caller gives."""
    with HighLevelContext(behavior=behavior, attrs=attrs) as context:
        for array in arrays:
            context.update(array)
    return context


def has_named_axis(array: Any, attrs: Any = None) -> bool:
    """Whether a high-level array, or attributes that are given for the result, name axes."""
    return any(given is not None and given.get(NAMED_AXIS_KEY) for given in (array._attrs, attrs))


def starts_and_stops(lists: Any) -> tuple[Any, Any]:
    """The arrays of where lists start and stop; of a `ListArray`, they may differ in length."""
    if type(lists) is ListOffsetArray:
        return lists._offsets._data[:-1], lists._offsets._data[1:]
    return lists._starts._data, lists._stops._data


def room_for(content: Any, n: int) -> Any:
    """An array for `n` elements of a content: numbers, if that is plain, else where in it they are."""
    dtype = content._data.dtype if is_plain(content) else np.int64
    return content._backend.nplike.empty(n, dtype=dtype)


def never_empty(content: Any) -> Any:
    """The numbers of a plain content, for ops that read where `nearest` or `within` says; one 0 if it has none."""
    data = content._data
    return data if data.shape[0] else content._backend.nplike.zeros(1, dtype=data.dtype)


def filled_with(content: Any, written: Any) -> Any:
    """The layout of the elements that have been written to what `room_for` gave."""
    if is_plain(content):
        return NumpyArray(written, parameters=content._parameters, backend=content._backend)
    return content._carry(Index64(written, nplike=content._backend.nplike), True)
