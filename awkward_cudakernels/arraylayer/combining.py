"""Pairs of the elements of every list: written at once, without addresses of carries on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
from awkward._layout import maybe_posaxis
from awkward.contents import ListOffsetArray, RecordArray
from awkward.index import Index64

from primitives import op, scan, segmented_transform

from .._registry import call_as
from ..kernels.listarray import combinations_of_list, pair_at, store_before
from .arrays import CudaArrays, copy_element
from .device import Method, filled_with, is_on_device, is_plain, room_for, starts_and_stops


@op
def write_pair(segment, position, local, left, right, offsets, replacement, starts, stops):
    first, second = pair_at(position, segment, offsets, replacement, starts, stops)
    left[position] = first
    right[position] = second


@op
def write_values_of_pair(
    segment, position, local, left, right, offsets, replacement, starts, stops, x, contentlength
):
    first, second = pair_at(position, segment, offsets, replacement, starts, stops)
    copy_element(left, position, x, first, contentlength)
    copy_element(right, position, x, second, contentlength)


def listoffsetarray_combinations(original: Method) -> Method:
    """`ListOffsetArray._combinations`, which awkward calls for a `ListArray`, too: of two elements, in two
    launches and a wait for their number."""

    def _combinations(
        self: Any, n: int, replacement: bool, recordlookup: Any, parameters: Any, axis: int, depth: int
    ) -> Any:
        nplike = self._backend.nplike
        starts = stops = None
        if (
            n == 2
            and type(nplike) is CudaArrays
            and self.parameter("__array__") is None
            and maybe_posaxis(self, axis, depth) == depth
        ):
            starts, stops = starts_and_stops(self)
        if not (is_on_device(starts) and is_on_device(stops)):
            return original(self, n, replacement, recordlookup, parameters, axis, depth)
        lists, content = self.length, self._content
        offsets = nplike.empty(lists + 1, dtype=np.int64)
        count = (combinations_of_list, 2, int(replacement), starts, stops, lists)
        call_as(
            "awkward_ListArray_combinations_length", scan, lists + 1, count, (store_before, offsets)
        )
        nextoffsets = Index64(offsets, nplike=nplike)
        length = int(nextoffsets[-1])
        sides = (room_for(content, length), room_for(content, length))
        write: tuple[Any, ...] = (write_pair, *sides, offsets, int(replacement), starts, stops)
        if is_plain(content):
            write = (write_values_of_pair, *write[1:], content._data, content.length)
        call_as("awkward_ListArray_combinations", segmented_transform, offsets, length, *write)
        contents = [filled_with(content, side) for side in sides]
        return ListOffsetArray(
            nextoffsets,
            RecordArray(contents, recordlookup, parameters=parameters, backend=self._backend),
            parameters=self._parameters,
        )

    return _combinations
