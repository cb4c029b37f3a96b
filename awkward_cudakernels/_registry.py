"""The table of kernels, and how a call through awkward's key reaches one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any
from weakref import ref

from awkward._errors import ErrorContext
from awkward._kernels import BaseKernel
from awkward._nplikes.virtual import VirtualNDArray

import errorflag
from errorflag import Call
from errorflag._errors import _local, add_note

from . import signatures

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

    def __init__(self, function: Function, specialization: signatures.Specialization) -> None:
        super().__init__(function, specialization.key)
        self.name = specialization.family
        arguments = specialization.arguments
        self._count = len(arguments)
        # Of every array argument its place, name and dtype; of every size its place and name.
        self._arrays = tuple(
            (place, argument.name, argument.dtype.num)
            for place, argument in enumerate(arguments)
            if argument.depth == 1
        )
        self._sizes = tuple(
            (place, argument.name)
            for place, argument in enumerate(arguments)
            if argument.depth == 0 and is_size(argument.name)
        )

    def _checked(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(args) != self._count:
            raise TypeError(f"{self.name} takes {self._count} arguments; {len(args)} given")
        if VirtualNDArray in map(type, args):
            args = tuple(a.materialize() if type(a) is VirtualNDArray else a for a in args)
        for place, name, number in self._arrays:
            try:
                found = args[place].dtype.num
            except AttributeError:
                raise TypeError(
                    f"argument {name!r} of {self.name} must be an array, not a "
                    f"{type(args[place]).__name__}"
                ) from None
            if found != number and not _same(args[place].dtype, self._key, number):
                raise TypeError(
                    f"argument {name!r} of {self.name} has dtype {args[place].dtype}; "
                    f"this specialization takes {_dtype(number)}"
                )
        for place, name in self._sizes:
            if args[place] < 0:
                raise ValueError(f"argument {name!r} of {self.name} must not be negative, it is {args[place]}")
        return args


def _dtype(number: int) -> Any:
    import numpy as np

    return next(np.dtype(c) for c in np.typecodes["All"] if np.dtype(c).num == number)


def _same(dtype: Any, key: tuple[Any, ...], number: int) -> bool:
    """Whether a dtype differs in name only (``long`` and ``long long``), or is the complex form."""
    expected = _dtype(number)
    if dtype.kind == "c":
        return dtype.itemsize == 2 * expected.itemsize and expected.kind == "f"
    return bool(dtype == expected)


def is_size(name: str) -> bool:
    """Whether a scalar argument is a number of elements, by its name in the specification."""
    return name.startswith("len") or name.endswith(("length", "len", "size", "Length"))


class _AwkwardCall(Call):
    """A kernel call that knows which `ak` operation made it, and keeps none of its arrays alive."""

    __slots__ = ("context", "operation")

    def __init__(self, name: str, context: ErrorContext | None) -> None:
        self.name = name
        self.context = None if context is None else ref(context)
        self.operation = None if context is None else context._kwargs.get("name")

    def decorate(self, error: errorflag.DeviceError) -> None:
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

    def __call__(self, *args: Any) -> None:
        args = self._checked(args)
        if _local.call is not None:
            self._impl(*args)
            return
        _local.call = _AwkwardCall(self.name, ErrorContext.primary())
        try:
            self._impl(*args)
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
        args = self._checked(args)
        _local.call = Call(self.name)
        try:
            self._impl(*args)
        finally:
            _local.call = None
        channel = errorflag.host_channel()
        if channel.word[0] == errorflag.NO_ERROR:
            return None
        try:
            channel.synchronize()
        except errorflag.DeviceError as error:
            return KernelError(error.message.encode(), error.index, int(channel.attempt[0]))
        raise AssertionError("a lowered error word raises")


class ValidityKernel(DeviceKernel):
    """A kernel whose only result is its error: awkward looks at what the call returns, so this waits."""

    def __call__(self, *args: Any) -> KernelError | None:  # type: ignore[override]
        errorflag.synchronize()  # an earlier error is not this array's
        super().__call__(*args)
        try:
            errorflag.synchronize()
        except errorflag.DeviceError as error:
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
