"""What an op can call beyond Python's own arithmetic, on both executors.

Each has a plain Python meaning here; `_intrinsics_host.py` and `_intrinsics_device.py` give the
compiled ones.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np


class Intrinsic:
    """A function known to both executors by name."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = function.__name__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def __repr__(self) -> str:
        return f"<intrinsic {self.name}>"


@Intrinsic
def load_int64(address: int, index: int) -> int:
    """The element `index` of the int64 array that starts at memory `address`.

    Example:
        >>> import numpy as np
        >>> from primitives import load_int64
        >>> x = np.array([10, 20, 30])
        >>> load_int64(x.ctypes.data, 1)
        20
    """
    return ctypes.c_int64.from_address(int(address) + 8 * int(index)).value


@Intrinsic
def store_int64(address: int, index: int, value: int) -> None:
    """Writes the element `index` of the int64 array that starts at memory `address`.

    Example:
        >>> import numpy as np
        >>> from primitives import store_int64
        >>> x = np.array([10, 20, 30])
        >>> store_int64(x.ctypes.data, 1, 7)
        >>> x
        array([10,  7, 30])
    """
    ctypes.c_int64.from_address(int(address) + 8 * int(index)).value = int(value)


@Intrinsic
def float_bits(value: float) -> int:
    """The bits of a float64, as an int64.

    Example:
        >>> from primitives import float_bits
        >>> hex(float_bits(1.0))
        '0x3ff0000000000000'
    """
    return int(np.float64(value).view(np.int64))


@Intrinsic
def rsqrt(value: float) -> float:
    """The reciprocal of a square root, as a float32 with an error of about one in 2**22: faster than `math.sqrt`.

    Example:
        >>> from primitives import rsqrt
        >>> round(rsqrt(16.0), 5)
        0.25
    """
    return float(np.float32(1) / np.sqrt(np.float32(value)))


@Intrinsic
def popcount(value: int) -> int:
    """How many bits of an int64 are set.

    Example:
        >>> from primitives import popcount
        >>> popcount(0b10110)
        3
    """
    return (int(value) & 0xFFFF_FFFF_FFFF_FFFF).bit_count()
