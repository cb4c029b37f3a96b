"""Lists to options and back: `ak.firsts` and `ak.singletons`, each element looked at once."""

from __future__ import annotations

from typing import Any

import awkward as ak
import numpy as np
from awkward.contents import IndexedOptionArray, ListArray, ListOffsetArray
from awkward.index import Index64

from primitives import offsets_from, op, transform

from .._registry import call_as
from ..kernels.indexedarray import is_some
from .arrays import CudaArrays
from .device import (
    Method,
    context_of,
    filled_with,
    has_named_axis,
    is_on_device,
    is_plain,
    room_for,
    starts_and_stops,
)


@op
def start_or_none(i, index, starts, stops):
    index[i] = -1
    if starts[i] != stops[i]:
        index[i] = starts[i]


def firsts(original: Method) -> Method:
    """`ak.firsts` of lists: an index of where they start, in one launch and without a wait.

    awkward copies the starts, compares them with the stops, and assigns by a mask.
    """

    def _impl(array: Any, axis: Any, highlevel: bool, behavior: Any, attrs: Any) -> Any:
        layout: Any = array.layout if isinstance(array, ak.Array) else None
        if (
            type(axis) is int
            and axis == 1
            and type(layout) in (ListOffsetArray, ListArray)
            and type(layout._backend.nplike) is CudaArrays
            and not has_named_axis(array, attrs)
        ):
            starts, stops = starts_and_stops(layout)
            if is_on_device(starts) and is_on_device(stops) and starts.shape == stops.shape:
                nplike = layout._backend.nplike
                index = nplike.empty(layout.length, dtype=np.int64)
                transform(start_or_none, layout.length, index, starts, stops)
                found = IndexedOptionArray.simplified(Index64(index, nplike=nplike), layout._content)
                return context_of((array,), behavior, attrs).wrap(found, highlevel=highlevel)
        return original(array, axis, highlevel, behavior, attrs)

    return _impl


@op(errors=("index out of range",))
def single_value(i, values, offsets, index, x, n):
    j, at = index[i], offsets[i]
    if j >= n:
        values[at] = 0
        return 1, j
    if j >= 0:
        values[at] = x[j]


@op(errors=("index out of range",))
def single_position(i, carry, offsets, index, n):
    j, at = index[i], offsets[i]
    if j >= n:
        carry[at] = 0
        return 1, j
    if j >= 0:
        carry[at] = j


def singletons(original: Method) -> Method:
    """`ak.singletons` of an index with Nones: two launches, and a wait for how many values there are."""

    def _impl(array: Any, axis: Any, highlevel: bool, behavior: Any, attrs: Any) -> Any:
        layout: Any = array.layout if isinstance(array, ak.Array) else None
        if (
            type(axis) is int
            and axis == 0
            and type(layout) is IndexedOptionArray
            and type(layout._backend.nplike) is CudaArrays
            and is_on_device(layout._index._data)
            and layout.length > 0
            and not has_named_axis(array, attrs)
        ):
            return context_of((array,), behavior, attrs).wrap(_singletons(layout), highlevel=highlevel)
        return original(array, axis, highlevel, behavior, attrs)

    return _impl


def _singletons(layout: Any) -> Any:
    nplike, content, n = layout._backend.nplike, layout._content, layout.length
    index = layout._index._data
    offsets = nplike.empty(n + 1, dtype=np.int64)
    offsets_from((is_some, index), n, offsets, dtype="flag")
    nextoffsets = Index64(offsets, nplike=nplike)
    found = room_for(content, int(nextoffsets[-1]))
    store: tuple[Any, ...] = (single_position, found, offsets, index, content.length)
    if is_plain(content):
        store = (single_value, found, offsets, index, content._data, content.length)
    call_as(_PROJECT, transform, *store[:1], n, *store[1:])
    return ListOffsetArray(nextoffsets, filled_with(content, found))


_PROJECT = "awkward_IndexedArray_flatten_nextcarry"
"""awkward's kernel for this, whose errors it has."""
