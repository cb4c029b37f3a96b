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
    """A function that shows values, which must not be the garbage of a failed kernel, or tells what they led to."""

    def call(*args: Any, **kwargs: Any) -> Any:
        errorflag.check()
        return original(*args, **kwargs)

    return call


def cause_of(original: Method) -> Method:
    """`ErrorContext.decorate_exception`: what a failed kernel has led to on the host gives way to its error."""

    def decorate_exception(self: Any, cls: type, exception: Exception) -> Exception:
        if not isinstance(exception, errorflag.DeviceValueError):
            try:
                errorflag.check()
            except errorflag.DeviceValueError as cause:
                return cause
        found: Exception = original(self, cls, exception)
        return found

    return decorate_exception
