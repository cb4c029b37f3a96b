"""ListArray: lists given by starts and stops, which may overlap, leave gaps and be out of order."""


import numpy as np

from primitives import (
    device_function,
    offsets_from,
    op,
    rank_at,
    ranked_bits,
    reduce,
    rsqrt,
    scan,
    scratch,
    segmented_transform,
    store_int64,
    transform,
    upper_bound,
)

from .._registry import kernel

SLICE_NONE = 2**63 - 1  # a missing start or stop of a slice
NO_ATTEMPT = 2**63 - 1


def rank_dtype(n):
    """The type of numbers up to `n`: of half the bytes where these are enough."""
    return "int32" if n < 2**31 else "int64"


# Emits of scans, which the kernels below share


@op
def store_before(i, before, after, offsets):
    offsets[i] = before


@op
def store_from_first(i, before, after, offsets, starts, length):
    """Offsets that begin where the first list does."""
    offsets[i] = before + (starts[0] if length > 0 else 0)


# Selecting from every list


@device_function
def regular_at(at, length):
    """An index, negative ones from the end, as a position in a list; -1 if it is out of range."""
    regular = at + length if at < 0 else at
    return regular if 0 <= regular < length else -1


@op(errors=("index out of range",))
def next_at(i, tocarry, fromstarts, fromstops, at):
    regular = regular_at(at, fromstops[i] - fromstarts[i])
    if regular < 0:
        tocarry[i] = 0
        return 1, at
    tocarry[i] = fromstarts[i] + regular


@kernel("awkward_ListArray_getitem_next_at")
def getitem_next_at(tocarry, fromstarts, fromstops, lenstarts, at):
    """``array[:, at]``: one launch."""
    transform(next_at, lenstarts, tocarry, fromstarts, fromstops, at)


@device_function
def bad_list(start, stop, lencontent):
    """1 if a list stops before it starts, 2 if it leaves its content, 0 if neither."""
    if stop < start:
        return 1
    return 2 if stop != start and stop > lencontent else 0


@op(errors=("stops[i] < starts[i]", "stops[i] > len(content)", "index out of range"))
def next_array(i, tocarry, toadvanced, starts, stops, fromarray, lenarray, lencontent):
    outer = i // max(lenarray, 1)
    j = i - outer * lenarray
    start = starts[outer]
    stop = stops[outer]
    at = fromarray[j] if j < lenarray else 0
    code = bad_list(start, stop, lencontent)
    regular = regular_at(at, stop - start)
    if j < lenarray:
        if code == 0 and regular < 0:
            code = 3
        tocarry[i] = start + regular if code == 0 else 0
        toadvanced[i] = j
    if code > 0:
        return code, at if code == 3 else NO_ATTEMPT, outer


@kernel("awkward_ListArray_getitem_next_array")
def getitem_next_array(
    tocarry, toadvanced, fromstarts, fromstops, fromarray, lenstarts, lenarray, lencontent
):
    """``array[:, fromarray]``: one launch, over lists and indexes; lists are checked if there is no
    index."""
    n = lenstarts * max(lenarray, 1)
    transform(
        next_array, n, tocarry, toadvanced, fromstarts, fromstops, fromarray, lenarray, lencontent
    )


@op(errors=("stops[i] < starts[i]", "stops[i] > len(content)", "index out of range"))
def next_array_advanced(i, tocarry, toadvanced, starts, stops, fromarray, fromadvanced, lencontent):
    start = starts[i]
    stop = stops[i]
    at = fromarray[fromadvanced[i]]
    code = bad_list(start, stop, lencontent)
    regular = regular_at(at, stop - start)
    if code == 0 and regular < 0:
        code = 3
    tocarry[i] = start + regular if code == 0 else 0
    toadvanced[i] = i
    if code > 0:
        return code, at if code == 3 else NO_ATTEMPT


@kernel("awkward_ListArray_getitem_next_array_advanced")
def getitem_next_array_advanced(
    tocarry, toadvanced, fromstarts, fromstops, fromarray, fromadvanced, lenstarts, lencontent
):
    """``array[rows, fromarray]``, one element of every list: one launch."""
    transform(
        next_array_advanced,
        lenstarts,
        tocarry,
        toadvanced,
        fromstarts,
        fromstops,
        fromarray,
        fromadvanced,
        lencontent,
    )


# Slicing every list


@device_function
def slice_bound(at, length, step, none_is_low):
    """The start or stop of a slice as a position in a list, -1 and `length` included where they
    make sense."""
    low = 0 if step > 0 else -1
    high = low + length
    if at == SLICE_NONE:
        return low if none_is_low else high
    return min(max(at + length if at < 0 else at, low), high)


@device_function
def first_of_slice(starts, stops, i, start, step):
    """The first element of a slice of a list, if it has one. Lists' lengths are not read where they do not matter."""
    first = starts[i]
    if step > 0:
        if start == SLICE_NONE:
            return first
        return first + start if start >= 0 else max(stops[i] + start, first)
    last = stops[i] - 1
    if start == SLICE_NONE:
        return last
    return last + 1 + start if start < 0 else min(first + start, last)


@device_function
def slice_length(length, start, stop, step):
    first = slice_bound(start, length, step, step > 0)
    last = slice_bound(stop, length, step, step < 0)
    span = last - first if step > 0 else first - last
    if span <= 0:
        return 0
    if step == 1 or step == -1:
        return span
    return (span - 1) // abs(step) + 1


@op
def sliced_length(i, count, fromstarts, fromstops, start, stop, step):
    count[0] = slice_length(fromstops[i] - fromstarts[i], start, stop, step)


@op
def length_of_range(i, count, fromstarts, fromstops, start, stop):
    # Without a branch, so that a thread's loads of many lists are under way together.
    length = fromstops[i] - fromstarts[i]
    first = min(max(start + (length if start < 0 else 0), 0), length)
    last = min(max(stop + (length if stop < 0 else 0), 0), length)
    count[0] = max(last - first, 0)


def sliced_lengths(starts, stops, start, stop, step):
    """What gives the lengths of ``array[:, start:stop:step]``: an op and its arguments."""
    if step == 1:
        return length_of_range, starts, stops, 0 if start == SLICE_NONE else start, stop
    return sliced_length, starts, stops, start, stop, step


@op
def sliced_element(segment, position, local, tocarry, fromstarts, fromstops, start, step):
    tocarry[position] = first_of_slice(fromstarts, fromstops, segment, start, step) + local * step


@kernel("awkward_ListArray_getitem_next_range")
def getitem_next_range(tooffsets, tocarry, fromstarts, fromstops, lenstarts, start, stop, step):
    """``array[:, start:stop:step]``: two launches, offsets from sliced lengths, then their
    elements."""
    offsets_from(sliced_lengths(fromstarts, fromstops, start, stop, step), lenstarts, tooffsets)
    segmented_transform(
        tooffsets,
        tocarry.shape[0],
        sliced_element,
        tocarry,
        fromstarts,
        fromstops,
        start,
        step,
        segments=lenstarts,
    )


@kernel("awkward_ListArray_getitem_next_range_carrylength")
def getitem_next_range_carrylength(
    carrylength, fromstarts, fromstops, lenstarts, start, stop, step
):
    """Number of elements in ``array[:, start:stop:step]``: one launch."""
    reduce(lenstarts, sliced_lengths(fromstarts, fromstops, start, stop, step), carrylength)


@op
def covered_length(i, total, offsets, length):
    total[0] = offsets[length] - offsets[0] if length > 0 else 0


@kernel("awkward_ListArray_getitem_next_range_counts")
def getitem_next_range_counts(total, fromoffsets, lenstarts):
    """Number of elements between the first and the last offset: one launch."""
    transform(covered_length, 1, total, fromoffsets, lenstarts)


@op
def spread(segment, position, local, out, values):
    out[position] = values[segment]


@kernel("awkward_ListArray_getitem_next_range_spreadadvanced")
def getitem_next_range_spreadadvanced(toadvanced, fromadvanced, fromoffsets, lenstarts):
    """Repeats a list's value for each of its elements: one launch, balanced over elements."""
    segmented_transform(
        fromoffsets, toadvanced.shape[0], spread, toadvanced, fromadvanced, segments=lenstarts
    )


# Slicing every list by a list of its own


@op
def jagged_length(i, count, slicestarts, slicestops, sliceinnerlen):
    length = slicestops[i] - slicestarts[i]
    broken = length != 0 and (length < 0 or slicestops[i] > sliceinnerlen)
    count[0] = 1 if broken else length


@op(
    errors=(
        "jagged slice's stops[i] < starts[i]",
        "jagged slice's offsets extend beyond its content",
        "stops[i] < starts[i]",
        "stops[i] > len(content)",
        "index out of range",
    )
)
def jagged_element(
    segment, position, local, tocarry, capacity, slicestarts, slicestops, sliceindex,
    sliceinnerlen, starts, stops, contentlen,
):  # fmt: skip
    if position < capacity:
        tocarry[position] = 0
    if slicestops[segment] < slicestarts[segment]:
        return 1
    if slicestops[segment] > sliceinnerlen:
        return 2, slicestops[segment]
    length = stops[segment] - starts[segment]
    if length < 0:
        return 3
    if length != 0 and stops[segment] > contentlen:
        return 4
    at = sliceindex[slicestarts[segment] + local]
    regular = regular_at(at, length)
    if regular < 0:
        return 5, at
    if position < capacity:
        tocarry[position] = starts[segment] + regular


@kernel("awkward_ListArray_getitem_jagged_apply")
def getitem_jagged_apply(
    tooffsets, tocarry, slicestarts, slicestops, sliceouterlen, sliceindex, sliceinnerlen,
    fromstarts, fromstops, contentlen,
):  # fmt: skip
    """``array[jagged indexes]``: two launches, offsets from the slices' lengths, then their
    elements.

    All errors are reported by the second, where those of lists and of elements meet in order. A
    broken slice has no elements that could report it, so it counts as one; the first of them
    follows valid elements, hence one element more than the output has.
    """
    count = (jagged_length, slicestarts, slicestops, sliceinnerlen)
    offsets_from(count, sliceouterlen, tooffsets)
    capacity = tocarry.shape[0]
    segmented_transform(
        tooffsets,
        capacity + 1,
        jagged_element,
        tocarry,
        capacity,
        slicestarts,
        slicestops,
        sliceindex,
        sliceinnerlen,
        fromstarts,
        fromstops,
        contentlen,
        segments=sliceouterlen,
    )


@op
def any_length(i, count, starts, stops, length):
    if i < length:
        count[0] = stops[i] - starts[i]


@kernel("awkward_ListArray_getitem_jagged_carrylen")
def getitem_jagged_carrylen(carrylen, slicestarts, slicestops, sliceouterlen):
    """Number of elements in all slices: one launch."""
    count = (any_length, slicestarts, slicestops, sliceouterlen)
    reduce(sliceouterlen, count, carrylen)


@op(errors=("jagged slice inner length differs from array inner length",))
def common_length(i, count, slicestarts, slicestops, fromstarts, fromstops, length):
    if i < length:
        slicecount = slicestops[i] - slicestarts[i]
        if slicecount != fromstops[i] - fromstarts[i]:
            return 1
        count[0] = slicecount


@kernel("awkward_ListArray_getitem_jagged_descend")
def getitem_jagged_descend(
    tooffsets, slicestarts, slicestops, sliceouterlen, fromstarts, fromstops
):
    """Offsets of lists that the slice has too, from its first start: one launch."""
    n = sliceouterlen
    scan(
        n + 1,
        (common_length, slicestarts, slicestops, fromstarts, fromstops, n),
        (store_from_first, tooffsets, slicestarts, n),
    )


@op(errors=("stops[i] < starts[i]", "cannot fit jagged slice into nested list"))
def expand(i, multistarts, multistops, singleoffsets, tocarry, starts, stops, jaggedsize):
    outer = i // max(jaggedsize, 1)
    j = i - outer * jaggedsize
    start = starts[outer]
    length = stops[outer] - start
    if j < jaggedsize:
        multistarts[i] = singleoffsets[j]
        multistops[i] = singleoffsets[j + 1]
        tocarry[i] = start + j if length == jaggedsize else 0
    if length < 0:
        return 1, NO_ATTEMPT, outer
    if length != jaggedsize:
        return 2, NO_ATTEMPT, outer


@kernel("awkward_ListArray_getitem_jagged_expand")
def getitem_jagged_expand(
    multistarts, multistops, singleoffsets, tocarry, fromstarts, fromstops, jaggedsize, length
):
    """One jagged slice repeated for every list of its length: one launch, over elements."""
    n = length * max(jaggedsize, 1)
    transform(
        expand,
        n,
        multistarts,
        multistops,
        singleoffsets,
        tocarry,
        fromstarts,
        fromstops,
        jaggedsize,
    )


@op
def is_valid(j, count, missing, length):
    if j < length and missing[j] >= 0:
        count[0] = 1


@op(
    errors=(
        "jagged slice's stops[i] < starts[i]",
        "jagged slice's offsets extend beyond its content",
    )
)
def checked_valid(i, count, slicestarts, slicestops, valid, missinglength):
    start = slicestarts[i]
    stop = slicestops[i]
    if start != stop:
        if stop < start:
            return 1
        if stop > missinglength:
            return 2, stop
        count[0] = rank_at(valid, stop) - rank_at(valid, start)


@kernel("awkward_ListArray_getitem_jagged_numvalid")
def getitem_jagged_numvalid(numvalid, slicestarts, slicestops, length, missing, missinglength):
    """Number of valid elements in all slices: two launches, the ranks of valid elements, then
    a difference of two of them for every slice."""
    valid = scratch(missing, missinglength // 16 + 1, "int64")
    ranked_bits((is_valid, missing, missinglength), missinglength + 1, valid)
    count = (checked_valid, slicestarts, slicestops, valid, missinglength)
    reduce(length, count, numvalid)


@op
def both_lengths(i, count, slicestarts, slicestops, length, valid_before, unit):
    if i < length:
        start, stop = slicestarts[i], slicestops[i]
        valid = valid_before[stop] - valid_before[start] if stop > start else 0
        count[0] = (stop - start) * unit + valid


@op
def store_both_offsets(i, before, after, tosmalloffsets, tolargeoffsets, slicestarts, length, unit):
    first = slicestarts[0] if length > 0 else 0
    large = before // unit
    tosmalloffsets[i] = first + before - large * unit
    tolargeoffsets[i] = first + large


@op
def valid_element(
    segment, position, local, tocarry, tosmalloffsets, slicestarts, slicestops, valid_before
):
    start = slicestarts[segment]
    rank = valid_before[start] + local
    found = start + local  # where nothing is missing before it
    if valid_before[found + 1] <= rank:
        found = upper_bound(valid_before, found + 1, slicestops[segment] + 1, rank) - 1
    tocarry[position - tosmalloffsets[0]] = found


@kernel("awkward_ListArray_getitem_jagged_shrink")
def getitem_jagged_shrink(
    tocarry, tosmalloffsets, tolargeoffsets, slicestarts, slicestops, length, missing
):
    """The valid elements of all slices, with offsets for those and for all: three launches.

    How many valid elements come before each element of `missing`; the two kinds of offsets, which one
    scan adds up in two parts of its numbers: there are no more valid elements than `tocarry` has; then
    every output looks for the element of its slice that has as many valid ones before it.
    """
    n = missing.shape[0]
    valid_before = scratch(missing, n + 1, rank_dtype(n))
    scan(n + 1, (is_valid, missing, n), (store_before, valid_before), dtype="flag")
    unit = 1 << tocarry.shape[0].bit_length()
    scan(
        length + 1,
        (both_lengths, slicestarts, slicestops, length, valid_before, unit),
        (store_both_offsets, tosmalloffsets, tolargeoffsets, slicestarts, length, unit),
    )
    segmented_transform(
        tosmalloffsets,
        tocarry.shape[0],
        valid_element,
        tocarry,
        tosmalloffsets,
        slicestarts,
        slicestops,
        valid_before,
        segments=length,
    )


# Offsets, positions and bounds


@op
def local_index(segment, position, local, toindex):
    toindex[position] = local


@kernel("awkward_ListArray_localindex")
def localindex(toindex, offsets, length):
    """Position of every element in its list: one launch, balanced over elements."""
    segmented_transform(offsets, toindex.shape[0], local_index, toindex, segments=length)


@op(errors=("stops[i] < starts[i]",))
def list_length(i, count, fromstarts, fromstops):
    if fromstops[i] < fromstarts[i]:
        return 1
    count[0] = fromstops[i] - fromstarts[i]


@kernel("awkward_ListArray_compact_offsets")
def compact_offsets(tooffsets, fromstarts, fromstops, length):
    """Offsets of the lists laid end to end: one launch, a scan of their lengths."""
    offsets_from((list_length, fromstarts, fromstops), length, tooffsets)


@op(
    errors=(
        "stops[i] > len(content)",
        "broadcast's offsets must be monotonically increasing",
        "cannot broadcast nested list",
    )
)
def check_broadcast(i, fromoffsets, fromstarts, fromstops, lencontent):
    length = fromstops[i] - fromstarts[i]
    if length != 0 and fromstops[i] > lencontent:
        return 1, fromstops[i]
    count = fromoffsets[i + 1] - fromoffsets[i]
    if count < 0:
        return 2
    if count != length:
        return 3


@op
def list_element(segment, position, local, tocarry, fromoffsets, fromstarts):
    tocarry[position - fromoffsets[0]] = fromstarts[segment] + local


@kernel("awkward_ListArray_broadcast_tooffsets")
def broadcast_tooffsets(tocarry, fromoffsets, offsetslength, fromstarts, fromstops, lencontent):
    """The elements of lists that must have the lengths of other offsets: two launches, checks of
    the lists, then their elements."""
    n = max(offsetslength - 1, 0)
    transform(check_broadcast, n, fromoffsets, fromstarts, fromstops, lencontent)
    segmented_transform(
        fromoffsets,
        tocarry.shape[0],
        list_element,
        tocarry,
        fromoffsets,
        fromstarts,
        segments=n,
    )


@op
def shift_list(i, tostarts, tostartsoffset, tostops, tostopsoffset, fromstarts, fromstops, base):
    tostarts[tostartsoffset + i] = fromstarts[i] + base
    tostops[tostopsoffset + i] = fromstops[i] + base


@kernel("awkward_ListArray_fill")
def fill(tostarts, tostartsoffset, tostops, tostopsoffset, fromstarts, fromstops, length, base):
    """Appends lists whose content is appended at `base`: one launch."""
    transform(
        shift_list,
        length,
        tostarts,
        tostartsoffset,
        tostops,
        tostopsoffset,
        fromstarts,
        fromstops,
        base,
    )


@op(errors=("start[i] > stop[i]", "start[i] < 0", "stop[i] > len(content)"))
def check_bounds(i, starts, stops, lencontent):
    if starts[i] != stops[i]:
        if starts[i] > stops[i]:
            return 1
        if starts[i] < 0:
            return 2
        if stops[i] > lencontent:
            return 3


@kernel("awkward_ListArray_validity")
def validity(starts, stops, length, lencontent):
    """Whether all lists lie inside the content: one launch."""
    transform(check_bounds, length, starts, stops, lencontent)


# Padding. Where lists are given by offsets, these are both `starts` and `stops`, and `shift` is 1.


@op
def length_or_zero(i, shortest, fromstarts, fromstops, lenstarts):
    shortest[0] = fromstops[i] - fromstarts[i] if i < lenstarts else 0


@kernel("awkward_ListArray_min_range")
def min_range(tomin, fromstarts, fromstops, lenstarts):
    """Length of the shortest list, 0 if there is none: one launch."""
    shortest = (length_or_zero, fromstarts, fromstops, lenstarts)
    reduce(max(lenstarts, 1), shortest, tomin, combine="minimum")


@op
def padded_length(i, count, starts, stops, shift, length, target):
    if i < length:
        count[0] = max(stops[i + shift] - starts[i], target)


@op
def padded_element(segment, position, local, toindex, starts, stops, shift):
    length = stops[segment + shift] - starts[segment]
    toindex[position] = starts[segment] + local if local < length else -1


@kernel("awkward_ListArray_rpad_and_clip_length_axis1")
def rpad_and_clip_length_axis1(tomin, fromstarts, fromstops, target, lenstarts):
    """Number of elements when lists shorter than `target` are padded: one launch."""
    count = (padded_length, fromstarts, fromstops, 0, lenstarts, target)
    reduce(lenstarts, count, tomin)


@op
def store_list(i, before, after, offsets, tostarts, tostops, length):
    offsets[i] = before
    if i < length:
        tostarts[i] = before
        tostops[i] = after


@kernel("awkward_ListArray_rpad_axis1")
def rpad_axis1(toindex, fromstarts, fromstops, tostarts, tostops, target, length):
    """Pads lists shorter than `target` with None: two launches, a scan of the padded lengths, then
    the elements."""
    offsets = scratch(toindex, length + 1, "int64")
    scan(
        length + 1,
        (padded_length, fromstarts, fromstops, 0, length, target),
        (store_list, offsets, tostarts, tostops, length),
    )
    segmented_transform(
        offsets, toindex.shape[0], padded_element, toindex, fromstarts, fromstops, 0
    )


# Combinations

@device_function
def binomial(m, k):
    """The number of subsets of k of m elements."""
    if k > m:
        return 0
    if k == 1:
        return m
    if k == 2:
        return m * (m - 1) // 2
    smaller = min(k, m - k)
    result = 1
    for j in range(1, smaller + 1):
        result = result * (m - smaller + j) // j
    return result


@device_function
def largest_binomial(rank, k, high):
    """The largest m below `high` for which no more than `rank` subsets of k exist."""
    if k == 1:
        return rank
    if k == 2:
        # Less than one away, up to 2**21 elements: the pairs of more fill no memory.
        square = np.float32(1 + 8 * rank)
        m = np.int64((np.float32(1) + square * rsqrt(square)) * np.float32(0.5))
        if m * (m - 1) >> 1 > rank:
            m -= 1
        elif m * (m + 1) >> 1 <= rank:
            m += 1
        return m
    low = k - 1
    while high - low > 1:
        middle = (low + high) // 2
        if binomial(middle, k) <= rank:
            low = middle
        else:
            high = middle
    return low


@op
def combinations_of_list(i, count, n, replacement, starts, stops, length):
    if i < length:
        size = stops[i] - starts[i]
        count[0] = binomial(size + n - 1 if replacement else size, n)


@kernel("awkward_ListArray_combinations_length")
def combinations_length(totallen, tooffsets, n, replacement, starts, stops, length):
    """Offsets and number of all lists' combinations of n elements: one launch."""
    scan(
        length + 1,
        (combinations_of_list, n, replacement, starts, stops, length),
        (store_before, tooffsets),
        total=totallen,
    )


@device_function
def pairs_of(size, repeated):
    """The number of pairs of so many elements; `repeated`: 1 if both may be the same one, else 0."""
    return size * (size - 1 + 2 * repeated) >> 1


@device_function
def pair_at(segment, local, repeated, starts, stops):
    """The two elements of a combination: as of `write_combination`, for most of the uses."""
    first, end = starts[segment], stops[segment]
    last = end - 1 + repeated
    rank = pairs_of(end - first, repeated) - 1 - local
    digit = largest_binomial(rank, 2, 0)
    return last - digit, last - (rank - (digit * (digit - 1) >> 1)) - repeated


@op
def write_combination(segment, position, local, tocarry, offsets, n, replacement, starts, stops):
    if n == 2:
        first, second = pair_at(segment, local, 1 if replacement else 0, starts, stops)
        store_int64(tocarry[0], position, first)
        store_int64(tocarry[1], position, second)
        return
    start = starts[segment]
    size = stops[segment] - start + (n - 1 if replacement else 0)
    # Counted from the last combination, of which the complements of the indexes are digits in
    # the combinatorial number system:
    # https://en.wikipedia.org/wiki/Combinatorial_number_system
    rank = offsets[segment + 1] - 1 - position
    digit = size
    k = 0
    while k < n:
        digit = largest_binomial(rank, n - k, digit)
        rank -= binomial(digit, n - k)
        index = size - 1 - digit - (k if replacement else 0)
        store_int64(tocarry[k], position, start + index)
        k += 1


@kernel("awkward_ListArray_combinations")
def combinations(tocarry, toindex, fromindex, n, replacement, starts, stops, length):
    """All lists' combinations of n elements, in lexicographic order: two launches.

    Offsets are counted again, then every combination is made from its number in its list, balanced over
    combinations. How many there are is known on the device only.
    """
    offsets = scratch(toindex, length + 1, "int64")
    scan(
        length + 1,
        (combinations_of_list, n, replacement, starts, stops, length),
        (store_before, offsets),
    )
    segmented_transform(
        offsets, None, write_combination, tocarry, offsets, n, replacement, starts, stops, segments=length
    )
