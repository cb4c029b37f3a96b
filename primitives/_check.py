"""Checks of arguments that the host can make before anything is launched."""

from __future__ import annotations

import operator
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
    if not hasattr(getattr(value, "dtype", None), "char"):
        value = _adopted(name, value)
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


def _adopted(name: str, value: Any) -> Any:
    """An array of another library, without a copy."""
    from ._run import adopt

    try:
        array = adopt(value)
    except TypeError:
        array = None
    if not hasattr(array, "dtype") or not hasattr(array, "shape"):
        raise TypeError(f"argument {name!r} must be an array, not a {type(value).__name__}")
    return array


INTEGERS = "bBhHiIlLqQ"
"""dtypes that offsets can have, too."""
