"""The path from a primitive to an executor: bind arguments, find the compiled kernel, launch.

This is the hot path of the whole project; it looks at every argument once and allocates nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from errorflag import Call
from errorflag._errors import _local

from ._op import Op
from ._template import Template

_ARRAY_CHARS = frozenset("?bBhHiIlLqQfdFD")
_cupy_ndarray: Any = None
_recorder: list[Build] | None = None


@dataclass(frozen=True)
class Build:
    """What one compiled kernel is made of: the arguments of the executors' ``compile``."""

    template: Template
    variant: tuple[tuple[str, Any], ...]
    ops: tuple[Op, ...]
    groups: tuple[tuple[str, ...], ...]


@contextmanager
def record() -> Iterator[list[Build]]:
    """Inside, primitives launch nothing and list what they would have compiled."""
    global _recorder
    outer, _recorder = _recorder, []
    try:
        yield _recorder
    finally:
        _recorder = outer


def _name_of(calls: Sequence[tuple[Any, ...]], template: Template, position: int) -> str:
    """The name of the argument at a position among all bound ones, for error messages."""
    for call in calls:
        if not isinstance(call[0], Op):
            raise TypeError(f"{template.name} needs an @op, not {call[0]!r}")
    position -= len(template.parameters)
    if position < 0:
        return template.parameters[position][0]
    for call, slot in zip(calls, template.slots, strict=False):
        names = call[0].parameters[len(slot.leading) :]
        if position < len(call) - 1:
            return names[position] if position < len(names) else f"#{position}"
        position -= len(call) - 1
    return f"#{position}"


def _adopt(value: Any) -> Any:
    """An argument of a type that is rarer than CuPy arrays, int and float, as one of those."""
    global _cupy_ndarray
    if isinstance(value, (np.ndarray, int, float)) and type(value) is not bool:
        return value
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, np.uint64):
        return value
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.floating):
        return float(value)
    if type(value).__module__.partition(".")[0] == "cupy" or hasattr(
        value, "__cuda_array_interface__"
    ):
        import cupy

        _cupy_ndarray = cupy.ndarray
        return cupy.asarray(value)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        if value.__dlpack_device__()[0] == 2:
            import cupy

            _cupy_ndarray = cupy.ndarray
            return cupy.from_dlpack(value)
        return np.from_dlpack(value)
    raise TypeError(f"is a {type(value).__name__}, which is neither an array nor a number")


def run(
    template: Template,
    variant: tuple[Any, ...],
    length: int,
    grid: int,
    parameters: Sequence[Any],
    calls: Sequence[tuple[Any, ...]],
) -> None:
    """Launches a template.

    Args:
        template: the loop.
        variant: what else the compiled code depends on: ``(name, value)`` pairs, the template's
            macros.
        length: number of elements, for an error's notes.
        grid: number of blocks on the device.
        parameters: values of the template's own parameters: integers and arrays; None is null.
        calls: one ``(op, *arguments)`` for each of the template's slots.
    """
    types: list[Any] = [variant]
    values: list[Any] = []
    device = -2  # -2: no array seen, -1: host
    bound: Any = parameters
    index = -1
    while True:
        for value in bound:
            kind = type(value)
            if kind is not int and kind is not _cupy_ndarray:
                if kind is Op:
                    continue
                if value is None:
                    value = 0
                    kind = int
                else:
                    try:
                        value = _adopt(value)
                    except TypeError as error:
                        name = _name_of(calls, template, len(values))
                        raise TypeError(f"argument {name!r} {error}") from None
                    kind = type(value)
            if kind is int:
                types.append("int")
                values.append(value)
            elif kind is float:
                types.append("float")
                values.append(value)
            elif kind is np.uint64:
                types.append("uint")
                values.append(int(value))
            else:
                char = value.dtype.char
                if char not in _ARRAY_CHARS or not value.dtype.isnative:
                    name = _name_of(calls, template, len(values))
                    raise TypeError(f"argument {name!r} has dtype {value.dtype}, which no op can use")
                if not value.flags.c_contiguous:
                    name = _name_of(calls, template, len(values))
                    raise ValueError(f"argument {name!r} is not contiguous: copy it first")
                if kind is _cupy_ndarray:
                    memory = value.data
                    where = memory.device_id
                    values.append(memory.ptr)
                else:
                    where = -1
                    values.append(value.__array_interface__["data"][0])
                if where != device:
                    if device != -2:
                        name = _name_of(calls, template, len(values) - 1)
                        places = sorted((_place(device), _place(where)))
                        raise TypeError(
                            f"argument {name!r} is in {_place(where)}, others are in {_place(device)}: "
                            f"all arrays of a call must be in one place ({' and '.join(places)} given)"
                        )
                    device = where
                types.append(char)
        index += 1
        if index == len(calls):
            break
        bound = calls[index]

    if _recorder is not None:
        _recorder.append(_checked_build(template, variant, types[1:], calls))
        return
    op: Op = calls[0][0]
    if device == -1:
        key: Any = (template, "host", *types, *[call[0] for call in calls[1:]])
    elif device >= 0:
        key = (template, *types, *[call[0] for call in calls[1:]])
    else:
        raise TypeError(f"{template.name} needs at least one array among its arguments")
    kernel = op.kernels.get(key)
    if kernel is None:
        kernel = op.kernels[key] = _compile(template, device, variant, types[1:], calls)
    call = _local.call
    if call is None:
        call = Call(op.name)
        kernel.launch(call, length, grid, values, device)
        if _local.eager:
            kernel.channel(device).synchronize()
    else:
        kernel.launch(call, length, grid, values, device)


def _place(device: int) -> str:
    return "host memory (NumPy)" if device == -1 else f"the memory of CUDA device {device}"


def _checked_build(
    template: Template, variant: Any, types: Sequence[str], calls: Sequence[Any]
) -> Build:
    groups = []
    position = len(template.parameters)
    for call, slot in zip(calls, template.slots, strict=True):
        op = call[0]
        if not isinstance(op, Op):
            raise TypeError(f"{template.name} needs an @op, not {op!r}")
        leading = op.parameters[: len(slot.leading)]
        expected = len(op.parameters) - len(slot.leading)
        if len(call) - 1 != expected:
            raise TypeError(
                f"{op.where()} takes {expected} arguments after {', '.join(leading)}; "
                f"{len(call) - 1} given"
            )
        groups.append(tuple(types[position : position + expected]))
        position += expected
    return Build(template, variant, tuple(call[0] for call in calls), tuple(groups))


def _compile(
    template: Template, device: int, variant: Any, types: Sequence[str], calls: Sequence[Any]
) -> Any:
    build = _checked_build(template, variant, types, calls)
    executor: Any
    if device == -1:
        from . import _host as executor
    else:
        from . import _device as executor
    return executor.compile(build.template, dict(build.variant), build.ops, build.groups)


def scratch(like: Any, n: int, dtype: Any) -> Any:
    """An uninitialised array of `n` elements in the place where `like` is.

    On the device it comes from CuPy's memory pool, on the current stream.
    """
    if isinstance(like, np.ndarray):
        return np.empty(n, dtype)
    import cupy

    return cupy.empty(n, dtype)
