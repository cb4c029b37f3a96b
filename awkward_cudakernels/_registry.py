"""The table of kernels, and how a call through awkward's key reaches one."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any
from weakref import ref

import numpy as np
from awkward._errors import ErrorContext
from awkward._kernels import BaseKernel
from awkward._nplikes.virtual import VirtualNDArray

import errorflag
from errorflag import Call
from errorflag._errors import _local, add_note
from primitives import scalar_of

from . import _dispatch, signatures
from ._known import forget, known, memory_of

Function = Callable[..., None]

_functions: dict[str, Function] = {}

_NO_ATTEMPT = 0x7FFF_FFFF_FFFF_FFFF


def kernel(*families: str) -> Callable[[Function], Function]:
    """Registers a function as the kernel of one or more families, for all their specializations.

    Args:
        families: names in awkward's kernel specification. The function takes the arguments of that
            specification, in its order: NumPy arrays, or CuPy arrays of one device, and numbers.
    """

    def register(function: Function) -> Function:
        for family in families:
            if family in _functions:
                raise ValueError(f"{family} is registered twice")
            _functions[family] = function
        return function

    return register


@cache
def registry() -> dict[str, Function]:
    """All kernels by family, after importing the modules that define them."""
    from . import kernels

    for module in pkgutil.iter_modules(kernels.__path__):
        importlib.import_module(f"{kernels.__name__}.{module.name}")
    return _functions


class _Kernel(BaseKernel):
    """A family's function for one specialization. Checks the arguments before anything is launched."""

    _array_type: Any = np.ndarray

    def __init__(self, function: Function, specialization: signatures.Specialization) -> None:
        super().__init__(function, specialization.key)
        self.name = specialization.family
        arguments = specialization.arguments
        self._count = len(arguments)
        # Of every array its place, name, dtype and the number of that; of every number its place and
        # name, and whether it is a size.
        self._arrays = tuple(
            (place, argument.name, argument.dtype, argument.dtype.num)
            for place, argument in enumerate(arguments)
            if argument.depth == 1
        )
        self._floats = frozenset(
            place
            for place, argument in enumerate(arguments)
            if argument.depth == 0 and argument.dtype.kind == "f"
        )
        self._numbers = tuple(
            (place, argument.name, is_size(argument.name))
            for place, argument in enumerate(arguments)
            if argument.depth == 0
        )

    def _checked(self, args: tuple[Any, ...]) -> Sequence[Any]:
        """The arguments as kernels take them: as they are, if they are what the specification says."""
        if len(args) != self._count:
            return self._converted(args)
        array_type = self._array_type
        for place, _, dtype, _ in self._arrays:
            array = args[place]
            if type(array) is not array_type or array.dtype is not dtype:
                return self._converted(args)
        for place, _, size in self._numbers:
            value = args[place]
            if type(value) is not int or (size and value < 0):
                return self._converted(args)
        return args

    def _converted(self, args: tuple[Any, ...]) -> Sequence[Any]:
        """The arguments as kernels take them, from what awkward's callers give instead.

        Arrays may be virtual, and times, which are integers to a kernel. Numbers may be arrays
        without dimensions: on the device the ops read these, so that the host need not, but for
        sizes, which it has to know.
        """
        if len(args) != self._count:
            raise TypeError(f"{self.name} takes {self._count} arguments; {len(args)} given")
        checked = list(args)
        if VirtualNDArray in map(type, args):
            checked = [a.materialize() if type(a) is VirtualNDArray else a for a in args]
        for place, name, dtype, number in self._arrays:
            array = checked[place]
            try:
                found = array.dtype
            except AttributeError:
                raise TypeError(
                    f"argument {name!r} of {self.name} must be an array, not a {type(array).__name__}"
                ) from None
            if found.num != number:
                if found.kind in "mM" and dtype == _int64:
                    checked[place] = array.view(_int64)
                elif not _same(found, dtype):
                    raise TypeError(
                        f"argument {name!r} of {self.name} has dtype {found}; "
                        f"this specialization takes {dtype}"
                    )
        for place, name, size in self._numbers:
            value = checked[place]
            if type(value) is not int:
                value = checked[place] = _number(value, size)
                if isinstance(value, float) and place not in self._floats:
                    raise TypeError(f"argument {name!r} of {self.name} must be an integer, it is {value}")
            if size and value < 0:
                raise ValueError(f"argument {name!r} of {self.name} must not be negative, it is {value}")
        return checked


_int64 = np.dtype(np.int64)


def _same(found: np.dtype[Any], expected: np.dtype[Any]) -> bool:
    """Whether a dtype differs in name only (``long`` and ``long long``), or is the complex form."""
    if found.kind == "c":
        return found.itemsize == 2 * expected.itemsize and expected.kind == "f"
    return bool(found == expected)


def _number(value: Any, known: bool) -> Any:
    """A number that may be an array without dimensions; one on the device stays there if it can."""
    if hasattr(value, "__cuda_array_interface__"):
        return errorflag.read_items(value, (0,))[0] if known else scalar_of(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return value.item()
    return value


def is_size(name: str) -> bool:
    """Whether a scalar argument is a number of elements, by its name in the specification."""
    if name == "nextsize":  # of a slice, which awkward rejects after the kernel if it is negative
        return False
    return name.startswith("len") or name.endswith(("length", "len", "size", "Length"))


class _AwkwardCall(Call):
    """A kernel call that knows which `ak` operation made it, and keeps none of its arrays alive."""

    __slots__ = ("context", "operation")

    def __init__(self, name: str, context: ErrorContext | None) -> None:
        self.name = name
        self.context = None if context is None else ref(context)
        self.operation = None if context is None else context._kwargs.get("name")

    def decorate(self, error: errorflag.DeviceValueError) -> None:
        context = None if self.context is None else self.context()
        if context is not None:
            if context is not ErrorContext.primary():  # else awkward adds the same note by itself
                context.decorate_exception(type(error), error)
        elif self.operation is not None:
            add_note(error, f"The kernel was launched by {self.operation}, which has returned since.")
        elif self.context is not None:
            add_note(error, "The kernel was launched by slicing an array, which has returned since.")


class DeviceKernel(_Kernel):
    """Runs on CuPy arrays; returns before the device has finished, and never waits for it."""

    def __init__(self, function: Function, specialization: signatures.Specialization) -> None:
        super().__init__(function, specialization)
        self._array_type = getattr(sys.modules.get("cupy"), "ndarray", None)
        _dispatch.bind(self, self.name, function)
        self._outputs = tuple(
            place
            for place, argument in enumerate(specialization.arguments)
            if argument.depth == 1 and argument.direction == "out"
        )

    def __call__(self, *args: Any) -> None:
        checked = self._checked(args)
        for place in self._outputs:
            if memory_of(args[place]) in known:
                forget(args[place])
        if _local.call is not None:  # the rest is `call_as`, in line: this is every kernel's call
            self._impl(*checked)
            return
        _local.call = _AwkwardCall(self.name, ErrorContext.primary())
        try:
            self._impl(*checked)
        finally:
            _local.call = None
        if _local.eager:
            errorflag.synchronize()


def call_as(name: str, function: Callable[..., None], *args: Any) -> None:
    """Calls a function of CuPy arrays as if it were a kernel of awkward's: its errors have that name."""
    if _local.call is not None:
        function(*args)
        return
    _local.call = _AwkwardCall(name, ErrorContext.primary())
    try:
        function(*args)
    finally:
        _local.call = None
    if _local.eager:
        errorflag.synchronize()


class KernelError:
    """An error of a host kernel, in the form of awkward's compiled kernels."""

    __slots__ = ("attempt", "filename", "id", "str")

    def __init__(self, message: bytes | None, id: int, attempt: int) -> None:
        self.str = message
        self.filename: bytes | None = None
        self.id = id
        self.attempt = attempt


class HostKernel(_Kernel):
    """Runs on NumPy arrays, and returns its error at once, as awkward's CPU kernels do."""

    def __call__(self, *args: Any) -> KernelError | None:
        checked = self._checked(args)
        outer = _local.call
        _local.call = Call(self.name)
        try:
            self._impl(*checked)
        finally:
            _local.call = outer
        channel = errorflag.host_channel()
        if channel.word[0] == errorflag.NO_ERROR:
            return None
        try:
            channel.synchronize()
        except errorflag.DeviceValueError as error:
            if error.kernel != self.name:
                raise  # of something that ran before, outside awkward
            return KernelError(error.message.encode(), error.index, int(channel.attempt[0]))
        raise AssertionError("a lowered error word raises")


class ValidityKernel(DeviceKernel):
    """A kernel whose only result is its error: awkward looks at what the call returns, so this waits."""

    def __call__(self, *args: Any) -> KernelError | None:  # type: ignore[override]
        errorflag.synchronize()  # an earlier error is not this array's
        super().__call__(*args)
        try:
            errorflag.synchronize()
        except errorflag.DeviceValueError as error:
            return KernelError(error.message.encode(), error.index, _NO_ATTEMPT)
        return None


_EXECUTORS: dict[str, type[HostKernel] | type[DeviceKernel]] = {
    "host": HostKernel,
    "device": DeviceKernel,
}


def kernel_for(key: tuple[Any, ...], executor: str) -> HostKernel | DeviceKernel:
    """The kernel of a specialization.

    Args:
        key: as awkward names it: ``("awkward_localindex", numpy.int64)``.
        executor: ``"host"`` for NumPy arrays or ``"device"`` for CuPy arrays.

    Raises:
        KeyError: if the table has no such specialization, or no kernel is registered for it.
    """
    if executor not in _EXECUTORS:
        raise ValueError(f"executor must be 'host' or 'device', not {executor!r}")
    specialization = signatures.specializations()[key]
    return _EXECUTORS[executor](registry()[specialization.family], specialization)
