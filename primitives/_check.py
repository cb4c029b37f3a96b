"""Checks of arguments that the host can make before anything is launched."""

from __future__ import annotations

import operator
import sys
from typing import Any

import numpy as np

LARGEST = 2**62
"""Sizes up to this one can be added and rounded up in 64 bits."""


def length_argument(name: str, value: Any) -> int:
    """A size as a Python int.

    Raises:
        TypeError: if it is not an integer.
        ValueError: if it is negative, or larger than any array.
    """
    try:
        length = operator.index(value)
    except TypeError:
        raise TypeError(f"argument {name!r} must be an integer, not {value!r}") from None
    if length < 0:
        raise ValueError(f"argument {name!r} must not be negative, it is {length}")
    if length > LARGEST:
        raise ValueError(f"argument {name!r} must be at most {LARGEST}, it is {length}")
    return length


_cupy_ndarray: Any = None
"""CuPy's type of arrays, once one has been met."""


def adopt(value: Any) -> Any:
    """An argument as an array of NumPy or CuPy, without a copy, an `int`, a `float` or a `numpy.uint64`.

    Raises:
        TypeError: it is none of them; the text goes on after the argument's name.
    """
    if isinstance(value, (np.ndarray, np.uint64)):
        return value
    global _cupy_ndarray
    imported = sys.modules.get("cupy")
    if imported is not None and type(value) is imported.ndarray:
        _cupy_ndarray = imported.ndarray
        return value
    if isinstance(value, (bool, int, np.bool_, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    if hasattr(value, "__cuda_array_interface__"):
        import cupy

        return cupy.asarray(value)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        if value.__dlpack_device__()[0] == 2:
            import cupy

            return cupy.from_dlpack(value)
        return np.from_dlpack(value)
    raise TypeError(f"is a {type(value).__name__}, which is neither an array nor a number")


def adopt_array(name: str, value: Any) -> Any:
    """An argument as an array of NumPy or CuPy, without a copy; a `TypeError` if it is none."""
    try:
        array = adopt(value)
    except TypeError:
        array = None
    if not hasattr(array, "shape") or isinstance(array, np.uint64):
        raise TypeError(f"argument {name!r} must be an array, not a {type(value).__name__}")
    return array


def array_argument(
    name: str, value: Any, *, dtypes: str | None = None, size: int | None = None, written: bool = False
) -> Any:
    """An array argument whose length or dtype the primitive must know, as NumPy's or CuPy's.

    Args:
        name: for messages.
        value: the array.
        dtypes: allowed dtype kinds and sizes, as NumPy characters; None allows all.
        size: the least number of elements; None allows all.
        written: whether the primitive writes to it.

    Raises:
        TypeError: it is no array, or of another dtype.
        ValueError: it has more than one dimension, is too short, or is to be written and cannot be.
    """
    if type(value) is not _cupy_ndarray and type(value) is not np.ndarray:
        value = adopt_array(name, value)
    if len(value.shape) != 1:
        raise ValueError(f"argument {name!r} must have one dimension, it has {len(value.shape)}")
    if dtypes is not None and value.dtype.char not in dtypes:
        allowed = ", ".join(dict.fromkeys(np.dtype(c).name for c in dtypes))
        raise TypeError(f"argument {name!r} has dtype {value.dtype}; it must be one of {allowed}")
    if size is not None and value.shape[0] < size:
        raise ValueError(
            f"argument {name!r} has {value.shape[0]} elements; it must have at least {size}"
        )
    if written and isinstance(value, np.ndarray) and not value.flags.writeable:
        raise ValueError(f"argument {name!r} is read-only: the result is written to it")
    return value


INTEGERS = "bBhHiIlLqQ"
"""dtypes that offsets can have, too."""
