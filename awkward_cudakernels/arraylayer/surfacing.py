"""Where errors of kernels surface: in what the host reads, and instead of host errors they have caused."""

from __future__ import annotations

from typing import Any

from awkward._nplikes.cupy import Cupy
from awkward._nplikes.virtual import VirtualNDArray

import errorflag

from .arrays import to_host
from .device import Method


def to_nplike(original: Method) -> Method:
    """awkward's `to_nplike`, whose copies to the host tell of errors, too."""

    def to_nplike(array: Any, nplike: Any, *, from_nplike: Any = None) -> Any:
        if Cupy.is_own_array(array) and type(array) is not VirtualNDArray and not isinstance(nplike, Cupy):
            if nplike.known_data:
                return nplike.asarray(to_host(array))
        return original(array, nplike, from_nplike=from_nplike)

    return to_nplike


def checked(original: Method) -> Method:
    """A function that shows values or hands them out, which must not be the garbage of a failed kernel."""

    def call(*args: Any, **kwargs: Any) -> Any:
        errorflag.check()
        return original(*args, **kwargs)

    return call


class DeviceIndexError(errorflag.DeviceValueError, IndexError):
    """A kernel's error that has led to an index error on the host: whoever expects that gets it."""


def index_error(original: Method) -> Method:
    """awkward's `index_error`, which prints the slice: if that came from a failed kernel, its error is told."""

    def index_error(*args: Any, **kwargs: Any) -> Any:
        cause = _cause(IndexError)
        return original(*args, **kwargs) if cause is None else cause

    return index_error


def cause_of(original: Method) -> Method:
    """`ErrorContext.decorate_exception`: what a failed kernel has led to on the host gives way to its error."""

    def decorate_exception(self: Any, cls: type, exception: Exception) -> Exception:
        of_kernel = isinstance(exception, errorflag.DeviceValueError)
        cause = None if of_kernel else _cause(cls)
        if cause is not None:
            return cause
        try:
            found: Exception = original(self, cls, exception)
        except Exception:  # of an argument that cannot be printed
            if not of_kernel:
                raise
            found = exception
        return found

    return decorate_exception


def _cause(led_to: type) -> errorflag.DeviceValueError | None:
    """The error of a kernel that has led to one of the host."""
    try:
        errorflag.check()
    except errorflag.DeviceValueError as cause:
        if issubclass(led_to, IndexError):
            cause.__class__ = DeviceIndexError
        return cause
    return None
