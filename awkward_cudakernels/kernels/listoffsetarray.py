"""ListOffsetArray: lists laid end to end, given by offsets; and how reductions across lists see
them."""

from primitives import (
    device_function,
    lower_bound,
    op,
    order_of,
    rank_at,
    ranked_bits,
    scan,
    scratch,
    segmented_argsort,
    segmented_transform,
    transform,
    upper_bound,
)

from .._registry import kernel
from .listarray import padded_element, padded_length, store_before

# Offsets


@op
def is_none(j, count, index, length):
    if j < length and index[j] < 0:
        count[0] = 1


@op(errors=("offsets[i] > len(content)",))
def without_nones(i, tooffsets, nones, fromoffsets, length_offsets, length_indexes):
    if fromoffsets[i] > length_indexes:
        tooffsets[i] = 0
        if i == length_offsets - 1:
            return 1
    else:
        tooffsets[i] = fromoffsets[i] - rank_at(nones, fromoffsets[i])


@kernel("awkward_ListOffsetArray_drop_none_indexes")
def drop_none_indexes(tooffsets, noneindexes, fromoffsets, length_offsets, length_indexes):
    """Offsets of lists whose missing elements are left out: two launches, the ranks of those, then
    the offsets."""
    n = length_indexes
    nones = scratch(tooffsets, n // 16 + 1, "int64")
    ranked_bits((is_none, noneindexes, n), n + 1, nones)
    transform(without_nones, length_offsets, tooffsets, nones, fromoffsets, length_offsets, n)


@op
def inner_offset(i, tooffsets, outeroffsets, inneroffsets):
    tooffsets[i] = inneroffsets[outeroffsets[i]]


@kernel("awkward_ListOffsetArray_flatten_offsets")
def flatten_offsets(tooffsets, outeroffsets, outeroffsetslen, inneroffsets):
    """Offsets of lists of lists that become lists: one launch."""
    transform(inner_offset, outeroffsetslen, tooffsets, outeroffsets, inneroffsets)


@op(
    errors=(
        "offsets must be monotonically increasing",
        "cannot convert to RegularArray because subarray lengths are not regular",
    )
)
def regular_size(i, size, fromoffsets, lists):
    count = fromoffsets[i + 1] - fromoffsets[i] if i < lists else 0
    if i == 0:
        size[0] = max(count, 0)
    if count < 0:
        return 1
    if i > 0 and count != fromoffsets[1] - fromoffsets[0]:
        return 2


@kernel("awkward_ListOffsetArray_toRegularArray")
def to_regular_array(size, fromoffsets, offsetslength):
    """The length that all lists have, 0 if there is no list: one launch."""
    lists = max(offsetslength - 1, 0)
    transform(regular_size, max(lists, 1), size, fromoffsets, lists)


# Padding


@kernel("awkward_ListOffsetArray_rpad_length_axis1")
def rpad_length_axis1(tooffsets, fromoffsets, fromlength, target, tolength):
    """Offsets of lists that are padded to `target`, and how many elements they have: one launch."""
    count = (padded_length, fromoffsets, fromoffsets, 1, fromlength, target)
    scan(fromlength + 1, count, (store_before, tooffsets), total=tolength)


@kernel("awkward_ListOffsetArray_rpad_axis1")
def rpad_axis1(toindex, fromoffsets, fromlength, target):
    """Pads lists shorter than `target` with None: two launches, offsets of the padded lists, then
    their elements."""
    offsets = scratch(toindex, fromlength + 1, "int64")
    count = (padded_length, fromoffsets, fromoffsets, 1, fromlength, target)
    scan(fromlength + 1, count, (store_before, offsets))
    segmented_transform(
        offsets, toindex.shape[0], padded_element, toindex, fromoffsets, fromoffsets, 1
    )


@op
def clipped_element(i, toindex, fromoffsets, target):
    outer = i // target
    position = fromoffsets[outer] + i - outer * target
    toindex[i] = position if position < fromoffsets[outer + 1] else -1


@kernel("awkward_ListOffsetArray_rpad_and_clip_axis1")
def rpad_and_clip_axis1(toindex, fromoffsets, length, target):
    """Pads or cuts all lists to `target` elements: one launch, over elements."""
    transform(clipped_element, length * target, toindex, fromoffsets, target)


# Reducing the innermost lists


@op
def store_parent(segment, position, local, nextparents, offsets):
    nextparents[position - offsets[0]] = segment


@kernel("awkward_ListOffsetArray_reduce_local_nextparents_64")
def reduce_local_nextparents(nextparents, offsets, length, nextparents_length):
    """For every element, the number of its list: one launch, balanced over elements."""
    segmented_transform(
        offsets, nextparents_length, store_parent, nextparents, offsets, segments=length
    )


STEP = 256
"""Outputs in a row that one thread writes at most."""


@device_function
def write_from(outoffsets, k, last, value):
    """Writes a number to all offsets from `k` to `last`, as far as the next multiple of STEP."""
    last = min(last, k | (STEP - 1))
    while k <= last:
        outoffsets[k] = value
        k += 1


@op
def store_offsets_of_parents(i, outoffsets, parents, lenparents, outlength):
    # Offset k is the number of parents below k: j for all k after parent j - 1, up to parent j. A thread
    # looks at two parents, and writes such runs up to the next multiple of STEP; every multiple of STEP
    # that has a run before it has a thread that looks up its own parent, and writes on.
    j = 2 * i
    if j <= lenparents:
        before = parents[j - 1] if j > 0 else -1
        here = parents[j] if j < lenparents else outlength
        after = parents[j + 1] if j + 1 < lenparents else outlength
        write_from(outoffsets, max(before + 1, 0), min(here, outlength), j)
        if j < lenparents:
            write_from(outoffsets, max(here + 1, 0), min(after, outlength), j + 1)
    k = i * STEP
    if 0 < k <= outlength:
        j = lower_bound(parents, 0, lenparents, k)
        first = parents[j - 1] + 1 if j > 0 else 0
        last = min(parents[j], outlength) if j < lenparents else outlength
        if first < k:
            write_from(outoffsets, k, last, j)


@kernel("awkward_ListOffsetArray_reduce_local_outoffsets_64")
def reduce_local_outoffsets(outoffsets, parents, lenparents, outlength):
    """Offsets from sorted parents, of awkward before its reducers took offsets: one launch, over
    pairs of parents, balanced whatever the number of parents that do not occur."""
    n = max(lenparents // 2, outlength // STEP) + 1
    transform(store_offsets_of_parents, n, outoffsets, parents, lenparents, outlength)


# Reducing across lists: the rows of an outer bin are aligned, and each column of a bin is reduced.
# `offsets` give the elements of rows, `outer_offsets` the rows of bins; the columns of all bins are
# numbered bin * maxcount + column.


@op
def row_length(i, longest, offsets, length):
    longest[0] = offsets[i + 1] - offsets[i] if i < length else 0


@op
def copy_offset(i, before, after, offsetscopy, offsets):
    offsetscopy[i] = offsets[i]


@kernel("awkward_ListOffsetArray_reduce_nonlocal_maxcount_offsetscopy_64")
def reduce_nonlocal_maxcount(maxcount, offsetscopy, offsets, length):
    """Length of the longest row, 0 if there is none, and a copy of the offsets: one launch."""
    scan(
        length + 1,
        (row_length, offsets, length),
        (copy_offset, offsetscopy, offsets),
        total=maxcount,
        combine="maximum",
    )


# How many cells of a table cost as much to compact as one element to sort: a guess, unmeasured.
CELLS_PER_ELEMENT = 16


@device_function
def cell_at(i, outer_offsets, outlength, maxcount):
    """Row, column and bin of a cell, ordered by bin, column and row, where every bin has one row
    more."""
    outer = 0
    high = outlength
    while high - outer > 1:
        middle = (outer + high) // 2
        if (outer_offsets[middle] - outer_offsets[0] + middle) * maxcount <= i:
            outer = middle
        else:
            high = middle
    rows = outer_offsets[outer + 1] - outer_offsets[outer] + 1
    rest = i - (outer_offsets[outer] - outer_offsets[0] + outer) * maxcount
    column = rest // rows
    return outer_offsets[outer] + rest - column * rows, column, outer


@op
def is_filled(i, count, offsets, outer_offsets, outlength, maxcount):
    if i < (outer_offsets[outlength] - outer_offsets[0] + outlength) * maxcount:
        row, column, outer = cell_at(i, outer_offsets, outlength, maxcount)
        if row < outer_offsets[outer + 1] and column < offsets[row + 1] - offsets[row]:
            count[0] = 1


@op
def store_cell(
    i, before, after, nextcarry, nextoffsets, offsets, outer_offsets, outlength, maxcount
):
    if i < (outer_offsets[outlength] - outer_offsets[0] + outlength) * maxcount:
        row, column, outer = cell_at(i, outer_offsets, outlength, maxcount)
        if after != before:
            nextcarry[before] = offsets[row] + column
        elif row == outer_offsets[outer + 1]:
            nextoffsets[outer * maxcount + column + 1] = after


@op
def start_sorting(i, columns, binoffsets, offsets, length, outer_offsets, outlength, nextlen):
    base = offsets[outer_offsets[0]]
    if i <= outlength:
        binoffsets[i] = offsets[outer_offsets[i]] - base
    if i < nextlen:
        columns[i] = base + i - offsets[upper_bound(offsets, 0, length + 1, base + i) - 1]


@op
def is_earlier_column(left, right, result, columns):
    result[0] = columns[left] < columns[right]


@op
def finish_sorting(
    i,
    nextcarry,
    nextoffsets,
    order,
    columns,
    binoffsets,
    offsets,
    outer_offsets,
    outlength,
    maxcount,
):
    if i < binoffsets[outlength]:
        nextcarry[i] = offsets[outer_offsets[0]] + order[i]
    if i < outlength * maxcount:
        outer = i // maxcount
        low = binoffsets[outer]
        high = binoffsets[outer + 1]
        while low < high:
            middle = (low + high) // 2
            if columns[order[middle]] <= i - outer * maxcount:
                low = middle + 1
            else:
                high = middle
        nextoffsets[i + 1] = low


@op
def filled_column(i, highest, nextoffsets, columns):
    highest[0] = -1
    if i < columns:
        first = nextoffsets[i] if i > 0 else 0
        if nextoffsets[i + 1] > first:
            highest[0] = i


@op
def store_distinct(i, before, after, distincts, distinctslen, nextoffsets):
    if i == 0:
        nextoffsets[0] = 0
    if i < distinctslen:
        distincts[i] = i if after == i else -1


@kernel("awkward_ListOffsetArray_reduce_nonlocal_preparenext_64")
def reduce_nonlocal_preparenext(
    nextcarry, nextoffsets, nextlen, maxnextparents, distincts, distinctslen, offsetscopy, offsets,
    length, outer_offsets, outlength, maxcount,
):  # fmt: skip
    """Elements by bin, column and row: two launches, or five if few rows are as long as the
    longest.

    Of the table with `maxcount` columns, the filled cells are compacted in the order of the output,
    and the offsets of columns fall out. If the table is mostly empty, the elements of every bin are
    sorted by column instead, and the columns searched for their ends. Then the filled columns are
    noted.
    """
    columns = outlength * maxcount
    cells = (length + outlength) * maxcount
    bins = (outer_offsets, outlength)
    if cells <= CELLS_PER_ELEMENT * nextlen:
        scan(
            cells,
            (is_filled, offsets, *bins, maxcount),
            (store_cell, nextcarry, nextoffsets, offsets, *bins, maxcount),
            dtype="flag",
        )
    else:
        column = scratch(nextcarry, nextlen, "int64")
        order = scratch(nextcarry, nextlen, "int64")
        binoffsets = scratch(nextcarry, outlength + 1, "int64")
        n = max(nextlen, outlength + 1)
        transform(start_sorting, n, column, binoffsets, offsets, length, *bins, nextlen)
        segmented_argsort(binoffsets, order, (is_earlier_column, column), absolute=True)
        transform(
            finish_sorting,
            max(nextlen, columns),
            nextcarry,
            nextoffsets,
            order,
            column,
            binoffsets,
            offsets,
            *bins,
            maxcount,
        )
    scan(
        max(columns, distinctslen) + 1,
        (filled_column, nextoffsets, columns),
        (store_distinct, distincts, distinctslen, nextoffsets),
        total=maxnextparents,
        combine="maximum",
    )


@op
def store_row(segment, position, local, rows, elements):
    if 0 <= position < elements:
        rows[position] = segment


@op
def first_of_column(j, first, nextshifts, nextcarry, rows, elements, outer_offsets, outlength):
    row = rows[min(max(nextcarry[j], 0), elements - 1)]
    start = outer_offsets[upper_bound(outer_offsets, 0, outlength + 1, row) - 1]
    nextshifts[j] = row - start - j
    if j == 0:
        first[0] = 0
    else:
        previous = rows[min(max(nextcarry[j - 1], 0), elements - 1)]
        if not start <= previous < row:
            first[0] = j


@op
def add_first(j, before, after, nextshifts):
    nextshifts[j] += after


@kernel("awkward_ListOffsetArray_reduce_nonlocal_nextshifts_64")
def reduce_nonlocal_nextshifts(
    nummissing, missing, nextshifts, offsets, length, starts, outer_offsets, outlength, maxcount,
    nextlen, nextcarry,
):  # fmt: skip
    """For every carried element, how many rows before its own in its bin end before its column: two
    launches, the first of which gives every element its row.

    Those are the rows before it, less the elements before it in its column. `nextcarry` has the
    columns in order, rows ascending in each: a column starts where rows do not ascend within a bin,
    and a running maximum of starts tells every element its own. Of the workspaces, `missing` has the rows.
    """
    elements = missing.shape[0]
    segmented_transform(offsets, elements, store_row, missing, elements, segments=length)
    scan(
        nextlen,
        (first_of_column, nextshifts, nextcarry, missing, elements, outer_offsets, outlength),
        (add_first, nextshifts),
        combine="maximum",
    )


@op
def first_of_run(i, nextstarts, nextparents):
    if i == 0 or nextparents[i] != nextparents[i - 1]:
        nextstarts[nextparents[i]] = i


@kernel("awkward_ListOffsetArray_reduce_nonlocal_nextstarts_64")
def reduce_nonlocal_nextstarts(nextstarts, nextparents, nextlen):
    """Where sorted parents change, of awkward before its reducers took offsets: one launch."""
    transform(first_of_run, nextlen, nextstarts, nextparents)


@op
def filled_end(i, end, distincts):
    if distincts[i] != -1:
        end[0] = i + 1


@op
def store_bin(i, before, after, outstarts, outstops, maxcount, outlength):
    outer = i // maxcount
    if i == (outer + 1) * maxcount - 1 and outer < outlength:
        outstarts[outer] = outer * maxcount
        outstops[outer] = max(outer * maxcount, after)


@op
def last_filled(i, outstarts, outstops, distincts, maxcount):
    start = i * maxcount
    stop = start + maxcount
    while stop > start and distincts[stop - 1] == -1:
        stop -= 1
    outstarts[i] = start
    outstops[i] = stop


FEW_COLUMNS = 24
"""Columns that one thread may look at."""


@kernel("awkward_ListOffsetArray_reduce_nonlocal_outstartsstops_64")
def reduce_nonlocal_outstartsstops(outstarts, outstops, distincts, lendistincts, outlength):
    """For every bin, its columns up to the last filled one: one launch, by a thread for each bin, or,
    of many columns, by a running maximum of the filled ones."""
    maxcount = lendistincts // outlength if outlength > 0 else 0
    if maxcount <= FEW_COLUMNS:
        transform(last_filled, outlength, outstarts, outstops, distincts, maxcount)
        return
    scan(
        lendistincts,
        (filled_end, distincts),
        (store_bin, outstarts, outstops, maxcount, outlength),
        combine="maximum",
    )


# Sorting


@op
def store_whole(i, offsets, length):
    offsets[i] = i * length


@kernel("awkward_ListOffsetArray_local_preparenext_64")
def local_preparenext(tocarry, fromindex, length):
    """The order that sorts an index: three launches, the offsets of a single segment, then its
    order."""
    offsets = scratch(tocarry, 2, "int64")
    transform(store_whole, 2, offsets, length)
    segmented_argsort(offsets, tocarry, order_of(fromindex), elements=length)
