"""Groups of neighbours: how long they are (`ak.num`, `ak.run_lengths`), and `ak.unflatten` by that."""

from __future__ import annotations

from typing import Any

import awkward as ak
import numpy as np
from awkward.contents import ListArray, ListOffsetArray, NumpyArray
from awkward.index import Index64

from primitives import op, run_boundaries, scan, segmented_transform, transform

from .._registry import call_as
from .arrays import repeat_count, to_scalar
from .device import Method, context_of, has_named_axis, is_own, is_plain, starts_and_stops
from .keeping import NONZERO, bits_and_offsets, kept_position
from .slices import fits


def num(original: Method) -> Method:
    """`ak.num` of lists: one difference, without awkward's walk to them."""

    def _impl(array: Any, axis: Any, highlevel: bool, behavior: Any, attrs: Any) -> Any:
        if isinstance(array, ak.Array) and type(axis) is int and axis == 1 and not has_named_axis(array, attrs):
            found = _lengths_of_lists(array._layout)
            if found is not None:
                return context_of((array,), behavior, attrs).wrap(found, highlevel=highlevel)
        return original(array, axis, highlevel, behavior, attrs)

    return _impl


def _lengths_of_lists(layout: Any) -> Any:
    if type(layout) not in (ListOffsetArray, ListArray):
        return None
    starts, stops = starts_and_stops(layout)
    if not (is_own(starts) and is_own(stops)):
        return None
    return NumpyArray(stops[: len(starts)] - starts, backend=layout._backend)


@op(errors=("structure imposed by 'counts' does not fit in the array or partition at axis=0",))
def store_offset_of_group(i, before, after, offsets):
    if i == 0:
        offsets[0] = 0
    offsets[i + 1] = after
    if after < before:
        return 1, after - before


def unflatten(original: Method) -> Method:
    """`ak.unflatten` of an array by counts that fit it: one scan, and one wait for whether they do.

    awkward looks the end up in the offsets, and reads what it finds piece by piece.
    """

    def _impl(array: Any, counts: Any, axis: Any, highlevel: bool, behavior: Any, attrs: Any) -> Any:
        if (
            type(axis) is int
            and axis == 0
            and isinstance(array, ak.Array)
            and isinstance(counts, ak.Array)
            and _are_counts(counts.layout)
            and array.layout._backend is counts.layout._backend
            and not has_named_axis(array, attrs)
            and not has_named_axis(counts)
        ):
            offsets = _offsets_of_groups(counts.layout)
            if offsets[-1] == array.layout.length:  # else there is an error to be raised
                context = context_of((array, counts), behavior, attrs)
                return context.wrap(ListOffsetArray(offsets, array.layout), highlevel=highlevel)
        return original(array, counts, axis, highlevel, behavior, attrs)

    return _impl


def _are_numbers(layout: Any, kinds: str) -> bool:
    """Whether a layout is of numbers, one or more."""
    return is_plain(layout) and layout._data.dtype.kind in kinds and layout.length > 0


def _are_counts(layout: Any) -> bool:
    return _are_numbers(layout, "iu") and layout._data.dtype != np.uint64


def _offsets_of_groups(counts: Any) -> Index64:
    nplike, n = counts._backend.nplike, counts.length
    offsets = nplike.empty(n + 1, dtype=np.int64)
    call_as("ak_unflatten", scan, n, (repeat_count, counts._data), (store_offset_of_group, offsets))
    return Index64(offsets, nplike=nplike)


@op
def length_of_run(i, out, starts, runs, n):
    out[i] = (starts[i + 1] if i + 1 < runs else n) - starts[i]


@op
def starts_run(segment, position, local, starting, x):
    starting[position] = local == 0 or x[position] != x[position - 1]


def run_lengths(original: Method) -> Method:
    """`ak.run_lengths` of numbers and of lists of numbers: one wait, for how many runs there are."""

    def _impl(array: Any, highlevel: bool, behavior: Any, attrs: Any) -> Any:
        layout: Any = array.layout if isinstance(array, ak.Array) else None
        lengths = _lengths_of_runs(layout)
        if lengths is None:
            return original(array, highlevel, behavior, attrs)
        return context_of((array,), behavior, attrs).wrap(lengths, highlevel=highlevel)

    return _impl


def _have_runs(layout: Any) -> bool:
    return _are_numbers(layout, "biuf") and layout.parameter("__array__") is None


def _lengths_of_runs(layout: Any) -> Any:
    if _have_runs(layout):
        return _runs_of_numbers(layout._data, layout._backend)
    if (
        type(layout) is ListOffsetArray
        and layout.parameter("__array__") is None
        and _have_runs(layout._content)
    ):
        x = layout._content._data
        if fits(layout._offsets, x) and layout._offsets[-1] > 0:
            return _runs_of_lists(layout._offsets.to64(), x, layout._backend)
    return None


def _runs_of_numbers(x: Any, backend: Any) -> NumpyArray:
    nplike, n = backend.nplike, x.shape[0]
    starts = nplike.empty(n, dtype=np.int64)
    total = nplike.empty(1, dtype=np.int64)
    run_boundaries(x, starts, total=total)
    return _lengths(starts, int(to_scalar(total)), n, backend)


def _runs_of_lists(offsets: Index64, x: Any, backend: Any) -> ListOffsetArray:
    """Where runs start is a mask, of which runs are as what a mask of lists keeps."""
    nplike, n = backend.nplike, int(offsets[-1])
    starting = nplike.empty(n, dtype=np.bool_)
    segmented_transform(offsets.data, n, starts_run, starting, x)
    bits, nextoffsets = bits_and_offsets(starting, NONZERO, offsets)
    runs = int(nextoffsets[-1])
    starts = nplike.empty(runs, dtype=np.int64)
    transform(kept_position, n, starts, bits)
    return ListOffsetArray(nextoffsets, _lengths(starts, runs, n, backend))


def _lengths(starts: Any, runs: int, n: int, backend: Any) -> NumpyArray:
    lengths = backend.nplike.empty(runs, dtype=np.int64)
    transform(length_of_run, runs, lengths, starts, runs, n)
    return NumpyArray(lengths, backend=backend)
