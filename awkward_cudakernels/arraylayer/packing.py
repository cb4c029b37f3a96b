"""Lists with offsets of their own: given by starts and stops, by offsets that start elsewhere, or all of one length."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any
from weakref import ref

import numpy as np
from awkward.contents import ListOffsetArray

import errorflag
from primitives import op, reduce, scan, segmented_transform, transform

from .._known import remember_ends
from ..kernels.listarray import list_element
from ..kernels.numpyarray import range_length
from .arrays import CudaArrays
from .carries import list_value
from .device import Method, filled_with, is_index64, is_on_device, is_plain, room_for, span_of
from .merging import offsets_to, shifted_offset

_compacted: ContextVar[tuple[Any, Any] | None] = ContextVar("_compacted", default=None)
"""References to the offsets that `ListOffsetArray._compact_offsets64` has made last, and to those they were made of:
a broadcast asks for them, and then compares them with its lists'."""


def _nothing() -> None:
    """As a reference to what is gone."""


@op
def store_offset_and_ends(i, before, after, offsets, seen, starts, lists):
    if i == 0:
        offsets[0] = 0
        seen[1] = starts[0]
    offsets[i + 1] = after
    if i == lists - 1:
        seen[0] = after


FOLLOWS, APART, WRONG = 0, 1, 2
"""Of a list: it ends where the next one starts, it does not, or it is none of its content."""


@op
def how_it_lies(i, value, starts, stops, lists, contentlength):
    # Without a branch, so that a thread's loads of many lists are under way together.
    start, stop, following = starts[i], stops[i], starts[min(i + 1, lists - 1)]
    apart = i + 1 < lists and following != stop
    wrong = stop < start or (stop != start and stop > contentlength)
    value[0] = WRONG if wrong else APART if apart else FOLLOWS


def listarray_to_listoffsetarray64(original: Method) -> Method:
    """`ListArray.to_ListOffsetArray64`: three launches and a wait, for how many elements there are and what awkward
    compares first, whether lists follow one another: if they do, nothing is copied.

    What awkward says of lists that are wrong depends on that, too: these are left to it.
    """

    def to_ListOffsetArray64(self: Any, start_at_zero: bool = False) -> Any:
        nplike, lists = self._backend.nplike, self.length
        starts, stops = self._starts._data, self._stops._data
        if (
            type(nplike) is not CudaArrays
            or not (is_on_device(starts) and is_on_device(stops))
            or lists == 0
        ):
            return original(self, start_at_zero)
        offsets = nplike.empty(lists + 1, dtype=np.int64)
        seen = nplike.empty(3, dtype=np.int64)  # how many elements, where the first list starts, how the worst one lies
        scan(lists, (range_length, starts, stops), (store_offset_and_ends, offsets, seen, starts, lists))
        reduce(lists, (how_it_lies, starts, stops, lists, self._content.length), seen[2:], combine="maximum")
        n, first, worst = errorflag.read(seen)[0].tolist()
        if worst == WRONG:
            return original(self, start_at_zero)
        nextoffsets = offsets_to(offsets, 0, n, nplike)
        if worst == APART or stops.shape[0] != lists:
            content = _copied(self._content, starts, offsets, n)
        elif first == 0:
            content = self._content
        elif start_at_zero:
            content = self._content[first:]
        else:
            content, nextoffsets = self._content, _shifted(offsets, first, first, first + n, nplike)
        return ListOffsetArray(nextoffsets, content, parameters=self._parameters)

    return to_ListOffsetArray64


def _copied(content: Any, starts: Any, offsets: Any, n: int) -> Any:
    """The elements of lists that start there in a content, at the offsets that these have."""
    out = room_for(content, n)
    write: tuple[Any, ...] = (list_element, out, offsets, starts)
    if is_plain(content):
        write = (list_value, out, content._data, content.length, starts)
    segmented_transform(offsets, n, *write)
    return filled_with(content, out)


def _shifted(offsets: Any, shift: int, first: int, last: int, nplike: Any) -> Any:
    """Offsets that are `shift` more than others, and of which the host knows the ends."""
    out = nplike.empty(offsets.shape[0], dtype=np.int64)
    transform(shifted_offset, out.shape[0], out, offsets, shift)
    return offsets_to(out, first, last, nplike)


def _from_zero(lists: Any) -> Any:
    first, n = span_of(lists)
    return _shifted(lists._offsets._data, -first, 0, n, lists._backend.nplike)


def listoffsetarray_to_listoffsetarray64(original: Method) -> Method:
    """`ListOffsetArray.to_ListOffsetArray64`: the ends of offsets that are shifted or cast are not read again."""

    def to_ListOffsetArray64(self: Any, start_at_zero: bool = False) -> Any:
        offsets, content = self._offsets, self._content
        if type(self._backend.nplike) is not CudaArrays or not is_on_device(offsets._data):
            return original(self, start_at_zero)
        if not start_at_zero or (is_index64(offsets._data) and offsets[0] == 0):
            return ListOffsetArray(offsets.to64(), content, parameters=self._parameters)
        if offsets[0] != 0:
            content = content[offsets[0] :]
        return ListOffsetArray(_from_zero(self), content, parameters=self._parameters)

    return to_ListOffsetArray64


def listoffsetarray_compact_offsets64(original: Method) -> Method:
    """`ListOffsetArray._compact_offsets64`: the ends of offsets that are shifted are not read again."""

    def _compact_offsets64(self: Any, start_at_zero: bool) -> Any:
        offsets = self._offsets
        _compacted.set(None)
        if (
            not start_at_zero
            or type(self._backend.nplike) is not CudaArrays
            or not is_on_device(offsets._data)
            or offsets[0] == 0
        ):
            return original(self, start_at_zero)
        compact = _from_zero(self)
        _compacted.set((ref(compact), ref(offsets)))
        return compact

    return _compact_offsets64


def broadcast_to_offsets_avoiding_carry(original: Method) -> Method:
    """`broadcast_to_offsets_avoiding_carry`: lists are not compared with offsets that were just made of their own."""

    def broadcast_to_offsets_avoiding_carry(list_content: Any, offsets: Any) -> Any:
        compact, origin = _compacted.get(None) or (_nothing, _nothing)
        if type(list_content) is ListOffsetArray and origin() is list_content._offsets and compact() is offsets:
            first, n = span_of(list_content)
            return list_content._content[first:][:n]
        return original(list_content, offsets)

    return broadcast_to_offsets_avoiding_carry


def regulararray_compact_offsets64(original: Method) -> Method:
    """`RegularArray._compact_offsets64`: offsets that the host makes are not read."""

    def _compact_offsets64(self: Any, start_at_zero: bool) -> Any:
        offsets = original(self, start_at_zero)
        if type(self._backend.nplike) is CudaArrays:
            remember_ends(offsets, 0, self.length * self._size)
        return offsets

    return _compact_offsets64


def regulararray_to_listoffsetarray64(original: Method) -> Method:
    """`RegularArray.to_ListOffsetArray64`: one launch and no wait; awkward makes the offsets twice and compares them.

    Lists of one element are carried, as awkward does, which gives some contents another form.
    """

    def to_ListOffsetArray64(self: Any, start_at_zero: bool = False) -> Any:
        if type(self._backend.nplike) is not CudaArrays or self._size == 1:
            return original(self, start_at_zero)
        offsets = self._compact_offsets64(start_at_zero)
        content = self._content[: self.length * self._size]
        return ListOffsetArray(offsets, content, parameters=self._parameters)

    return to_ListOffsetArray64
