"""Unique elements of sorted ranges, and of sorted strings.

awkward's kernels move what they keep to the front of the array that they read. On the device an
element could be overwritten before others have read it, so what is kept goes to scratch memory
first, and from there to the front of the array in a launch of its own.
"""

from primitives import op, scan, scratch, segmented_reduce, segmented_transform, transform

from .._registry import kernel
from .reducers import merge_sum, start_value


@op
def count_kept(segment, position, local, counts, toptr):
    if local > 0:
        counts[position] = toptr[position] != toptr[position - 1]
    else:
        # awkward's kernel keeps the first, then compares it with itself: NaN is kept twice.
        counts[position] = 2 if toptr[position] != toptr[position] else 1


@op
def load_kept(i, value, counts, fromoffsets, ranges):
    if fromoffsets[0] <= i < fromoffsets[ranges]:
        value[0] = counts[i]


@op
def store_kept(i, before, after, ranks, kept, toptr, n):
    ranks[i] = before
    for k in range(before, min(after, n)):
        kept[k] = toptr[i]


@op
def move_kept(i, toptr, kept, ranks, n, tooffsets, fromoffsets, offsetslength):
    if i < min(ranks[n], n):
        toptr[i] = kept[i]
    if i < offsetslength:
        tooffsets[i] = min(ranks[fromoffsets[i]], n)


@kernel("awkward_unique_ranges", "awkward_unique_ranges_bool")
def unique_ranges(toptr, fromoffsets, offsetslength, tooffsets):
    """Keeps the first of every run of equal elements in a range, at the front of the array.

    Three launches: which are kept; a scan, which gives each its place in scratch memory; and back to
    the array. An element equals the one that awkward's kernel kept last if it equals the one before
    it. Where twice-kept NaN need more room than there is, the rest is cut off.
    """
    n = toptr.shape[0]
    ranges = offsetslength - 1
    counts = scratch(toptr, n, "int8")
    ranks = scratch(toptr, n + 1, "int64")
    kept = scratch(toptr, n, toptr.dtype)
    segmented_transform(fromoffsets, n, count_kept, counts, toptr, segments=ranges)
    scan(n + 1, (load_kept, counts, fromoffsets, ranges), (store_kept, ranks, kept, toptr, n))
    transform(
        move_kept, max(n, offsetslength), toptr, kept, ranks, n, tooffsets, fromoffsets, offsetslength
    )


@op
def run_begins(i, value, starts, startslength):
    if 0 < i < startslength:
        value[0] = starts[i] != starts[i - 1]


@op
def store_offset_of_run(i, before, after, tooffsets, length, fromoffsets, startslength):
    if i < startslength:
        if after < length:
            tooffsets[i] = fromoffsets[after]
        return
    further = i - startslength
    runs = after + 1 if startslength > 0 else 0
    if further == 0:
        tooffsets[startslength] = fromoffsets[length - 1]
    elif further > runs:
        tooffsets[startslength + further - runs] = fromoffsets[further]


@kernel("awkward_unique_offsets")
def unique_offsets(tooffsets, length, fromoffsets, starts, startslength):
    """Repeats offsets for runs of equal starts, which are empty ranges: one launch.

    A scan that counts runs, over all starts and then all offsets: offsets beyond the number of runs
    each take the next place, but the place after the last start gets the last offset.
    """
    scan(
        startslength + max(length, 1),
        (run_begins, starts, startslength),
        (store_offset_of_run, tooffsets, length, fromoffsets, startslength),
    )


@op
def step_differences(acc, segment, position, toptr, offsets):
    if segment > 0:
        begin = offsets[segment]
        before = offsets[segment - 1]
        if offsets[segment + 1] - begin == begin - before:
            acc[0] += toptr[position] != toptr[before + position - begin]


@op
def finish_differences(acc, segment, kept, offsets):
    differs = segment == 0 or acc[0] > 0
    if not differs:
        differs = offsets[segment + 1] - offsets[segment] != offsets[segment] - offsets[segment - 1]
    kept[segment] = differs


@op
def is_kept(i, value, kept, strings):
    if i < strings:
        value[0] = kept[i]


@op
def store_rank(i, before, after, ranks, strings, offsets, outoffsets, tolength):
    if i == 0:
        outoffsets[0] = offsets[0]
    if i < strings:
        ranks[i] = before
    else:
        tolength[0] = after + 1


@op
def kept_length(i, value, kept, offsets, strings):
    if i < strings and kept[i]:
        value[0] = offsets[i + 1] - offsets[i]


@op
def store_start(i, before, after, newstarts, kept, ranks, outoffsets, strings):
    newstarts[i] = before
    if i < strings and kept[i]:
        outoffsets[ranks[i] + 1] = after


@op
def gather_kept(segment, position, local, bytes, toptr, kept, newstarts):
    if kept[segment]:
        bytes[newstarts[segment] + local] = toptr[position]


@op
def move_bytes(i, toptr, bytes, newstarts, strings):
    if i < newstarts[strings]:
        toptr[i] = bytes[i]


@kernel("awkward_NumpyArray_unique_strings")
def unique_strings(toptr, offsets, offsetslength, outoffsets, tolength):
    """Keeps the first of every run of equal strings, at the front of the array.

    Five launches, six for long strings: which differ from the string before them, balanced over bytes
    (that is the string that awkward's kernel kept last, or equal to it); scans of the number of kept
    ones and of their lengths; and their bytes, to scratch memory and back.
    """
    n = toptr.shape[0]
    strings = offsetslength - 1
    kept = scratch(toptr, strings, "int8")
    ranks = scratch(toptr, strings, "int64")
    newstarts = scratch(toptr, strings + 1, "int64")
    bytes = scratch(toptr, n, "uint8")
    segmented_reduce(
        offsets,
        n,
        segments=strings,
        dtype="int64",
        start=(start_value, 0),
        step=(step_differences, toptr, offsets),
        merge=(merge_sum,),
        finish=(finish_differences, kept, offsets),
    )
    scan(
        strings + 1,
        (is_kept, kept, strings),
        (store_rank, ranks, strings, offsets, outoffsets, tolength),
    )
    scan(
        strings + 1,
        (kept_length, kept, offsets, strings),
        (store_start, newstarts, kept, ranks, outoffsets, strings),
    )
    segmented_transform(offsets, n, gather_kept, bytes, toptr, kept, newstarts, segments=strings)
    transform(move_bytes, n, toptr, bytes, newstarts, strings)
