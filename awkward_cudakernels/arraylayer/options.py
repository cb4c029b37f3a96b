"""Options of numbers: filled, or left out of their lists, without an index of what is there."""

from __future__ import annotations

from typing import Any

import awkward as ak
import numpy as np
from awkward._layout import HighLevelContext
from awkward.contents import ByteMaskedArray, IndexedOptionArray, ListOffsetArray

from primitives import op, transform

from .._registry import call_as
from ..kernels.bytemaskedarray import is_valid, valid
from ..kernels.indexedarray import is_some
from .arrays import copy_element
from .carries import as_one, can_be_one, room_for_both
from .device import Method, filled_with, is_on_device, is_plain, room_for
from .slices import fits, ranks_and_offsets


@op
def value_or_fill(i, out, mask, valid_when, x, fill):
    value = x[i]  # whether it is valid or not: the two loads need not wait for each other
    if valid(mask, i, valid_when):
        out[i] = value
    else:
        out[i] = fill[0]


@op
def indexed_value_or_fill(i, out, index, x, n, fill):
    j = index[i]
    if j >= 0:
        copy_element(out, i, x, j, n)
    else:
        out[i] = fill[0]


def bytemaskedarray_fill_none(original: Method) -> Method:
    """`ByteMaskedArray._fill_none`: one launch."""

    def _fill_none(self: Any, value: Any) -> Any:
        content, mask = self._content, self._mask._data
        if not (is_on_device(mask) and _can_be_filled(content, value)):
            return original(self, value)
        out = room_for_both(content, value, self.length)
        transform(value_or_fill, self.length, out, mask, int(self._valid_when), content._data, value._data)
        return as_one(content, value, out, self._parameters)

    return _fill_none


def indexedoptionarray_fill_none(original: Method) -> Method:
    """`IndexedOptionArray._fill_none`: one launch."""

    def _fill_none(self: Any, value: Any) -> Any:
        content, index = self._content, self._index._data
        if not (_is_index(index) and _can_be_filled(content, value)):
            return original(self, value)
        out = room_for_both(content, value, self.length)
        transform(indexed_value_or_fill, self.length, out, index, content._data, content.length, value._data)
        return as_one(content, value, out, self._parameters)

    return _fill_none


def _is_index(data: Any) -> bool:
    """Whether an index is one of 64 bits on the device, as most are; ops are compiled for no other."""
    return is_on_device(data) and data.dtype == np.int64


def _can_be_filled(content: Any, value: Any) -> bool:
    """Whether numbers and what fills the gaps between them become one array of numbers."""
    return (
        is_plain(content)
        and is_plain(value)
        and value.length == 1
        and can_be_one(content, value, mergebool=True)
    )


@op
def valid_value(i, out, ranks, x):
    rank = ranks[i]
    if ranks[i + 1] != rank:
        out[rank] = x[i]


@op(errors=("index out of range",))
def some_value(i, out, ranks, index, x, n):
    rank = ranks[i]
    if ranks[i + 1] != rank:
        j = index[i]
        if j >= n:
            out[rank] = 0
            return 1, j
        out[rank] = x[j]


def drop_none(original: Method) -> Method:
    """`ak.drop_none` of lists of options of numbers: straight to the innermost lists.

    awkward looks at what is missing once for the elements and again for the offsets.
    """

    def _impl(array: Any, axis: Any, highlevel: bool, behavior: Any, attrs: Any) -> Any:
        layout = array.layout if isinstance(array, ak.Array) else array
        depth = _depth_of_option(layout)
        if depth == 0 or not (axis is None or (type(axis) is int and axis in (depth, -1))):
            return original(array, axis, highlevel, behavior, attrs)
        with HighLevelContext(behavior=behavior, attrs=attrs) as context:
            context.unwrap(array, allow_record=False, primitive_policy="error")
        return context.wrap(_without_nones(layout), highlevel=highlevel)

    return _impl


def _depth_of_option(layout: Any) -> int:
    """How deep in lists, and in nothing else, an option of numbers is; 0 if that is not what a layout is."""
    depth = 0
    while type(layout) is ListOffsetArray:
        layout, depth = layout._content, depth + 1
    return 0 if _validity(layout) is None else depth


def _without_nones(lists: Any) -> Any:
    if type(lists._content) is ListOffsetArray:
        return lists.copy(content=_without_nones(lists._content))
    if lists._offsets[0] != 0:
        lists = lists.to_ListOffsetArray64(True)
    return lists._drop_none()


def listoffsetarray_drop_none(original: Method) -> Method:
    """`ListOffsetArray._drop_none`: three launches and one wait, as for a mask of lists."""

    def _drop_none(self: Any) -> Any:
        option, offsets = self._content, self._offsets
        keep = _validity(option)
        if keep is None or not fits(offsets, keep[1]):
            return original(self)
        content, n = option._content, int(offsets[-1])
        ranks, nextoffsets = ranks_and_offsets(keep, offsets)
        out = room_for(content, int(nextoffsets[-1]))
        if type(option) is ByteMaskedArray:
            transform(valid_value, n, out, ranks, content._data)
        else:
            call_as(
                "awkward_IndexedArray_getitem_nextcarry_outindex", transform,
                some_value, n, out, ranks, option._index._data, content._data, content.length,
            )  # fmt: skip
        return ListOffsetArray(nextoffsets, filled_with(content, out))

    return _drop_none


def _validity(option: Any) -> tuple[Any, ...] | None:
    """What says which elements of an option of numbers are valid: an op, and its array first; None of all else."""
    kind = type(option)
    if kind is ByteMaskedArray and is_plain(option._content) and is_on_device(option._mask._data):
        return is_valid, option._mask._data, int(option._valid_when)
    if kind is IndexedOptionArray and is_plain(option._content) and _is_index(option._index._data):
        return is_some, option._index._data
    return None
