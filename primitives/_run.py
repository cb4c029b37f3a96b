"""The path from a primitive to an executor: bind arguments, find the compiled kernel, launch.

This is the hot path of the whole project; it looks at every argument once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from errorflag._errors import _local

from ._check import adopt, adopt_array, length_argument
from ._op import Op
from ._template import Template

_ARRAY_CHARS = frozenset("?bBhHiIlLqQfdFD")
LOADED = "*"
"""Before a dtype character: the op takes the array's first element, not the array."""
HOST = -1
"""Where NumPy arrays are; CuPy arrays are on a device, numbered from 0."""
_NOWHERE = -2
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


def run(
    template: Template,
    variant: tuple[tuple[str, Any], ...],
    length: int,
    grid: Any,
    parameters: Sequence[Any],
    calls: Sequence[tuple[Any, ...]],
) -> None:
    """Launches a template.

    Args:
        template: the loop.
        variant: what else the compiled code depends on: ``(name, value)`` pairs, the template's
            macros; element types as NumPy's dtype characters.
        length: number of elements, for an error's notes.
        grid: number of blocks on the device, or one number for each of the template's kernels (`Template.kernels`).
        parameters: values of the template's own parameters: integers and arrays; None is null.
        calls: one ``(op, *arguments)`` for each of the template's slots.
    """
    key: list[Any] = [template, variant]
    values: list[Any] = []
    place = _NOWHERE
    cupy_ndarray = _cupy_ndarray
    try:
        for bound in (parameters, *calls):
            for value in bound:
                kind = type(value)
                if kind is cupy_ndarray:
                    if not value._c_contiguous:
                        raise _not_contiguous(template, calls, values)
                    memory = value.data
                    key.append(value.dtype.char)
                    values.append(memory.ptr)
                    where = memory.device_id
                    if where != place:
                        place = _same_place(template, calls, values, place, where)
                elif kind is int:
                    key.append(int)
                    values.append(value)
                elif kind is Op:
                    key.append(value)
                elif value is None:
                    key.append(int)
                    values.append(0)
                else:
                    where = _bind(template, calls, key, values, value)
                    if where != place and where != _NOWHERE:
                        place = _same_place(template, calls, values, place, where)
                    cupy_ndarray = _cupy_ndarray
        op: Op = calls[0][0]
        recent = op.recent
    except (TypeError, IndexError, AttributeError):
        _check_calls(template, calls)
        raise
    if _recorder is not None:
        _recorder.append(_build(template, variant, key, calls))
        return
    if recent[1] == place and recent[0] == key:  # cheaper than a hash
        kernel = recent[2]
    else:
        found = (_target(place), *key)
        kernel = op.kernels.get(found)
        if kernel is None:
            if place == _NOWHERE:
                raise TypeError(f"{template.name} needs at least one array among its arguments")
            kernel = op.kernels[found] = _compile(_build(template, variant, key, calls), place)
        op.recent = key, place, kernel
    call = _local.call
    try:
        kernel.launch(op if call is None else call, length, grid, values, place)
    except OverflowError:
        raise _too_large(template, calls, values) from None
    if call is None and _local.eager:
        kernel.channel(place).synchronize()


def _bind(
    template: Template, calls: Any, key: list[Any], values: list[Any], value: Any
) -> int:
    """Binds an argument of a type that is rarer than CuPy arrays and integers; returns its place."""
    global _cupy_ndarray
    if type(value) is Scalar:
        place = _bind(template, calls, key, values, value.array)
        key[-1] = LOADED + key[-1]
        return place
    try:
        value = adopt(value)
    except TypeError as error:
        raise TypeError(f"argument {_name_of(template, calls, values)!r} {error}") from None
    if isinstance(value, np.uint64):
        key.append("uint")
        bits = int(value)
        values.append(bits - 0x1_0000_0000_0000_0000 if bits >> 63 else bits)
        return _NOWHERE
    if isinstance(value, (int, float)):
        key.append(type(value))
        values.append(value)
        return _NOWHERE
    dtype = value.dtype
    if dtype.char not in _ARRAY_CHARS or not dtype.isnative:
        name = _name_of(template, calls, values)
        raise TypeError(f"argument {name!r} has dtype {dtype}, which no op can use")
    if not value.flags.c_contiguous:
        raise _not_contiguous(template, calls, values)
    key.append(dtype.char)
    if isinstance(value, np.ndarray):
        values.append(value.__array_interface__["data"][0])
        return HOST
    _cupy_ndarray = type(value)
    values.append(value.data.ptr)
    return int(value.data.device_id)


def _check_calls(template: Template, calls: Sequence[Any]) -> None:
    for call in calls:
        if not isinstance(call, (tuple, list)):
            raise TypeError(f"{template.name} needs a tuple of an @op and its arguments, not {call!r}")
        if not call or not isinstance(call[0], Op):
            raise TypeError(f"{template.name} needs an @op, not {call[0] if call else call!r}")


def _name_of(template: Template, calls: Sequence[tuple[Any, ...]], values: list[Any]) -> str:
    """The name of the argument that follows the bound ones, for error messages."""
    _check_calls(template, calls)
    position = len(values) - len(template.parameters)
    if position < 0:
        return template.parameters[position][0]
    for call, slot in zip(calls, template.slots, strict=True):
        names = call[0].parameters[len(slot.leading) :]
        if position < len(call) - 1:
            return names[position] if position < len(names) else f"number {position + 1}"
        position -= len(call) - 1
    raise AssertionError("more values than arguments")


def _not_contiguous(template: Template, calls: Any, values: list[Any]) -> ValueError:
    name = _name_of(template, calls, values)
    return ValueError(f"argument {name!r} is not contiguous: copy it first")


def _too_large(template: Template, calls: Any, values: list[Any]) -> Exception:
    """The error of a number that does not fit into 64 bits, for the one that does not."""
    for position, value in enumerate(values):
        if type(value) is int and not -(2**63) <= value < 2**63:
            name = _name_of(template, calls, values[:position])
            return ValueError(f"argument {name!r} is {value}, which does not fit into 64 bits")
    return OverflowError("a number among the arguments does not fit into 64 bits")


def _same_place(template: Template, calls: Any, values: list[Any], place: int, where: int) -> int:
    """The place of the first array; for another one, the error that it must be there too."""
    if place == _NOWHERE:
        return where
    name = _name_of(template, calls, values[:-1])
    raise TypeError(
        f"argument {name!r} is in {_describe(where)}, arguments before it are in "
        f"{_describe(place)}: all arrays of a call must be in one place"
    )


def _describe(place: int) -> str:
    return "host memory (NumPy)" if place == HOST else f"the memory of CUDA device {place}"


_SCALARS = {int: "int", float: "float"}


def _build(template: Template, variant: Any, key: list[Any], calls: Sequence[Any]) -> Build:
    """What to compile for a key, after checking what the op's types cannot tell."""
    kinds = [_SCALARS.get(kind, kind) for kind in key[2:] if type(kind) is not Op]
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
        group = tuple(kinds[position : position + expected])
        for name, kind in zip(op.parameters[len(slot.leading) :], group, strict=True):
            if kind.lstrip(LOADED) not in _ARRAY_CHARS and kind not in ("int", "float", "uint"):
                raise TypeError(f"argument {name!r} has dtype {np.dtype(kind)}, which no op can use")
        groups.append(group)
        position += expected
    return Build(template, variant, tuple(call[0] for call in calls), tuple(groups))


def _compile(build: Build, place: int) -> Any:
    if place == HOST:
        from . import _host

        return _host.compile(build.template, dict(build.variant), build.ops, build.groups)
    from . import _device

    return _device.compile(build.template, dict(build.variant), build.ops, build.groups, place)


def _target(place: int) -> str:
    """What code for a place is compiled for."""
    if place < 0:
        return "host"
    from ._device import architecture

    return architecture(place)


class Scalar:
    """A number in memory, as an argument of an op. Made by `scalar_of`."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array


def scalar_of(array: Any) -> Scalar:
    """The number in an array of one element, as an argument of an op, which takes it as a number.

    It is read when the op runs, not by the host: so it may be the result of an earlier launch.

    Args:
        array: of one element, with any number of dimensions.

    Raises:
        TypeError: if it is no array.
        ValueError: if it has no or more elements.

    Example:
        >>> import numpy as np
        >>> from primitives import op, scalar_of, transform
        >>> @op
        ... def first_ones(i, out, n):
        ...     out[i] = 1 if i < n else 0
        >>> out, total = np.empty(4, np.int64), np.array([3])
        >>> transform(first_ones, 4, out, scalar_of(total))
        >>> out
        array([1, 1, 1, 0])
    """
    if not hasattr(array, "size") or not hasattr(array, "dtype"):
        raise TypeError(f"scalar_of needs an array of one element, not a {type(array).__name__}")
    if array.size != 1:
        raise ValueError(f"a scalar is an array of one element; this one has {array.size}")
    return Scalar(array)


def scratch(like: Any, n: int, dtype: Any) -> Any:
    """An uninitialised array of `n` elements in the place where `like` is.

    On the device it comes from CuPy's memory pool, on the current stream.

    Raises:
        TypeError: `like` is no array, or `n` no integer.
        ValueError: `n` is negative.

    Example:
        >>> import numpy as np
        >>> from primitives import scratch
        >>> scratch(np.zeros(3), 5, np.int32).shape
        (5,)
    """
    n = length_argument("n", n)
    like = adopt_array("like", like)
    if isinstance(like, np.ndarray):
        return np.empty(n, dtype)
    import cupy

    if like.data.device_id == cupy.cuda.runtime.getDevice():
        return cupy.empty(n, dtype)
    with cupy.cuda.Device(like.data.device_id):
        return cupy.empty(n, dtype)
