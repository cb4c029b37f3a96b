"""Concatenation of lists: values and offsets are written at once to where they belong."""

from __future__ import annotations

from typing import Any

import awkward as ak
import numpy as np
from awkward._parameters import parameters_intersect
from awkward.contents import ListOffsetArray, NumpyArray
from awkward.index import Index64

from primitives import op, segmented_transform, transform

from .._known import remember_ends
from .arrays import CudaArrays, within
from .carries import as_one, can_be_one, room_for_both
from .device import Method, context_of, has_named_axis, is_plain, is_within, never_empty, span_of


@op
def sum_of_offsets(i, out, left, right, skipped):
    out[i] = left[i] + right[i] - skipped


@op
def value_of_either(segment, position, local, out, left, right, first_left, first_right, x, n_x, y, n_y):
    # Of both sides, the elements that are before those of this list's right part, and its left part.
    before_right = left[segment + 1] - first_left
    before_left = right[segment] - first_right
    # One store for both sides, whose elements are side by side.
    if position < before_right + before_left:
        value = x[within(first_left + position - before_left, n_x)]
    else:
        value = y[within(first_right + position - before_right, n_y)]
    out[position] = value


def concatenate(original: Method) -> Method:
    """`ak.concatenate` of two arrays of lists of numbers, list by list: in two launches, without a wait.

    awkward goes by a union: tags and indexes of all elements. The sum of two arrays of offsets is one of
    offsets, and tells of every element which side it is of, and where it is there.
    """

    def _impl(arrays: Any, axis: Any, mergebool: Any, highlevel: bool, behavior: Any, attrs: Any) -> Any:
        if (
            type(arrays) is list
            and len(arrays) == 2
            and type(axis) is int
            and axis in (1, -1)
            and all(isinstance(array, ak.Array) and has_lists_of_numbers(array) for array in arrays)
        ):
            left, right = (array.layout for array in arrays)
            if left.length == right.length and can_be_one(left._content, right._content, mergebool):
                context = context_of(arrays, behavior, attrs)
                return context.wrap(_list_by_list(left, right), highlevel=highlevel)
        return original(arrays, axis, mergebool, highlevel, behavior, attrs)

    return _impl


def has_lists_of_numbers(array: Any) -> bool:
    """Whether it has lists of numbers, on the device and within their content, without names and parameters."""
    layout = array.layout
    return (
        type(layout) is ListOffsetArray
        and type(layout._backend.nplike) is CudaArrays
        and not layout._parameters
        and is_plain(layout._content)
        and is_within(layout)
        and not has_named_axis(array)
    )


def _list_by_list(left: Any, right: Any) -> Any:
    backend, lists = left._backend, left.length
    nplike = backend.nplike
    (first_left, first_right), (n_left, n_right) = zip(*map(span_of, (left, right)), strict=True)
    total = n_left + n_right
    left_offsets, right_offsets = left._offsets.to64().data, right._offsets.to64().data
    offsets = nplike.empty(lists + 1, dtype=np.int64)
    transform(sum_of_offsets, lists + 1, offsets, left_offsets, right_offsets, first_left + first_right)
    first, second = left._content, right._content
    values = room_for_both(first, second, total)
    x, y = (nplike.asarray(never_empty(content), dtype=values.dtype) for content in (first, second))
    segmented_transform(
        offsets, total, value_of_either, values, left_offsets, right_offsets,
        first_left, first_right, x, x.shape[0], y, y.shape[0],
    )  # fmt: skip
    return ListOffsetArray(offsets_to(offsets, 0, total, nplike), as_one(first, second, values, None))


def offsets_to(array: Any, first: int, last: int, nplike: Any) -> Index64:
    """An index whose ends the host knows without reading them."""
    index = Index64(array, nplike=nplike)
    remember_ends(index, first, last)
    return index


@op
def shifted_offset(i, out, offsets, shift):
    out[i] = offsets[i] + shift


def listoffsetarray_mergemany(original: Method) -> Method:
    """`ListOffsetArray._mergemany` of arrays that are all such: a launch for the offsets of each, and no wait.

    awkward writes starts and stops, compares them to find that they are offsets, and copies them.
    """

    def _mergemany(self: Any, others: Any) -> Any:
        parts = [self, *others]
        found = _one_after_another(parts) if others and all(_is_like(self, part) for part in parts) else None
        return original(self, others) if found is None else found

    return _mergemany


def _is_like(first: Any, part: Any) -> bool:
    return (
        type(part) is ListOffsetArray
        and part._backend is first._backend
        and type(part._backend.nplike) is CudaArrays
        and part._offsets.dtype == first._offsets.dtype
        and is_within(part)
    )


def _one_after_another(parts: list[Any]) -> Any:
    """The lists of all parts; None if there are none, or if awkward would carry a content to close gaps.

    Gaps are what a content has outside of its lists. Of numbers it is not copied.
    """
    contents = [part._content for part in parts]
    cut = all(type(content) is NumpyArray for content in contents)
    placed: list[tuple[Any, int, int]] = []
    joined, start, lists = [], 0, 0
    for part, content in zip(parts, contents, strict=True):
        first, n = span_of(part)
        if cut:
            content = content._getitem_range(first, first + n)
        if part.length:
            place = start if cut else start + first
            if placed and placed[-1][2] != place:
                return None
            placed.append((part, place, place + n))
        joined.append(content)
        start += content.length
        lists += part.length
    if not placed:
        return None
    nplike = parts[0]._backend.nplike
    offsets = nplike.empty(lists + 1, dtype=np.int64)
    at = 0
    for part, place, _ in placed:  # the last offset of one is the first of the next: both write it
        n = part.length
        shift = place - int(part._offsets[0])
        transform(shifted_offset, n + 1, offsets[at : at + n + 1], part._offsets._data, shift)
        at += n
    parameters = parts[0]._parameters
    for part in parts:
        parameters = parameters_intersect(parameters, part._parameters)
    return ListOffsetArray(
        offsets_to(offsets, placed[0][1], placed[-1][2], nplike),
        joined[0]._mergemany(joined[1:]),
        parameters=parameters,
    )
