"""numba-cuda: an op to LTO-IR. Imported only when the disk cache misses, for numba is slow to import."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from numba import cuda
from numba.cuda import types

from . import _intrinsics_device
from ._host import SCALARS, loaded_of, numba_name
from ._op import Op
from ._run import LOADED
from ._source import INTERNAL, Module
from ._template import Slot

_NAMES = ("boolean", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float32", "float64", "complex64", "complex128")  # fmt: skip


@cache
def compile_op(
    op: Op,
    slot: Slot,
    kinds: tuple[str, ...],
    element: Any,
    symbol: str,
    offset: int,
    arch: str,
) -> bytes:
    """The LTO-IR of an op, as a C function that returns its packed error code.

    Kept for the process: templates and types that differ elsewhere have many ops in common.

    Args:
        op: what to compile.
        slot: its leading parameters.
        kinds: the kinds of the others, as in `_device.build`.
        element: the template's element type, for leading parameters that point to it.
        symbol: the C name.
        offset: number of error codes that belong to ops before it.
        arch: such as ``"sm_90"``.
    """
    module = Module("device_function", keep_attempt=False)
    module.add(op, symbol, slot.element, offset, loaded_of(op, slot, kinds))
    namespace: dict[str, Any] = {"math": math, **{name: getattr(types, name) for name in _NAMES}}
    for name in dir(_intrinsics_device):
        namespace.setdefault(name, getattr(_intrinsics_device, name))
        namespace.setdefault(INTERNAL + name, namespace[name])
    filename = op.function.__code__.co_filename
    exec(compile(module.tree(), filename, "exec"), namespace)

    signature = []
    for kind in slot.leading:
        if kind == "int64":
            signature.append(types.int64)
        else:
            base = getattr(types, numba_name(element))
            signature.append(types.CPointer(base) if kind == "T*" else base)
    for kind in kinds:
        if kind in SCALARS:
            signature.append(getattr(types, SCALARS[kind]))
        else:
            signature.append(types.CPointer(getattr(types, numba_name(kind.lstrip(LOADED)))))
    digits = arch.removeprefix("sm_").rstrip("af")
    code, _ = cuda.compile(
        namespace[symbol],
        types.int64(*signature),
        device=True,
        abi="c",
        abi_info={"abi_name": symbol},
        output="ltoir",
        cc=(int(digits[:-1]), int(digits[-1])),
    )
    return bytes(code)
