"""Sorting: of numbers in lists, of strings in lists, and of strings by themselves."""

import numpy as np

from primitives import (
    device_function,
    offsets_from,
    op,
    order_of,
    scan,
    scratch,
    segmented_argsort,
    segmented_transform,
    transform,
)

from .._registry import kernel


@op
def number_rest(i, toptr, offsets, segments):
    if i < offsets[0] or i >= offsets[segments]:
        toptr[i] = i


@kernel("awkward_argsort")
def argsort(toptr, fromptr, length, offsets, offsetslength, ascending, stable):
    """Three launches: what no list holds is numbered, then `segmented_argsort`. Always stable."""
    segments = max(offsetslength - 1, 0)
    transform(number_rest, length, toptr, offsets, segments)
    less = order_of(fromptr, ascending)
    segmented_argsort(offsets, toptr, less, elements=length, segments=segments)


@op
def take_sorted(i, toptr, fromptr, order, offsets, segments, length):
    if i < offsets[0]:
        toptr[i] = fromptr[i]
    elif i < offsets[segments]:
        toptr[i] = fromptr[order[i]]


@kernel("awkward_sort")
def sort(toptr, fromptr, length, offsets, offsetslength, ascending, stable):
    """Three launches: `segmented_argsort`, then a gather. Always stable."""
    segments = max(offsetslength - 1, 0)
    order = scratch(fromptr, length, np.int64)
    less = order_of(fromptr, ascending)
    segmented_argsort(offsets, order, less, absolute=True, elements=length, segments=segments)
    if offsetslength > 0:
        transform(take_sorted, length, toptr, fromptr, order, offsets, segments, length)


@op
def fill(i, out, value):
    out[i] = value


@op
def is_new_parent(i, value, parents):
    if i == 0 or parents[i] != parents[i - 1]:
        value[0] = 1


@op
def store_start(i, before, after, starts):
    if after != before:
        starts[before] = i


@device_function
def compare_as_c_strings(data, left, left_stop, right, right_stop):
    """As C's strncmp: negative, zero or positive; both end at a common zero byte."""
    for _ in range(min(left_stop - left, right_stop - right)):
        if data[left] != data[right]:
            return data[left] - data[right]
        if data[left] == 0:
            return 0
        left += 1
        right += 1
    return 0


@op
def string_before(left, right, result, data, starts, stops, ascending):
    order = compare_as_c_strings(data, starts[left], stops[left], starts[right], stops[right])
    if order == 0:
        order = (stops[left] - starts[left]) - (stops[right] - starts[right])
    if ascending:
        result[0] = order < 0
    else:
        # awkward's descending order is the ascending one reversed, equal strings too.
        result[0] = order > 0 or (order == 0 and left > right)


@kernel("awkward_ListOffsetArray_argsort_strings")
def argsort_strings(
    tocarry, fromparents, length, stringdata, stringstarts, stringstops, is_stable, is_ascending, is_local
):
    """Four launches: runs of equal parents become segments (a scan; as many as there are strings,
    the rest of them empty), then `segmented_argsort` with a comparison of strings."""
    offsets = scratch(tocarry, length + 1, np.int64)
    transform(fill, length + 1, offsets, length)
    scan(length, (is_new_parent, fromparents), (store_start, offsets), dtype="flag")
    less = (string_before, stringdata, stringstarts, stringstops, is_ascending)
    segmented_argsort(offsets, tocarry, less, absolute=not is_local, elements=length)


@op
def one_segment(i, out, n):
    out[i] = i * n


@op
def word_before(left, right, result, data, offsets, ascending):
    first = left if ascending else right
    second = right if ascending else left
    a = offsets[first]
    b = offsets[second]
    a_stop = offsets[first + 1]
    b_stop = offsets[second + 1]
    while a < a_stop and b < b_stop and data[a] == data[b]:
        a += 1
        b += 1
    if b >= b_stop:
        result[0] = False
    else:
        result[0] = a >= a_stop or data[a] < data[b]


@op
def word_length(i, count, order, offsets):
    count[0] = max(offsets[order[i] + 1] - offsets[order[i]], 0)


@op
def copy_word(word, position, local, toptr, fromptr, order, offsets):
    toptr[position] = fromptr[offsets[order[word]] + local]


@kernel("awkward_NumpyArray_sort_asstrings_uint8")
def sort_asstrings(toptr, fromptr, offsets, offsetslength, outoffsets, ascending, stable):
    """Five launches: all words are one segment, `segmented_argsort`, their lengths in the new order
    to offsets (a scan), and a copy balanced over bytes."""
    words = max(offsetslength - 1, 0)
    whole = scratch(offsets, 2, np.int64)
    transform(one_segment, 2, whole, words)
    order = scratch(offsets, words, np.int64)
    segmented_argsort(whole, order, (word_before, fromptr, offsets, ascending))
    offsets_from((word_length, order, offsets), words, outoffsets)
    segmented_transform(
        outoffsets, toptr.shape[0], copy_word, toptr, fromptr, order, offsets, segments=words
    )
