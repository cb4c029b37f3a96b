"""Slices: bounds of the user's indexes, masks of lists, and slices that carry nothing."""

from __future__ import annotations

from typing import Any

import awkward._slicing
import numpy as np
from awkward._nplikes.virtual import VirtualNDArray
from awkward._util import kSliceNone
from awkward.contents import (
    ByteMaskedArray,
    IndexedArray,
    IndexedOptionArray,
    ListArray,
    ListOffsetArray,
    NumpyArray,
    RecordArray,
    RegularArray,
)
from awkward.index import Index, Index64

import errorflag
from primitives import bit_at, offsets_from, op, rank_at, ranked_bits, segmented_transform, transform

from .._registry import call_as
from ..kernels.listarray import (
    first_of_slice,
    jagged_element,
    regular_at,
    sliced_element,
    sliced_lengths,
)
from .arrays import SLICING, CudaArrays, check_bounds, copy_element, nearest, to_scalar, within
from .carries import OF_OPTION
from .device import (
    Method,
    filled_with,
    is_on_device,
    is_own,
    is_plain,
    is_within,
    never_empty,
    room_for,
    starts_and_stops,
)
from .keeping import (
    NONZERO,
    bits_and_offsets,
    bits_and_total,
    keeps,
    kept_in_list,
    kept_local,
    kept_position,
    kept_range,
    kept_value,
    what_is_there,
)
from .picking import by_one_each


@op(errors=("index out of bounds",))
def is_unset(i, mask, n):
    if mask[n + i]:
        return 1


def content_getitem(original: Method) -> Method:
    """`Content._getitem`: where an index or a mask of the user's comes in, which may be out of bounds.

    And where a slice by lists, ``array[:, 0]`` and ``array[:, :2]`` can go straight to their lists.
    """

    def _getitem(self: Any, where: Any, *named_axis: Any) -> Any:
        if isinstance(where, NumpyArray) and type(self._backend.nplike) is CudaArrays:
            data = where._data
            if is_own(data) and data._c_contiguous:
                if data.dtype.kind in "iu":
                    check_bounds(data if data.ndim == 1 else data.reshape(-1), self.length)
                elif data.dtype.kind == "b" and data.ndim == 1:
                    if data.shape[0] == self.length:
                        found = _by_mask(self, data)
                        if found is not None:
                            return found
                    beyond = max(0, data.shape[0] - self.length)
                    call_as(SLICING, transform, is_unset, beyond, data, self.length)
        elif type(where) in (ByteMaskedArray, IndexedOptionArray):
            if where.length == self.length and where._backend is self._backend:
                found = _by_optional_mask(self, where)
                if found is not None:
                    return found
        elif type(where) is ListOffsetArray and type(self) in (ListOffsetArray, ListArray):
            if type(self._backend.nplike) is CudaArrays and where._backend is self._backend:
                found = _by_lists(self, where)
                if found is not None:
                    return found
        elif type(where) is RegularArray and type(self) in (ListOffsetArray, ListArray):
            if type(self._backend.nplike) is CudaArrays and where._backend is self._backend:
                found = by_one_each(self, where)
                if found is not None:
                    return found
        elif (
            type(where) is tuple
            and len(where) == 2
            and type(where[0]) is slice
            and where[0] == slice(None)
            and type(self) in (ListOffsetArray, ListArray)
            and type(self._backend.nplike) is CudaArrays
            and self.parameter("__array__") is None
            and not (named_axis and named_axis[0].mapping)
            and _is_plain_slice(where[1])
        ):
            return _of_every_list(self, where[1])
        return original(self, where, *named_axis)

    return _getitem


def _by_mask(layout: Any, mask: Any) -> Any:
    """Numbers, lists, records or what an index tells, by a mask of as many: two launches and a wait for their number,
    without a carry."""
    kind, n, nplike = type(layout), layout.length, layout._backend.nplike
    given = _given(layout)
    if given is None or not all(map(is_on_device, given)):
        return None
    bits, total = bits_and_total(mask, NONZERO, n, nplike)
    kept = int(to_scalar(total))
    if kind is RecordArray:
        positions = nplike.empty(kept, dtype=np.int64)
        transform(kept_position, n, positions, bits)
        return IndexedArray(Index64(positions, nplike=nplike), layout)
    written = [nplike.empty(kept, dtype=x.dtype) for x in given]
    transform(kept_range if len(given) == 2 else kept_value, n, *written, bits, *given)
    if kind is NumpyArray:
        return filled_with(layout, *written)
    indexes = [Index(x, nplike=nplike) for x in written]
    result = ListArray if len(given) == 2 else kind
    return result(*indexes, layout._content, parameters=layout._parameters)


@op
def is_true_or_missing(i, keep, truths, by, rule):
    keep[0] = not keeps(by[i], rule) or truths[i]


@op(errors=("index out of range",))
def indexed_is_true_or_missing(i, keep, truths, index, n):
    j = index[i]
    keep[0] = j < 0
    if j >= n:
        return 1, j
    if j >= 0:
        keep[0] = truths[j]


@op
def kept_position_or_none(i, out, bits, by, rule):
    if bit_at(bits, i):
        out[rank_at(bits, i)] = i if keeps(by[i], rule) else -1


def _by_optional_mask(layout: Any, mask: Any) -> Any:
    """Numbers, lists or records by a mask, of which None remains None: two launches and a wait for their number."""
    nplike, n = layout._backend.nplike, layout.length
    if type(nplike) is not CudaArrays or not is_plain(mask._content) or mask._content._data.dtype != np.bool_:
        return None
    if not (is_plain(layout) or type(layout) in (ListOffsetArray, ListArray, RecordArray)):
        return None
    by, rule = what_is_there(mask)
    if not is_on_device(by):
        return None
    truths = mask._content._data
    keep: tuple[Any, ...] = (is_true_or_missing, truths, by, rule)
    if type(mask) is IndexedOptionArray:
        keep = (indexed_is_true_or_missing, truths, by, truths.shape[0])
    bits, total = nplike.empty((n + 15) // 16, dtype=np.int64), nplike.empty(1, dtype=np.int64)
    call_as(OF_OPTION, lambda: ranked_bits(keep, n, bits, total=total))
    out = nplike.empty(int(to_scalar(total)), dtype=np.int64)
    transform(kept_position_or_none, n, out, bits, by, rule)
    return IndexedOptionArray(Index64(out, nplike=nplike), _as_carried(layout))


def _given(layout: Any) -> Any:
    """The arrays with a number for each element of a layout, which make it with its content; None if others do."""
    kind = type(layout)
    if kind in (ListOffsetArray, ListArray):
        return starts_and_stops(layout)
    if kind in (IndexedArray, IndexedOptionArray):
        return (layout._index._data,)
    if kind is RecordArray:
        return ()
    return (layout._data,) if is_plain(layout) else None


def _is_plain_slice(item: Any) -> bool:
    if type(item) is slice:
        return all(x is None or type(x) is int for x in (item.start, item.stop, item.step))
    return type(item) is int


def _as_carried(content: Any) -> Any:
    """A layout after a carry of all its elements in their order, if it is one of CARRIED_AS_THEY_ARE."""
    if type(content) is not ListOffsetArray:
        return content
    return ListArray(
        content.starts, content.stops, content.content, parameters=content.parameters
    )


@op(errors=("stops[i] < starts[i]", "stops[i] > len(content)", "index out of range"))
def indexed_value(segment, position, local, out, index, starts, stops, x, contentlength):
    length = stops[segment] - starts[segment]
    at = index[position]
    regular = regular_at(at, length)
    if regular >= 0 and stops[segment] <= contentlength and contentlength > 0:
        out[position] = x[nearest(starts[segment] + regular, contentlength)]
        return 0
    out[position] = 0
    if length < 0:
        return 1
    if length != 0 and stops[segment] > contentlength:
        return 2
    return 3, at


@op(errors=("index out of range",))
def value_at(i, out, starts, stops, x, contentlength, at):
    regular = regular_at(at, stops[i] - starts[i])
    if regular < 0:
        out[i] = 0
        return 1, at
    copy_element(out, i, x, starts[i] + regular, contentlength)


@op
def value_of_range(segment, position, local, out, ends, first, step, x, n):
    out[position] = x[within(ends[segment] + first + step * local, n)]


@op
def sliced_value(segment, position, local, out, starts, stops, start, step, x, contentlength):
    j = first_of_slice(starts, stops, segment, start, step) + local * step
    copy_element(out, position, x, j, contentlength)


def _of_every_list(lists: Any, item: Any) -> Any:
    """``lists[:, item]`` for a number or a slice of numbers: one launch, or two and a wait for a length."""
    starts, stops = starts_and_stops(lists)
    if type(item) is slice and item.step == 0:
        raise ValueError("slice step cannot be zero")
    if not (is_on_device(starts) and is_on_device(stops)):
        return _as_carried(lists)._getitem_next(item, (), None)
    if type(item) is slice:
        return _slice_of_every_list(lists, starts, stops, item)
    content, n = lists._content, lists.length
    if not is_plain(content):
        return _as_carried(lists)._getitem_next(item, (), None)
    values = room_for(content, n)
    call_as(
        "awkward_ListArray_getitem_next_at", transform,
        value_at, n, values, starts, stops, content._data, content.length, item,
    )  # fmt: skip
    return filled_with(content, values)


def _bounded(x: int) -> int:
    """A number of a slice, with which an op can count: no list is as long as 2**62."""
    return max(-(2**62), min(x, 2**62))


def _slice_of_every_list(lists: Any, starts: Any, stops: Any, item: slice) -> Any:
    nplike, content, n = lists._backend.nplike, lists._content, lists.length
    start, stop = (kSliceNone if x is None else _bounded(x) for x in (item.start, item.stop))
    step = 1 if item.step is None else _bounded(item.step)
    name = "awkward_ListArray_getitem_next_range"
    if step in (1, -1) and start == stop == kSliceNone and _is_compact(lists):
        nextoffsets = lists._offsets  # nothing is left out
    else:
        offsets = nplike.empty(n + 1, dtype=starts.dtype)
        call_as(name, offsets_from, sliced_lengths(starts, stops, start, stop, step), n, offsets)
        nextoffsets = Index(offsets, nplike=nplike)
    length = int(nextoffsets[-1])
    out = room_for(content, length)
    write: tuple[Any, ...] = (sliced_element, out, starts, stops, start, step)
    if is_plain(content) and (start == kSliceNone or (start >= 0 and step > 0)):
        x = never_empty(content)
        ends, first = (stops, -1) if step < 0 else (starts, 0 if start == kSliceNone else start)
        write = (value_of_range, out, ends, first, step, x, x.shape[0])
    elif is_plain(content):
        write = (sliced_value, *write[1:], content._data, content.length)
    call_as(name, segmented_transform, nextoffsets.data, length, *write)
    return ListOffsetArray(nextoffsets, filled_with(content, out), parameters=lists._parameters)


def _is_compact(lists: Any) -> bool:
    """Whether lists have offsets from 0 on that stay within their content."""
    return type(lists) is ListOffsetArray and lists._offsets[0] == 0 and is_within(lists)


def _by_lists(lists: Any, where: Any) -> Any:
    """Lists by lists of numbers or of truth values, if these are what most are; else None."""
    by: Any = where._content._data if type(where._content) is NumpyArray else None
    starts, stops = starts_and_stops(lists)
    if not (
        all(map(is_on_device, (by, starts, stops)))
        and by.dtype.kind in "biu"
        and by.dtype != np.uint64
        and where.length == lists.length
        and where.parameter("__array__") is None
        and fits(where._offsets, by)
    ):
        return None
    find = _masked if by.dtype == np.bool_ else _indexed
    return find(lists, starts, stops, where._offsets, by)


def _indexed(lists: Any, starts: Any, stops: Any, offsets: Any, index: Any) -> Any:
    """Lists by indexes into every list, whose offsets the result has: one launch, no wait."""
    content, n = lists._content, int(offsets[-1])
    out = room_for(content, n)
    if is_plain(content):
        call_as(
            _JAGGED, segmented_transform, offsets.data, n,
            indexed_value, out, index, starts, stops, content._data, content.length,
        )  # fmt: skip
    else:
        call_as(
            _JAGGED, segmented_transform, offsets.data, n,
            jagged_element, out, n, offsets.data[:-1], offsets.data[1:], index, index.shape[0],
            starts, stops, content.length,
        )  # fmt: skip
    return ListOffsetArray(offsets.to64(), filled_with(content, out))


def _masked(lists: Any, starts: Any, stops: Any, offsets: Any, mask: Any) -> Any:
    """Lists by a mask of lists, without indexes of what it keeps in every list.

    Of each element of the mask, how many before it are kept; from these the offsets; then every element
    that is kept goes to its place. One wait, for their number.
    """
    nplike, content, n = lists._backend.nplike, lists._content, int(offsets[-1])
    bits, nextoffsets = bits_and_offsets(mask, NONZERO, offsets)
    kept = int(nextoffsets[-1])
    whole = starts.data.ptr == offsets.data.data.ptr and type(lists) is ListOffsetArray
    whole = whole and starts.dtype == offsets.dtype and content.length >= n
    if whole and is_plain(content):
        values = room_for(content, kept)
        transform(kept_value, n, values, bits, content._data)
        content = filled_with(content, values)
    else:
        carry = nplike.empty(kept, dtype=np.int64)
        if whole:
            transform(kept_position, n, carry, bits)
        else:
            call_as(
                _JAGGED, segmented_transform, offsets.data, n,
                kept_in_list, carry, bits, starts, stops, content.length,
            )  # fmt: skip
        content = content._carry(Index64(carry, nplike=nplike), True)
    return ListOffsetArray(nextoffsets, content)


def fits(offsets: Any, content: Any) -> bool:
    """Whether an index is of offsets on the device, from 0 on, that the content reaches."""
    return (
        is_on_device(offsets._data) and offsets[0] == 0 and int(offsets[-1]) <= content.shape[0]
    )


_JAGGED = "awkward_ListArray_getitem_jagged_apply"
"""awkward's kernel for these, whose errors they have."""


CARRIED_AS_THEY_ARE = (NumpyArray, ListOffsetArray, ListArray, IndexedArray, IndexedOptionArray)
"""Contents of which a carry takes elements only, so that all of them in their order are what there was."""


def regulararray_getitem_next(original: Method) -> Method:
    """`RegularArray._getitem_next`: a slice that leaves the contents in their order carries nothing.

    The first dimension of ``array[:, 0]`` is one.
    """

    def _getitem_next(self: Any, head: Any, tail: Any, advanced: Any) -> Any:
        nplike = self._backend.nplike
        if type(head) is slice and advanced is None and type(nplike) is CudaArrays:
            start, _, step, size = nplike.derive_slice_for_length(head, length=self._size)
            if (
                step == 1
                and size >= 0
                and (self.length == 1 or size == self._size)
                and isinstance(self._content, CARRIED_AS_THEY_ARE)
            ):
                content = _as_carried(self._content._getitem_range(start, start + size * self.length))
                nexthead, nexttail = awkward._slicing.head_tail(tail)
                return RegularArray(
                    content._getitem_next(nexthead, nexttail, None),
                    size,
                    self.length,
                    parameters=self._parameters,
                )
        return original(self, head, tail, advanced)

    return _getitem_next


def numpyarray_getitem_next(original: Method) -> Method:
    """`NumpyArray._getitem_next`: an index that is out of bounds of the second dimension is an error."""

    def _getitem_next(self: Any, head: Any, tail: Any, advanced: Any) -> Any:
        if (
            type(head) is Index64
            and type(self._backend.nplike) is CudaArrays
            and type(self._data) is not VirtualNDArray
            and self._data.ndim > 1
            and is_on_device(head.data)
        ):
            check_bounds(head.data, self._data.shape[1])
        return original(self, head, tail, advanced)

    return _getitem_next


def numpyarray_getitem_at(original: Method) -> Method:
    """`NumpyArray._getitem_at`: a single value that leaves an array is one that the host looks at."""

    def _getitem_at(self: Any, where: Any) -> Any:
        out = original(self, where)
        if type(self._backend.nplike) is CudaArrays and not getattr(out, "ndim", 1):
            errorflag.check()
        return out

    return _getitem_at


def normalise_item_bool_to_int(original: Method) -> Method:
    """Of a mask of lists, where in its list every true element is: one wait, for their number."""

    def _normalise_item_bool_to_int(item: Any, backend: Any) -> Any:
        content: Any = getattr(item, "_content", None)
        if not (
            isinstance(item, ListOffsetArray)
            and isinstance(content, NumpyArray)
            and type(item._backend.nplike) is CudaArrays
            and content._data.dtype == np.bool_
            and is_on_device(content._data)
            and fits(item._offsets, content._data)
        ):
            return original(item, backend)
        mask, offsets = content._data, item._offsets
        bits, nextoffsets = bits_and_offsets(mask, NONZERO, offsets)
        local = item._backend.nplike.empty(nextoffsets[-1], dtype=np.int64)
        segmented_transform(offsets.data, int(offsets[-1]), kept_local, local, bits)
        return ListOffsetArray(nextoffsets, NumpyArray(local, backend=item._backend))

    return _normalise_item_bool_to_int
