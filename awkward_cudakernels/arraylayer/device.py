"""What is on the device, as the other modules ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from awkward.contents import ListOffsetArray, NumpyArray

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


def starts_and_stops(lists: Any) -> tuple[Any, Any]:
    """The arrays of where lists start and stop; of a `ListArray`, they may differ in length."""
    if type(lists) is ListOffsetArray:
        return lists._offsets._data[:-1], lists._offsets._data[1:]
    return lists._starts._data, lists._stops._data
