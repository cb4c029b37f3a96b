"""One element of every list, or none: ``array[ak.argmax(array.x, axis=1, keepdims=True)]``."""

from __future__ import annotations

from typing import Any

import numpy as np
from awkward.contents import (
    ByteMaskedArray,
    IndexedArray,
    IndexedOptionArray,
    ListOffsetArray,
    NumpyArray,
    RecordArray,
)
from awkward.index import Index64

from primitives import bit_at, device_function, op, rank_at, transform

from .._registry import call_as
from ..kernels.listarray import regular_at
from .arrays import nearest, to_scalar
from .device import filled_with, is_index64, is_on_device, is_plain, never_empty, room_for, starts_and_stops
from .keeping import NONZERO, ZERO, bits_and_total

ERRORS = ("stops[i] < starts[i]", "stops[i] > len(content)", "index out of range")


@device_function
def store_list_of_one(i, offsets, lists):
    offsets[i] = i
    if i == lists - 1:
        offsets[lists] = lists


@device_function
def wrong(start, stop, at, contentlength):
    """The number of the error that picking an element of a list is, in the order of awkward's checks; 0 if none."""
    if stop < start:
        return 1
    if stop != start and stop > contentlength:
        return 2
    return 3 if regular_at(at, stop - start) < 0 else 0


@op(errors=ERRORS)
def pick_value(i, offsets, outindex, out, bits, index, starts, stops, x, size, contentlength, lists):
    # What is read depends on nothing that is: no load waits for whether there is one to pick.
    start, stop, at, there, rank = starts[i], stops[i], index[i], bit_at(bits, i), rank_at(bits, i)
    value = x[nearest(start + max(regular_at(at, stop - start), 0), size)]
    store_list_of_one(i, offsets, lists)
    outindex[i] = rank if there else -1
    if there:
        out[rank] = value
        error = wrong(start, stop, at, contentlength)
        if error != 0:
            return error, at


@op(errors=ERRORS)
def pick_place(i, offsets, outindex, mask, valid_when, index, starts, stops, contentlength, lists):
    start, stop, at, there = starts[i], stops[i], index[i], (mask[i] != 0) == (valid_when != 0)
    store_list_of_one(i, offsets, lists)
    outindex[i] = start + max(regular_at(at, stop - start), 0) if there else -1
    if there:
        error = wrong(start, stop, at, contentlength)
        if error != 0:
            return error, at


@op(errors=ERRORS)
def pick_place_through(
    i, offsets, outindex, mask, valid_when, index, starts, stops, through, size, contentlength, lists
):
    start, stop, at, there = starts[i], stops[i], index[i], (mask[i] != 0) == (valid_when != 0)
    place = through[nearest(start + max(regular_at(at, stop - start), 0), size)]
    store_list_of_one(i, offsets, lists)
    outindex[i] = place if there else -1
    if there:
        error = wrong(start, stop, at, contentlength)
        if error != 0:
            return error, at


def by_one_each(lists: Any, where: Any) -> Any:
    """Lists by a regular array of one index, or none, each, as `ak.argmax` and `ak.argmin` with `keepdims` give: of
    numbers in two launches and a wait for how many there are, of records in one launch; None of anything else.

    awkward goes by lists of options, whose valid ones it picks out first and puts back into their places at the end.
    """
    option, content = where._content, lists._content
    starts, stops = starts_and_stops(lists)
    n, nplike = lists.length, lists._backend.nplike
    if not (
        type(option) is ByteMaskedArray
        and where._size == 1
        and 0 < n == where.length == option.length == option._content.length
        and type(option._content) is NumpyArray
        and is_index64(option._content._data)
        and all(map(is_on_device, (option._mask._data, starts, stops)))
        and not (lists._parameters or where._parameters or option._parameters or option._content._parameters)
    ):
        return None
    mask, valid_when, index = option._mask._data, int(option._valid_when), option._content._data
    name = "awkward_ListArray_getitem_jagged_apply"
    offsets, outindex = nplike.empty(n + 1, dtype=np.int64), nplike.empty(n, dtype=np.int64)
    if is_plain(content):
        bits, total = bits_and_total(mask, NONZERO if valid_when else ZERO, n, nplike)
        out, x = room_for(content, int(to_scalar(total))), never_empty(content)
        call_as(
            name, transform,
            pick_value, n, offsets, outindex, out, bits, index, starts, stops, x, x.shape[0], content.length, n,
        )  # fmt: skip
        picked = filled_with(content, out)
    elif type(content) is RecordArray:
        picked = content
        call_as(
            name, transform,
            pick_place, n, offsets, outindex, mask, valid_when, index, starts, stops, content.length, n,
        )  # fmt: skip
    elif (
        type(content) is IndexedArray
        and type(content._content) is RecordArray
        and not content._parameters
        and is_index64(content._index._data)
        and content.length > 0
    ):
        picked, through = content._content, content._index._data
        call_as(
            name, transform,
            pick_place_through, n, offsets, outindex, mask, valid_when, index, starts, stops, through,
            through.shape[0], content.length, n,
        )  # fmt: skip
    else:
        return None
    return ListOffsetArray(
        Index64(offsets, nplike=nplike), IndexedOptionArray(Index64(outindex, nplike=nplike), picked)
    )
