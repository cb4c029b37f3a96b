"""NumpyArray: flat arrays, and strings as ranges of their bytes."""

from primitives import (
    device_function,
    op,
    reduce,
    scan,
    scratch,
    segmented_reduce,
    segmented_transform,
    transform,
)

from .._registry import kernel
from .reducers import merge_pair, start_pair


@op
def store_index(i, toindex):
    toindex[i] = i


@kernel("awkward_localindex")
def localindex(toindex, length):
    """0, 1, 2, ...: one launch."""
    transform(store_index, length, toindex)


@op
def padded_byte(k, toptr, fromptr, fromoffsets, target):
    i = k // target
    position = fromoffsets[i] + (k - i * target)
    toptr[k] = fromptr[position] if position < fromoffsets[i + 1] else 0


@kernel("awkward_NumpyArray_pad_zero_to_length")
def pad_zero_to_length(fromptr, fromoffsets, offsetslength, target, toptr):
    """Every list padded with zeros to `target` elements: one launch over the elements written."""
    n = max(offsetslength - 1, 0) * target
    transform(padded_byte, n, toptr, fromptr, fromoffsets, target)


# Two equal ranges. awkward's kernel looks at all pairs of ranges but the last, and what it answers is
# whether the last pair of equal lengths has equal elements. That pair starts at the last range i with
# a later one of its length, and the ranges after i have all different lengths. Different lengths of k
# ranges sum up to at least 0 + 1 + ... + k - 1, so only the last sqrt(2 * sum of lengths) ranges need
# looking at, each against the ones after it: no more steps in all than twice the number of elements.


@op
def range_length(i, value, fromstarts, fromstops):
    value[0] = fromstops[i] - fromstarts[i]


@op
def pair_of_equal_lengths(i, value, fromstarts, fromstops, n, elements):
    value[0] = -1
    after = n - 1 - i
    if after * (after - 1) // 2 <= elements[0]:
        length = fromstops[i] - fromstarts[i]
        for j in range(i + 1, n):
            if fromstops[j] - fromstarts[j] == length:
                value[0] = i * n + j
                break


@op
def element_differs(k, value, tmpptr, fromstarts, fromstops, n, pair):
    if n > 0 and pair[0] >= 0:
        left = pair[0] // n
        right = pair[0] - left * n
        if k < fromstops[left] - fromstarts[left]:
            value[0] = tmpptr[fromstarts[left] + k] != tmpptr[fromstarts[right] + k]


@op
def store_equal(k, before, after, toequal, n, pair, last):
    if k == last:
        toequal[0] = n > 0 and pair[0] >= 0 and after == 0


@kernel("awkward_NumpyArray_subrange_equal", "awkward_NumpyArray_subrange_equal_bool")
def subrange_equal(tmpptr, fromstarts, fromstops, length, toequal):
    """Whether the last two ranges of one length are equal, the very last left out: three launches.

    The sum of the lengths, the pair, and the number of elements in which it differs.
    """
    n = max(length - 1, 0)
    elements = scratch(tmpptr, 1, "int64")
    pair = scratch(tmpptr, 1, "int64")
    reduce(n, (range_length, fromstarts, fromstops), elements)
    find = (pair_of_equal_lengths, fromstarts, fromstops, n, elements)
    reduce(n, find, pair, combine="maximum")
    last = max(tmpptr.shape[0] - 1, 0)
    compare = (element_differs, tmpptr, fromstarts, fromstops, n, pair)
    scan(last + 1, compare, (store_equal, toequal, n, pair, last))


# UTF-8 to UTF-32. awkward's kernels look at the first byte of a character only, and skip as many as it
# says. Where every first byte is followed by its continuation bytes, and there are no others, the
# first bytes are those that continue nothing, and all bytes can be looked at at once. A list that is
# not so is walked through by one thread, as awkward's kernels do.


@device_function
def width_of(byte):
    """Number of bytes of a character by its first byte, 0 if no character begins with it."""
    if byte < 0x80:
        return 1
    if byte < 0xC0:
        return 0
    if byte < 0xE0:
        return 2
    if byte < 0xF0:
        return 3
    return 4 if byte < 0xF8 else 0


@device_function
def decode(fromptr, position, width, length):
    """The character that begins at a position; bytes after the array count as 0."""
    code = fromptr[position] & (0x7F if width == 1 else 0x7F >> width)
    for k in range(position + 1, position + width):
        code = code << 6 | ((fromptr[k] & 0x3F) if k < length else 0)
    return code


@op
def step_characters(acc, segment, position, fromptr, fromoffsets):
    width = width_of(fromptr[position])
    complete = width > 0 and position + width <= fromoffsets[segment + 1]
    if complete:
        for k in range(position + 1, position + width):
            complete = complete and fromptr[k] & 0xC0 == 0x80
    if complete:
        acc[0] += 1
        acc[1] += width


@op(errors=("could not convert UTF8 code point to UTF32: invalid byte in UTF8 string",))
def finish_characters(acc, segment, counts, fromptr, fromoffsets, strict):
    position = fromoffsets[segment]
    stop = fromoffsets[segment + 1]
    counts[segment] = acc[0]
    if acc[1] != stop - position:
        count = 0
        while position < stop:
            width = width_of(fromptr[position])
            if strict and width == 0:
                counts[segment] = 0
                return 1, fromptr[position]
            position += max(width, 1)
            count += 1
        counts[segment] = -1 - count


def _count_characters(counts, fromptr, fromoffsets, lists, strict):
    """Number of characters in every list, or -1 - number if its bytes are not well-formed.

    Complete characters cover all bytes of a well-formed list. If `strict`, a byte that begins no
    character is an error. One launch, two for long lists.
    """
    segmented_reduce(
        fromoffsets,
        fromptr.shape[0],
        segments=lists,
        dtype="int64",
        width=2,
        start=(start_pair, 0, 0),
        step=(step_characters, fromptr, fromoffsets),
        merge=(merge_pair,),
        finish=(finish_characters, counts, fromptr, fromoffsets, strict),
    )


@op
def count_of_list(i, value, counts, lists):
    value[0] = 0
    if i < lists:
        value[0] = counts[i] if counts[i] >= 0 else -1 - counts[i]


@kernel("awkward_NumpyArray_prepare_utf8_to_utf32_padded")
def prepare_utf8_to_utf32_padded(fromptr, fromoffsets, offsetslength, outmaxcodepoints):
    """Characters in the longest string: two launches (three for long lists), counts and their maximum.

    A byte that begins no character, for which awkward's kernel never ends, counts as one.
    """
    lists = max(offsetslength - 1, 0)
    counts = scratch(fromptr, lists, "int64")
    _count_characters(counts, fromptr, fromoffsets, lists, False)
    count = (count_of_list, counts, lists)
    reduce(max(lists, 1), count, outmaxcodepoints, combine="maximum")


@op
def store_zero(i, toptr):
    toptr[i] = 0


@op
def begins_character(i, value, fromptr):
    value[0] = width_of(fromptr[i]) > 0


@op
def store_rank(i, before, after, ranks):
    ranks[i] = before


@op
def write_character(
    segment, position, local, toptr, fromptr, fromoffsets, counts, ranks, length, maxcodepoints
):
    width = width_of(fromptr[position])
    if counts[segment] >= 0:
        # Ranks are kept modulo 2**32, and no string is that long.
        column = (ranks[position] - ranks[position - local]) & 0xFFFFFFFF
        if width > 0 and column < maxcodepoints:
            toptr[segment * maxcodepoints + column] = decode(fromptr, position, width, length)
    elif local == 0:
        stop = fromoffsets[segment + 1]
        column = 0
        while position < stop and column < maxcodepoints:
            width = max(width_of(fromptr[position]), 1)
            toptr[segment * maxcodepoints + column] = decode(fromptr, position, width, length)
            position += width
            column += 1


@kernel("awkward_NumpyArray_utf8_to_utf32_padded")
def utf8_to_utf32_padded(fromptr, fromoffsets, offsetslength, maxcodepoints, toptr):
    """Characters of every string, padded with zeros to rows of one length.

    Four launches, five for long lists: counts with a check of every byte, zeros, the number of
    characters before every byte (a scan), and the characters, balanced over bytes. What is longer
    than `maxcodepoints`, for which awkward's kernel leaves the row, is cut.
    """
    lists = max(offsetslength - 1, 0)
    length = fromptr.shape[0]
    counts = scratch(fromptr, lists, "int64")
    ranks = scratch(fromptr, length, "uint32")
    _count_characters(counts, fromptr, fromoffsets, lists, True)
    transform(store_zero, lists * maxcodepoints, toptr)
    scan(length, (begins_character, fromptr), (store_rank, ranks), dtype="flag")
    segmented_transform(
        fromoffsets, length, write_character, toptr, fromptr, fromoffsets, counts, ranks, length,
        maxcodepoints, segments=lists,
    )  # fmt: skip
