"""Pairs of the elements of every list: written at once, without addresses of carries on the device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import awkward as ak
import numpy as np
from awkward._layout import maybe_posaxis
from awkward.contents import (
    IndexedArray,
    IndexedOptionArray,
    ListArray,
    ListOffsetArray,
    NumpyArray,
    RecordArray,
)
from awkward.index import Index, Index64

from primitives import device_function, offsets_from, op, reduce, segmented_transform

from .._registry import call_as
from ..kernels.listarray import pair_at, pairs_of
from .arrays import CudaArrays, to_scalar, within
from .device import (
    Method,
    context_of,
    filled_with,
    has_named_axis,
    is_on_device,
    is_plain,
    is_within,
    never_empty,
    room_for,
    span_of,
    starts_and_stops,
)


@op
def number_of_pairs_within(i, count, starts, stops, repeated):
    count[0] = pairs_of(max(stops[i] - starts[i], 0), repeated)


@op
def write_pair(segment, position, local, left, right, repeated, starts, stops):
    first, second = pair_at(segment, local, repeated, starts, stops)
    left[position] = first
    right[position] = second


@device_function
def copy_pair(left, right, i, x, j, n_x, y, k, n_y):
    """``left[i] = x[j]`` and ``right[i] = y[k]``, both read before either is written: a GPU waits for both at once."""
    first, second = x[within(j, n_x)], y[within(k, n_y)]
    left[i] = first
    right[i] = second


@op
def write_values_of_pair(segment, position, local, left, right, repeated, starts, stops, x, n):
    first, second = pair_at(segment, local, repeated, starts, stops)
    copy_pair(left, right, position, x, first, n, x, second, n)


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
        count = (number_of_pairs_within, starts, stops, int(replacement))
        call_as("awkward_ListArray_combinations_length", offsets_from, count, lists, offsets)
        nextoffsets = Index64(offsets, nplike=nplike)
        length = int(nextoffsets[-1])
        sides = (room_for(content, length), room_for(content, length))
        write: tuple[Any, ...] = (write_pair, *sides, int(replacement), starts, stops)
        if is_plain(content):
            x = never_empty(content)
            write = (write_values_of_pair, *write[1:], x, x.shape[0])
        call_as("awkward_ListArray_combinations", segmented_transform, offsets, length, *write)
        contents = [filled_with(content, side) for side in sides]
        return ListOffsetArray(
            nextoffsets,
            RecordArray(contents, recordlookup, parameters=parameters, backend=self._backend),
            parameters=self._parameters,
        )

    return _combinations


@op
def number_of_pairs(i, count, left, right):
    count[0] = (left[i + 1] - left[i]) * (right[i + 1] - right[i])


@device_function
def sides_at(segment, local, left, right):
    """The elements of two arrays of lists that a pair of their product has."""
    first, second = left[segment], right[segment]
    size = right[segment + 1] - second
    row = local // size
    return first + row, second + local - row * size


@op
def write_product(segment, position, local, first, second, left, right):
    at_left, at_right = sides_at(segment, local, left, right)
    first[position] = at_left
    second[position] = at_right


@op
def write_values_of_product(segment, position, local, first, second, left, right, x, n_x, y, n_y):
    at_left, at_right = sides_at(segment, local, left, right)
    copy_pair(first, second, position, x, at_left, n_x, y, at_right, n_y)


def cartesian(original: Method) -> Method:
    """`ak.cartesian` of two arrays of lists, along these: in two launches and a wait for their number, nested in three.

    awkward broadcasts both to a dimension more, and flattens that if it is not to be nested.
    """

    def _impl(
        arrays: Any, axis: Any, nested: Any, parameters: Any, with_name: Any, highlevel: bool, behavior: Any, attrs: Any
    ) -> Any:
        values = list(arrays.values()) if isinstance(arrays, Mapping) else arrays
        if (
            len(values) == 2
            and type(axis) is int
            and axis == 1
            and (nested is None or type(nested) is bool)
            and all(isinstance(value, ak.Array) and _can_be_multiplied(value) for value in values)
        ):
            left, right = (value.layout for value in values)
            if left.length == right.length:
                if with_name is not None:
                    parameters = {**(parameters or {}), "__record__": with_name}
                fields = list(arrays) if isinstance(arrays, Mapping) else None
                product = _product(left, right, bool(nested), fields, parameters)
                if product is not None:
                    return context_of(values, behavior, attrs).wrap(product, highlevel=highlevel)
        return original(arrays, axis, nested, parameters, with_name, highlevel, behavior, attrs)

    return _impl


CARRIED_AS_ONE = (RecordArray, IndexedArray, IndexedOptionArray, ListOffsetArray, ListArray)
"""Contents that have the same form after one carry as after several."""


def _can_be_multiplied(array: Any) -> bool:
    layout = array.layout
    content: Any = getattr(layout, "_content", None)
    return (
        type(layout) is ListOffsetArray
        and type(layout._backend.nplike) is CudaArrays
        and not layout._parameters
        and (type(content) in CARRIED_AS_ONE or (type(content) is NumpyArray and content._data.ndim == 1))
        and is_within(layout)
        and not has_named_axis(array)
    )


@op
def has_several(i, count, offsets):
    count[0] = offsets[i + 1] - offsets[i] > 1


@op
def write_row(segment, position, local, rows, offsets, right, first, last, pairs):
    """Where the pairs of an element of the left side start, and where the last ones end."""
    rows[position - first] = offsets[segment] + local * (right[segment + 1] - right[segment])
    if position == last - 1:
        rows[last - first] = pairs


def _product(left: Any, right: Any, nested: bool, fields: Any, parameters: Any) -> Any:
    backend, lists = left._backend, left.length
    nplike = backend.nplike
    left_offsets, right_offsets = left._offsets._data, right._offsets._data
    contents = (left._content, right._content)
    offsets = nplike.empty(lists + 1, dtype=np.int64)
    name = "awkward_ListArray_broadcast_tooffsets"
    call_as(name, offsets_from, (number_of_pairs, left_offsets, right_offsets), lists, offsets)
    nextoffsets = Index64(offsets, nplike=nplike)
    length = int(nextoffsets[-1])
    plain = all(map(is_plain, contents))
    if length == 0 or _may_stay_as_it_is(left, right, length, plain):
        return None
    sides = [nplike.empty(length, dtype=content._data.dtype if plain else np.int64) for content in contents]
    write: tuple[Any, ...] = (write_product, *sides, left_offsets, right_offsets)
    if plain:
        x, y = map(never_empty, contents)
        write = (write_values_of_product, *write[1:], x, x.shape[0], y, y.shape[0])
    call_as(name, segmented_transform, offsets, length, *write)
    made = [
        filled_with(content, side) if plain else content._carry(Index64(side, nplike=nplike), True)
        for side, content in zip(sides, contents, strict=True)
    ]
    pairs = RecordArray(made, fields, parameters=parameters, backend=backend)
    if not nested:
        return ListOffsetArray(nextoffsets, pairs)
    first, n = span_of(left)
    rows = nplike.empty(n + 1, dtype=np.int64)
    call_as(
        name, segmented_transform, left_offsets, n,
        write_row, rows, offsets, right_offsets, first, first + n, length,
    )  # fmt: skip
    lists_of_rows = left._offsets if first == 0 else Index(left_offsets - first, nplike=nplike)
    return ListOffsetArray(lists_of_rows, ListOffsetArray(Index64(rows, nplike=nplike), pairs))


def _may_stay_as_it_is(left: Any, right: Any, length: int, plain: bool) -> bool:
    """Whether awkward may leave a side of a product as it is, for nothing of it is repeated, which is another form."""
    n_left, n_right = (span_of(side)[1] for side in (left, right))
    if length in (n_left, n_right):
        return True
    if n_left > left.length or (plain and left._offsets.dtype == right._offsets.dtype == np.int64):
        return False
    several = left._backend.nplike.empty(1, dtype=np.int64)
    reduce(left.length, (has_several, left._offsets._data), several)
    return not to_scalar(several)
