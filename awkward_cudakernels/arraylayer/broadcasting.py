"""Broadcasts: what is repeated for lists is not written if a function can do without."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from awkward.contents import ListArray, ListOffsetArray

from primitives import segment_ids

from . import choosing, elementwise
from .arrays import CudaArrays
from .device import Method, filled_with, is_on_device, is_plain, room_for
from .elementwise import Repeated

_unwritten: ContextVar[bool] = ContextVar("_unwritten", default=False)
"""Whether numbers are repeated for a function that can do without what would be written."""


def broadcast_and_apply(original: Method) -> Method:
    """`broadcast_and_apply` for `ak.where` and universal functions: theirs are other actions, which know more."""

    def broadcast_and_apply(inputs: Any, action: Any, **options: Any) -> Any:
        name = options.get("function_name")
        if name == "ak.where":
            action = choosing.at_leaves(action)
        elif name in elementwise.FUNCTIONS:
            action = _of_lists(action)
        return original(inputs, action, **options)

    return broadcast_and_apply


def _of_lists(original: Method) -> Method:
    """The action of a universal function: where one argument has lists and the other a number for each.

    awkward repeats the numbers, and comes to two arrays of numbers. So it does here, but what it repeats is
    an array that nobody has written yet, and `elementwise.call` looks what that would be.
    """

    def action(inputs: Any, backend: Any, continuation: Any, **context: Any) -> Any:
        result = original(inputs, backend=backend, continuation=continuation, **context)
        if result is not None or type(backend.nplike) is not CudaArrays or not _are_lists_and_numbers(inputs):
            return result
        before = _unwritten.set(True)
        try:
            return continuation()
        finally:
            _unwritten.reset(before)

    return action


def _are_lists_and_numbers(inputs: Any) -> bool:
    """Whether one has lists of numbers and the other numbers, and no parameters with which users have functions."""
    if len(inputs) != 2:
        return False
    numbers, lists = inputs if is_plain(inputs[0]) else inputs[::-1]
    return (
        is_plain(numbers)
        and type(lists) in (ListOffsetArray, ListArray)
        and is_plain(lists._content)
        and not (numbers._parameters or lists._parameters or lists._content._parameters)
    )


def regulararray_broadcast_tooffsets64(original: Method) -> Method:
    """`RegularArray._broadcast_tooffsets64`: lists of one element are repeated without a wait of their own."""

    def _broadcast_tooffsets64(self: Any, offsets: Any) -> Any:
        nplike = self._backend.nplike
        if (
            type(nplike) is not CudaArrays
            or self._size != 1
            or not is_on_device(offsets.data)
            or offsets.length - 1 != self.length
            or offsets[0] != 0
        ):
            return original(self, offsets)
        total, content = int(offsets[-1]), self._content
        if is_plain(content):
            repeated = Repeated(content._data, offsets.data, total)
            out = repeated.unwritten(nplike) if _unwritten.get() else repeated()
        else:
            out = room_for(content, total)
            segment_ids(offsets.data, out)
        return ListOffsetArray(offsets, filled_with(content, out), parameters=self._parameters)

    return _broadcast_tooffsets64
