"""What generated host modules import: the compiled meaning of `_intrinsics`, for numba on the CPU."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import int64, types
from numba.extending import intrinsic

NO_ERROR = 0xFFFF_FFFF_FFFF_FFFF
MAX_WIDTH = 8
NO_ATTEMPT = 0x7FFF_FFFF_FFFF_FFFF
"""awkward's mark for "no value was looked up"."""

INT64_LOWEST = -(2**63)
INT64_HIGHEST = 2**63 - 1
UINT64_HIGHEST = NO_ERROR
FLOAT64_LOWEST = -math.inf
FLOAT64_HIGHEST = math.inf

host_op = numba.njit(nogil=True, error_model="numpy")


@intrinsic
def widen(typing: Any, value: Any) -> Any:
    """A loaded element as ops see it: integers narrower than 64 bits become int64."""
    wide = value
    if isinstance(value, types.Integer) and value.bitwidth < 64:
        wide = types.int64
    return wide(value), lambda context, builder, signature, args: context.cast(
        builder, args[0], value, wide
    )


@intrinsic
def pointer(typing: Any, address: Any, dtype: Any) -> Any:
    """The memory at an address, as an array without bounds."""
    result = types.CPointer(dtype.dtype)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(result))

    return result(address, dtype), generate


@intrinsic
def local(typing: Any, dtype: Any) -> Any:
    """An array of `MAX_WIDTH` elements on the stack."""
    result = types.CPointer(dtype.dtype)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        element = context.get_data_type(dtype.dtype)
        with builder.goto_entry_block():
            return builder.alloca(element, ir.Constant(ir.IntType(64), MAX_WIDTH))

    return result(dtype), generate


@intrinsic
def like(typing: Any, target: Any, value: Any) -> Any:
    """The right side of ``target += value``: an integer takes the target's type, as in C."""
    wide = value
    if isinstance(value, (types.Integer, types.Boolean)) and isinstance(
        target, (types.Integer, types.Float)
    ):
        wide = target
    return wide(target, value), lambda context, builder, signature, args: context.cast(
        builder, args[1], value, wide
    )


@intrinsic
def float_bits(typing: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = context.cast(builder, args[0], value, types.float64)
        return builder.bitcast(wide, ir.IntType(64))

    return types.int64(value), generate


@intrinsic
def popcount(typing: Any, value: Any) -> Any:
    return types.int64(types.int64), lambda context, builder, signature, args: builder.ctpop(args[0])


@host_op
def rsqrt(value: Any) -> Any:
    return np.float32(1) / np.sqrt(np.float32(value))


@host_op
def floor_divide(a: Any, b: Any) -> Any:
    return a // b


@host_op
def modulo(a: Any, b: Any) -> Any:
    return a % b


@host_op
def load_int64(address: Any, index: Any) -> Any:
    return pointer(address, int64)[index]


@host_op
def store_int64(address: Any, index: Any, value: Any) -> None:
    pointer(address, int64)[index] = value


@host_op
def ADD(a: Any, b: Any) -> Any:
    return a + b


@host_op
def MAX(a: Any, b: Any) -> Any:
    return b if a < b or b != b else a


@host_op
def MIN(a: Any, b: Any) -> Any:
    return b if b < a or b != b else a


@host_op
def no_error() -> Any:
    return int64(0)


@host_op
def no_attempt() -> Any:
    return int64(NO_ATTEMPT)


@host_op
def pack_attempt(code: Any, element: Any, offset: Any, attempt: Any, where: Any) -> Any:
    """An op's return value: 0, or the element above the 1-based code."""
    if code == 0:
        return int64(0)
    where[0] = attempt
    return int64(((element & 0xFF_FFFF_FFFF) << 8) | ((code + offset) & 0xFF))
