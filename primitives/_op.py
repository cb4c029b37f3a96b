"""`@op` and `@device_function`: plain Python functions that run on both executors."""

from __future__ import annotations

import builtins
import hashlib
import inspect
import math
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, ClassVar, overload

import numpy as np

from ._intrinsics import Intrinsic

MAX_ERRORS = 254
"""Codes are 8 bits; 0 is "no error", and all ones belongs to the empty word."""

_IN_PROGRESS = b""
_BUILTINS = {"abs", "bool", "float", "int", "len", "max", "min", "range", "round"}


class OpError(TypeError):
    """An op that cannot be compiled; the message names the op, the line and what to do.

    Example:
        >>> import numpy as np
        >>> from primitives import op, transform
        >>> table = [1, 2, 3]
        >>> @op
        ... def look_up(i, out):
        ...     out[i] = table[i]
        >>> transform(look_up, 3, np.empty(3))  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        primitives.OpError: op 'look_up' uses the global 'table', a list: pass it as an argument ...
    """


class DeviceFunction:
    """A function that ops may call. Made by `device_function`.

    Example:
        >>> from primitives import device_function
        >>> @device_function
        ... def square(x):
        ...     return x * x
        >>> square
        <device_function square(x)>
    """

    kind: ClassVar[str] = "device_function"

    def __init__(self, function: FunctionType) -> None:
        if not isinstance(function, FunctionType):
            raise TypeError(f"{self.kind} needs a plain Python function, not {function!r}")
        self.function = function
        self.__name__ = self.name = function.__name__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.__wrapped__ = function
        # Not `inspect.signature`: hundreds of ops are made whenever awkward_cudakernels is imported.
        code = function.__code__
        count = code.co_argcount
        self.parameters = code.co_varnames[:count]
        if code.co_kwonlyargcount or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            name = code.co_varnames[count]
            raise OpError(f"{self.where()}: parameter {name!r} must be positional")
        self._fingerprint: bytes | None = None
        self._globals: dict[str, Any] | None = None

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}({', '.join(self.parameters)})>"

    def where(self, line: int | None = None) -> str:
        """File, line and name, for error messages."""
        code = self.function.__code__
        return f"{code.co_filename}:{line or code.co_firstlineno}: {self.kind} {self.function.__name__!r}"

    def globals(self) -> dict[str, Any]:
        """The values of the names that the function does not define itself.

        Raises:
            OpError: for a name that has no meaning on the device; it names the variable.
        """
        if self._globals is None:
            self._globals = dict(self._resolve())
        return self._globals

    def _resolve(self) -> Iterator[tuple[str, Any]]:
        function = self.function
        cells: dict[str, Any] = {}
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                cells[name] = cell.cell_contents
            except ValueError:
                raise OpError(f"{self.where()} uses {name!r}, which is not defined yet") from None
        for name in dict.fromkeys(_global_names(function.__code__)):
            if name in cells:
                value = cells[name]
            elif name in function.__globals__:
                value = function.__globals__[name]
            elif name in _BUILTINS:
                continue
            elif hasattr(builtins, name):
                raise OpError(f"{self.where()} uses {name!r}, which does not exist on the device")
            else:
                raise OpError(f"{self.where()} uses {name!r}, which is not defined")
            yield name, self._check(name, value)

    def _check(self, name: str, value: Any) -> Any:
        if isinstance(value, FunctionType):
            raise OpError(
                f"{self.where()} calls {name!r}: decorate that function with @device_function"
            )
        if isinstance(value, (bool, int, float, np.generic, DeviceFunction, Intrinsic)):
            return value
        if isinstance(value, type) and issubclass(value, (np.number, np.bool_)):
            return value
        if isinstance(value, ModuleType) and value in (math, np):
            return value
        kind = "closes over" if name in self.function.__code__.co_freevars else "uses the global"
        raise OpError(
            f"{self.where()} {kind} {name!r}, a {type(value).__name__}: "
            f"pass it as an argument (only numbers, math, numpy's scalar types and functions "
            f"decorated with @device_function can be used from outside)"
        )

    def fingerprint(self) -> bytes:
        """A digest of everything that the function's code depends on."""
        if self._fingerprint is _IN_PROGRESS:
            raise OpError(f"{self.where()} calls itself, which no device function can")
        if self._fingerprint is None:
            self._fingerprint = _IN_PROGRESS
            found = None
            try:
                found = self._digest()
            finally:
                self._fingerprint = found
            return found
        return self._fingerprint

    def _digest(self) -> bytes:
        digest = hashlib.sha256(repr(self.parameters).encode())
        digest.update(code_fingerprint(self.function.__code__))
        for name, value in self.globals().items():
            digest.update(name.encode())
            if isinstance(value, DeviceFunction):
                digest.update(value.fingerprint())
            elif isinstance(value, ModuleType):
                digest.update(value.__name__.encode())
            else:
                digest.update(repr(value).encode())
        return digest.digest()


class Op(DeviceFunction):
    """An element-wise function with outputs and an error code. Made by `op`.

    Attributes:
        errors: the messages of its error codes 1, 2, ...

    Example:
        >>> from primitives import op
        >>> @op(errors=("negative",))
        ... def check(i, x):
        ...     if x[i] < 0:
        ...         return 1
        >>> check, check.errors
        (<op check(i, x)>, ('negative',))
    """

    kind = "op"

    def __init__(self, function: FunctionType, errors: tuple[str, ...]) -> None:
        super().__init__(function)
        if isinstance(errors, str):
            raise TypeError(f"errors must be a tuple of messages, not the string {errors!r}")
        self.errors = tuple(errors)
        if len(self.errors) > MAX_ERRORS:
            raise ValueError(f"{self.where()} has more than {MAX_ERRORS} messages")
        if not self.parameters:
            raise OpError(f"{self.where()} needs the index as its first parameter")
        self.decorate = None  # as a `Call` of its own, an op adds nothing to an error
        self.kernels: dict[Any, Any] = {}
        """Compiled forms by executor, template and argument types: filled by the executors."""
        self.recent: tuple[Any, int, Any] = None, 0, None
        """The types of the latest launch, where it was, and its compiled form."""


@overload
def op(function: Callable[..., Any], /) -> Op: ...
@overload
def op(*, errors: tuple[str, ...] = ...) -> Callable[[Callable[..., Any]], Op]: ...
def op(function: Any = None, /, *, errors: tuple[str, ...] = ()) -> Any:
    """Makes an op of a plain Python function of an index, one-dimensional arrays and numbers.

    The function writes its outputs through subscripts and returns its error code: nothing or 0 for
    no error, else the 1-based number of one of `errors`; ``return code, attempt`` adds the value
    that was looked up, ``return code, attempt, element`` reports an element other than the index.

    Args:
        errors: the messages of the error codes.

    Example:
        >>> import numpy as np
        >>> from primitives import op, transform
        >>> @op(errors=("negative",))
        ... def root(i, out, x):
        ...     if x[i] < 0:
        ...         out[i] = 0
        ...         return 1
        ...     out[i] = x[i] ** 0.5
        >>> out = np.empty(3)
        >>> transform(root, 3, out, np.array([1.0, 4.0, 9.0]))
        >>> out
        array([1., 2., 3.])
    """
    if function is None:
        return lambda function: Op(function, errors)
    return Op(function, errors)


def device_function(function: Callable[..., Any]) -> DeviceFunction:
    """Makes a function that ops and other device functions may call; it is inlined.

    Example:
        >>> from primitives import device_function
        >>> @device_function
        ... def clamp(x, low, high):
        ...     return min(max(x, low), high)
        >>> clamp(7, 0, 5)
        5
    """
    return DeviceFunction(function)  # type: ignore[arg-type]


def _global_names(code: CodeType) -> Iterator[str]:
    import dis

    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"):
            yield instruction.argval


def code_fingerprint(code: CodeType) -> bytes:
    """A digest of what a function does, but for what its names stand for."""
    digest = hashlib.sha256()
    digest.update(code.co_code)
    digest.update(repr((code.co_names, code.co_varnames, code.co_freevars)).encode())
    for constant in code.co_consts[1 if code.co_consts and isinstance(code.co_consts[0], str) else 0 :]:
        if isinstance(constant, CodeType):
            digest.update(code_fingerprint(constant))
        else:
            digest.update(repr(constant).encode())
    return digest.digest()
