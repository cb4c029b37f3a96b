"""The exception, the call it belongs to, and the two thread-local settings."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class DeviceValueError(ValueError):
    """An error that a kernel reported: a `ValueError`, and called so, since awkward's users look for that.

    Its text is ``f"{message} in compiled CUDA code ({kernel})"``; everything else is in attributes
    and, for people, in notes.

    Attributes:
        kernel: name of the kernel call that failed.
        message: the message that the kernel's op declared.
        index: the lowest failing element of that call.
        invocation: how many calls were made on the channel before it since it was last drained.

    Example:
        >>> import numpy as np
        >>> import errorflag
        >>> from primitives import op, transform
        >>> @op(errors=("too large",))
        ... def check(i, x):
        ...     if x[i] > 9:
        ...         return 1
        >>> transform(check, 3, np.array([1, 2, 30]))
        >>> try:
        ...     errorflag.synchronize()
        ... except errorflag.DeviceValueError as error:
        ...     print(error.message, "in", error.kernel, "at", error.index)
        too large in check at 2
    """

    __module__ = "errorflag"

    def __init__(self, kernel: str, message: str, index: int, invocation: int) -> None:
        super().__init__(f"{message} in compiled CUDA code ({kernel})")
        self.kernel = kernel
        self.message = message
        self.index = index
        self.invocation = invocation

    def __reduce__(self) -> tuple[object, ...]:
        state = {"__notes__": notes} if (notes := getattr(self, "__notes__", None)) else None
        return type(self), (self.kernel, self.message, self.index, self.invocation), state


def add_note(exception: BaseException, note: str) -> None:
    """`BaseException.add_note`, also on Python 3.10."""
    exception.__notes__ = [*getattr(exception, "__notes__", []), note]  # type: ignore[attr-defined]


class Call:
    """One kernel call, made of one or more launches.

    Args:
        name: what an error names.
        decorate: called with the exception before it is raised, to add notes.

    Example:
        >>> from errorflag import Call
        >>> Call("my kernel", lambda error: error.add_note("called by me")).name
        'my kernel'
    """

    __slots__ = ("decorate", "name")

    def __init__(self, name: str, decorate: Callable[[DeviceValueError], object] | None = None) -> None:
        self.name = name
        self.decorate = decorate


class _Local(threading.local):
    call: Call | None = None
    eager: int = 0


_local = _Local()


def current_call() -> Call | None:
    """The call that launches of this thread belong to now, if any.

    Example:
        >>> import errorflag
        >>> with errorflag.call("my operation"):
        ...     errorflag.current_call().name
        'my operation'
    """
    return _local.call


def is_eager() -> bool:
    """Whether this thread is inside `eager`.

    Example:
        >>> import errorflag
        >>> with errorflag.eager():
        ...     errorflag.is_eager()
        True
    """
    return _local.eager > 0


@contextmanager
def call(name: str, decorate: Callable[[DeviceValueError], object] | None = None) -> Iterator[Call]:
    """Makes all launches of the block one kernel call, named `name` in errors.

    Args:
        name: what an error names.
        decorate: called with the exception before it is raised, to add notes.

    Yields:
        The call that the launches belong to: of nested ones the outermost.

    Example:
        >>> import numpy as np
        >>> import errorflag
        >>> from primitives import op, transform
        >>> @op(errors=("too large",))
        ... def check(i, x):
        ...     if x[i] > 9:
        ...         return 1
        >>> with errorflag.call("my operation"):
        ...     transform(check, 3, np.array([1, 2, 30]))
        >>> errorflag.synchronize()
        Traceback (most recent call last):
        errorflag.DeviceValueError: too large in compiled CUDA code (my operation)
        at element 2 of 3
    """
    if _local.call is not None:
        yield _local.call
        return
    entered = Call(name, decorate)
    _local.call = entered
    try:
        yield entered
    finally:
        _local.call = None


@contextmanager
def eager() -> Iterator[None]:
    """Checks for errors after every call of this thread: it synchronizes, so it is for debugging.

    Example:
        >>> import numpy as np
        >>> import errorflag
        >>> from primitives import op, transform
        >>> @op(errors=("too large",))
        ... def check(i, x):
        ...     if x[i] > 9:
        ...         return 1
        >>> with errorflag.eager():
        ...     transform(check, 3, np.array([1, 2, 30]))
        Traceback (most recent call last):
        errorflag.DeviceValueError: too large in compiled CUDA code (check)
        at element 2 of 3
    """
    _local.eager += 1
    try:
        yield
    finally:
        _local.eager -= 1
