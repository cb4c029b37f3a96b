"""Carries and merges: as few launches and arrays in between as there can be."""

from __future__ import annotations

from typing import Any

import numpy as np
from awkward._parameters import parameters_intersect, parameters_union
from awkward.contents import (
    Content,
    IndexedArray,
    ListArray,
    ListOffsetArray,
    NumpyArray,
    RegularArray,
)
from awkward.index import Index, Index64

from primitives import op, segmented_transform, transform

from .._registry import call_as
from ..kernels.listarray import check_broadcast
from .arrays import CudaArrays, copy_element, gather, nearest
from .device import Method, filled_with, is_index64, is_on_device, is_own, is_plain, room_for


@op
def list_at(i, starts, stops, offsets, carry, lists):
    j = nearest(carry[i], lists)
    starts[i] = offsets[j] if lists > 0 else 0
    stops[i] = offsets[j + 1] if lists > 0 else 0


def listoffsetarray_carry(original: Method) -> Method:
    """`ListOffsetArray._carry`: starts and stops in one launch."""

    def _carry(self: Any, carry: Any, allow_lazy: bool) -> Any:
        nplike = self._backend.nplike
        offsets, picked = self._offsets.data, carry.data
        if type(nplike) is not CudaArrays or not (is_on_device(offsets) and is_on_device(picked)):
            return original(self, carry, allow_lazy)
        n = picked.shape[0]
        starts, stops = (nplike.empty(n, dtype=offsets.dtype) for _ in range(2))
        transform(list_at, n, starts, stops, offsets, picked, offsets.shape[0] - 1)
        return ListArray(
            Index(starts, nplike=nplike),
            Index(stops, nplike=nplike),
            self._content,
            parameters=self._parameters,
        )

    return _carry


def listoffsetarray_init(original: Method) -> Method:
    """`ListOffsetArray.__init__`: offsets that awkward made of a number it has read are on the host."""

    def __init__(self: Any, offsets: Any, content: Any, *, parameters: Any = None) -> None:
        if isinstance(offsets, Index) and isinstance(content, Content):
            nplike = content.backend.nplike
            if type(nplike) is CudaArrays and type(offsets.nplike) is not CudaArrays:
                offsets = offsets.to_nplike(nplike)
        original(self, offsets, content, parameters=parameters)

    return __init__


@op
def number_from_front(i, out, indexes, n):
    out[i] = nearest(indexes[i], n)


def _from_front(carry: Any, length: int, nplike: Any) -> Any:
    """A carry without negative numbers."""
    out = nplike.empty(carry.data.shape[0], dtype=np.int64)
    transform(number_from_front, out.shape[0], out, carry.data, length)
    return Index64(out, nplike=nplike)


def recordarray_carry(original: Method) -> Method:
    """`RecordArray._carry`, without the two waits for whether an index is out of bounds."""

    def _carry(self: Any, carry: Any, allow_lazy: Any) -> Any:
        nplike = self._backend.nplike
        if not allow_lazy or type(nplike) is not CudaArrays or not is_on_device(carry.data):
            return original(self, carry, allow_lazy)
        return IndexedArray(_from_front(carry, self.length, nplike), self, parameters=None)

    return _carry


@op
def position_in_row(i, out, indexes, rows, width):
    out[i] = nearest(indexes[i // width], rows) * width + i % width


def regulararray_carry(original: Method) -> Method:
    """`RegularArray._carry`, without the two waits for whether an index is out of bounds."""

    def _carry(self: Any, carry: Any, allow_lazy: Any) -> Any:
        nplike = self._backend.nplike
        if type(nplike) is not CudaArrays or not is_on_device(carry.data):
            return original(self, carry, allow_lazy)
        rows = carry.data.shape[0]
        out = nplike.empty(rows * self._size, dtype=np.int64)
        transform(position_in_row, out.shape[0], out, carry.data, self.length, self._size)
        content = self._content._carry(Index64(out, nplike=nplike), allow_lazy)
        return RegularArray(content, self._size, rows, parameters=self._parameters)

    return _carry


@op
def list_value(segment, position, local, out, x, n, fromstarts):
    copy_element(out, position, x, fromstarts[segment] + local, n)


def _values_of_lists(out: Any, x: Any, offsets: Any, starts: Any, stops: Any) -> None:
    lists = offsets.shape[0] - 1
    transform(check_broadcast, lists, offsets, starts, stops, x.shape[0])
    segmented_transform(offsets, out.shape[0], list_value, out, x, x.shape[0], starts)


def listarray_broadcast_tooffsets64(original: Method) -> Method:
    """`ListArray._broadcast_tooffsets64`: numbers are copied without a carry of their own."""

    def _broadcast_tooffsets64(self: Any, offsets: Any) -> Any:
        content = self._content
        if (
            type(self._backend.nplike) is not CudaArrays
            or not is_plain(content)
            or type(offsets) is not Index64
            or not all(map(is_on_device, (offsets.data, self._starts.data, self._stops.data)))
            or offsets.length - 1 != self.length
            or offsets[0] != 0
        ):
            return original(self, offsets)
        values = room_for(content, int(offsets[-1]))
        call_as(
            "awkward_ListArray_broadcast_tooffsets",
            _values_of_lists,
            values, content._data, offsets.data, self._starts.data, self._stops.data,
        )  # fmt: skip
        return ListOffsetArray(offsets, filled_with(content, values), parameters=self._parameters)

    return _broadcast_tooffsets64


def can_be_one(
    first: Any, second: Any, mergebool: bool = False, mergecastable: str = "same_kind"
) -> bool:
    """Whether awkward merges two arrays of numbers to one, of a type to which ops cast as it does."""
    x, y = first._data.dtype, second._data.dtype
    known = {x.kind, y.kind} <= set("biuf") or (x == y and x.kind == "c")
    return known and first._mergeable_next(second, mergebool, mergecastable)


def room_for_both(first: Any, second: Any, n: int) -> Any:
    """An array for `n` numbers of two arrays, for which `can_be_one` holds."""
    return first._backend.nplike.empty(n, dtype=np.result_type(first._data.dtype, second._data.dtype))


def as_one(first: Any, second: Any, written: Any, parameters: Any) -> Any:
    """The layout of what has been written to `room_for_both`, where a union of the two had these parameters."""
    common = parameters_intersect(first._parameters, second._parameters)
    return NumpyArray(written, parameters=parameters_union(common, parameters), backend=first._backend)


@op
def value_of_two(i, out, tags, index, first, n_first, second, n_second):
    j = index[i]
    if tags[i] == 0:
        copy_element(out, i, first, j, n_first)
    else:
        copy_element(out, i, second, j, n_second)


def unionarray_simplified(original: classmethod[Any, Any, Any]) -> classmethod[Any, Any, Any]:
    """`UnionArray.simplified`: two arrays of numbers become one without a union in between.

    That is what `ak.concatenate` ends with, and `ak.where` of what `choosing` leaves to awkward.
    """

    def simplified(
        cls: Any,
        tags: Any,
        index: Any,
        contents: Any,
        *,
        parameters: Any = None,
        mergebool: bool = False,
        mergecastable: str = "same_kind",
        dropunused: bool = False,
    ) -> Any:
        if not dropunused and len(contents) == 2 and all(map(is_plain, contents)):
            first, second = contents
            if (
                first is not second
                and is_on_device(tags.data)
                and is_on_device(index.data)
                and tags.length <= index.length
                and can_be_one(first, second, mergebool, mergecastable)
            ):
                x, y = first._data, second._data
                out = room_for_both(first, second, tags.length)
                transform(
                    value_of_two, tags.length,
                    out, tags.data, index.data, x, x.shape[0], y, y.shape[0],
                )  # fmt: skip
                return as_one(first, second, out, parameters)
        return original.__func__(
            cls, tags, index, contents, parameters=parameters, mergebool=mergebool,
            mergecastable=mergecastable, dropunused=dropunused,
        )  # fmt: skip

    return classmethod(simplified)


def numpyarray_carry(original: Method) -> Method:
    """`NumpyArray._carry`, in one launch."""

    def _carry(self: Any, carry: Any, allow_lazy: bool) -> Any:
        if is_own(self._data) and is_on_device(carry.data):
            found = gather(self._data, carry.data)
            return NumpyArray(found, parameters=self._parameters, backend=self._backend)
        return original(self, carry, allow_lazy)

    return _carry


@op(errors=("index out of range",))
def take_indexed(i, out, x, index, n):
    j = index[i]
    copy_element(out, i, x, j, n)
    if not 0 <= j < n:
        return 1, j


@op(errors=("index out of range",))
def take_option(i, out, x, index, n):
    j = index[i]
    copy_element(out, i, x, max(j, 0), n)
    if j >= n:
        return 1, j


def numbers_of_option(option: Any) -> Any:
    """The numbers of an `IndexedOptionArray` of such, where it has them, and any others where it has None."""
    x, index = option._content._data, option._index._data
    out = type(x)(option.length, x.dtype)
    call_as(OF_OPTION, transform, take_option, option.length, out, x, index, option._content.length)
    return out


@op(errors=("index out of range",))
def is_in_content(i, index, n):
    if index[i] >= n:
        return 1, index[i]


def indexedoptionarray_rearrange_prepare_next(original: Method) -> Method:
    """`IndexedOptionArray._rearrange_prepare_next`, whose kernel does not look whether the index is in the content."""

    def _rearrange_prepare_next(self: Any, offsets: Any, outlength: Any) -> Any:
        index = self._index._data
        if is_index64(index):
            call_as(OF_OPTION, transform, is_in_content, index.shape[0], index, self._content.length)
        return original(self, offsets, outlength)

    return _rearrange_prepare_next


OF_OPTION = "awkward_IndexedArray_getitem_nextcarry_outindex"
"""awkward's kernel that looks at the index of an option, whose errors these have."""


def indexedarray_project(original: Method) -> Method:
    """`IndexedArray.project` of numbers: one launch, where awkward copies the index as it checks it."""

    def project(self: Any, mask: Any = None) -> Any:
        content, index = self._content, self._index._data
        if mask is not None or not (is_plain(content) and is_index64(index)):
            return original(self, mask)
        n = index.shape[0]
        out = self._backend.nplike.empty(n, dtype=content._data.dtype)
        name = "awkward_IndexedArray_getitem_nextcarry"
        call_as(name, transform, take_indexed, n, out, content._data, index, content.length)
        kept = parameters_union(
            content._parameters, self._parameters, exclude=(("__array__", "categorical"),)
        )
        return NumpyArray(out, parameters=kept, backend=self._backend)

    return project
