"""The compiled meaning of `_intrinsics` on the device, for numba-cuda."""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import cuda
from numba.cuda import cgutils, types
from numba.cuda.extending import intrinsic

device_function = cuda.jit(device=True, inline="always")


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
def rsqrt(typing: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        narrow = context.cast(builder, args[0], value, types.float32)
        kind = ir.FunctionType(ir.FloatType(), [ir.FloatType()])
        name = "llvm.nvvm.rsqrt.approx.f"
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [narrow])

    return types.float32(value), generate


@intrinsic
def popcount(typing: Any, value: Any) -> Any:
    return types.int64(types.int64), lambda context, builder, signature, args: builder.ctpop(args[0])


def _division(operation: Any, short: str) -> Any:
    """Python's division of numbers; of two int64 that are below 2**31 and not negative, in 32 bits."""

    def divide(typing: Any, a: Any, b: Any) -> Any:
        kinds = types.unliteral(a), types.unliteral(b)
        signature = typing.resolve_function_type(operation, kinds, {})

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            general = context.get_function(operation, signature)
            if kinds != (types.int64, types.int64):
                return general(builder, args)
            narrow, wide = ir.IntType(32), ir.IntType(64)
            small = builder.icmp_unsigned("<", builder.or_(*args), ir.Constant(wide, 1 << 31))
            nonzero = builder.icmp_unsigned("!=", args[1], ir.Constant(wide, 0))
            with builder.if_else(builder.and_(small, nonzero)) as (then, otherwise):
                with then:
                    a, b = (builder.trunc(arg, narrow) for arg in args)
                    in_32_bits = builder.zext(getattr(builder, short)(a, b), wide)
                    after_32 = builder.block
                with otherwise:
                    in_64_bits = general(builder, args)
                    after_64 = builder.block
            result = builder.phi(wide)
            result.add_incoming(in_32_bits, after_32)
            result.add_incoming(in_64_bits, after_64)
            return result

        return signature, generate

    return intrinsic(divide)


floor_divide = _division(operator.floordiv, "udiv")
modulo = _division(operator.mod, "urem")


@intrinsic
def load_int64(typing: Any, address: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        base = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        return builder.load(builder.gep(base, [args[1]]))

    return types.int64(types.int64, types.int64, types.int64), generate


@intrinsic
def store_int64(typing: Any, address: Any, index: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        base = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        builder.store(args[2], builder.gep(base, [args[1]]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def no_error(typing: Any) -> Any:
    return types.int64(), lambda context, builder, signature, args: ir.Constant(ir.IntType(64), 0)


@intrinsic
def pack(typing: Any, code: Any, element: Any, offset: Any) -> Any:
    """An op's return value: 0, or the element above the 1-based code."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zero = ir.Constant(ir.IntType(64), 0)
        number = builder.and_(builder.add(args[0], args[2]), ir.Constant(ir.IntType(64), 0xFF))
        element = builder.and_(args[1], ir.Constant(ir.IntType(64), 0xFF_FFFF_FFFF))  # what the word has room for
        packed = builder.or_(builder.shl(element, ir.Constant(ir.IntType(64), 8)), number)
        return builder.select(builder.icmp_signed("==", args[0], zero), zero, packed)

    return types.int64(types.int64, types.int64, types.int64), generate
