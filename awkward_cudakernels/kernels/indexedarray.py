"""IndexedArray and IndexedOptionArray, and the kernels on bare option indexes; negative means None."""

from primitives import (
    bit_at,
    device_function,
    lower_bound,
    offsets_from,
    op,
    rank_at,
    ranked_bits,
    reduce,
    scalar_of,
    scan,
    scratch,
    segmented_transform,
    select,
    transform,
    upper_bound,
)

from .._registry import kernel
from .listarray import rank_dtype


@op
def is_some(i, value, index):
    value[0] = index[i] >= 0


@op
def is_none(i, value, index):
    value[0] = index[i] < 0


@op
def store_own(i, before, after, out):
    out[i] = after - before


@kernel("awkward_IndexedArray_numnull")
def numnull(numnull, fromindex, lenindex):
    """The number of Nones: one launch."""
    reduce(lenindex, (is_none, fromindex), numnull)


@kernel("awkward_IndexedArray_numnull_parents")
def numnull_parents(numnull, tolength, fromindex, lenindex):
    """Where the Nones are, and their number: one launch."""
    scan(lenindex, (is_none, fromindex), (store_own, numnull), total=tolength, dtype="flag")


@op
def position_or_none(i, toindex, length):
    toindex[i] = i if i < length else -1


@kernel("awkward_IndexedArray_numnull_unique_64")
def numnull_unique(toindex, lenindex):
    """All positions, then one None: one launch."""
    transform(position_or_none, lenindex + 1, toindex, lenindex)


@kernel("awkward_index_rpad_and_clip_axis0")
def rpad_and_clip_axis0(toindex, target, length):
    """The first `target` positions, padded with None: one launch."""
    transform(position_or_none, target, toindex, length)


@op
def regular_range(i, tostarts, tostops, target):
    tostarts[i] = i * target
    tostops[i] = (i + 1) * target


@kernel("awkward_index_rpad_and_clip_axis1")
def rpad_and_clip_axis1(tostarts, tostops, target, length):
    """Starts and stops of lists of the same length: one launch."""
    transform(regular_range, length, tostarts, tostops, target)


@op(errors=("index out of range",))
def carry(i, tocarry, fromindex, lencontent):
    j = fromindex[i]
    if not 0 <= j < lencontent:
        tocarry[i] = 0
        return 1, j
    tocarry[i] = j


@kernel("awkward_IndexedArray_getitem_nextcarry")
def getitem_nextcarry(tocarry, fromindex, lenindex, lencontent):
    """The index as a carry, where it may have no None: one launch."""
    transform(carry, lenindex, tocarry, fromindex, lencontent)


@op(errors=("index out of range",))
def carry_some(i, before, after, tocarry, fromindex, lencontent):
    if after != before:
        j = fromindex[i]
        if j >= lencontent:
            tocarry[before] = 0
            return 1, j
        tocarry[before] = j


@kernel("awkward_IndexedArray_flatten_nextcarry")
def flatten_nextcarry(tocarry, fromindex, lenindex, lencontent):
    """The index without its Nones, as a carry: one launch."""
    scan(lenindex, (is_some, fromindex), (carry_some, tocarry, fromindex, lencontent), dtype="flag")


@op(errors=("index out of range",))
def carry_some_and_index(i, before, after, tocarry, toindex, fromindex, lencontent):
    if after == before:
        toindex[i] = -1
    else:
        toindex[i] = before
        j = fromindex[i]
        if j >= lencontent:
            tocarry[before] = 0
            return 1, j
        tocarry[before] = j


@kernel("awkward_IndexedArray_getitem_nextcarry_outindex")
def getitem_nextcarry_outindex(tocarry, toindex, fromindex, lenindex, lencontent):
    """The index without its Nones as a carry, and an index into what is carried: one launch."""
    scan(
        lenindex,
        (is_some, fromindex),
        (carry_some_and_index, tocarry, toindex, fromindex, lencontent),
        dtype="flag",
    )


@op
def masked(i, toindex, mask, fromindex, none):
    toindex[i] = none if mask[i] != 0 else fromindex[i]


@kernel("awkward_IndexedArray_overlay_mask")
def overlay_mask(toindex, mask, fromindex, length):
    """The index with a None wherever the mask is set: one launch.

    awkward's CPU kernel takes -1 through the type of the index: from uint32 it is 2**32 - 1.
    """
    none = 2**32 - 1 if fromindex.dtype.kind == "u" else -1
    transform(masked, length, toindex, mask, fromindex, none)


@op
def shifted(i, toindex, toindexoffset, fromindex, base):
    j = fromindex[i]
    toindex[toindexoffset + i] = -1 if j < 0 else j + base


@kernel("awkward_IndexedArray_fill")
def fill(toindex, toindexoffset, fromindex, length, base):
    """Appends an index into contents that start at `base` in the merged ones: one launch."""
    transform(shifted, length, toindex, toindexoffset, fromindex, base)


@op
def count_from(i, toindex, toindexoffset, base):
    toindex[toindexoffset + i] = i + base


@kernel("awkward_IndexedArray_fill_count")
def fill_count(toindex, toindexoffset, length, base):
    """Appends the positions from `base` on: one launch."""
    transform(count_from, length, toindex, toindexoffset, base)


@op(errors=("index out of range",))
def compose(i, toindex, outerindex, innerindex, innerlength):
    j = outerindex[i]
    if j >= innerlength:
        toindex[i] = -1
        return 1, j
    toindex[i] = -1 if j < 0 else innerindex[j]


@kernel("awkward_IndexedArray_simplify")
def simplify(toindex, outerindex, outerlength, innerindex, innerlength):
    """One index for an index of an index: one launch."""
    transform(compose, outerlength, toindex, outerindex, innerindex, innerlength)


@op(errors=("index[i] < 0", "index[i] >= len(content)"))
def check_index(i, index, lencontent, isoption):
    if index[i] < 0 and not isoption:
        return 1
    if index[i] >= lencontent:
        return 2


@kernel("awkward_IndexedArray_validity")
def validity(index, length, lencontent, isoption):
    """Whether all indexes lie inside the content: one launch."""
    transform(check_index, length, index, lencontent, isoption)


@op(errors=("flattening offset out of range",))
def count_of_list(i, value, outindex, outindexlength, offsets, offsetslength):
    if i < outindexlength:
        j = outindex[i]
        if j >= 0:
            if j + 1 >= offsetslength:
                return 1
            value[0] = offsets[j + 1] - offsets[j]


@op
def store_offset_from_first(i, before, after, outoffsets, offsets):
    outoffsets[i] = offsets[0] + before


@kernel("awkward_IndexedArray_flatten_none2empty")
def flatten_none2empty(outoffsets, outindex, outindexlength, offsets, offsetslength):
    """Offsets of the indexed lists, None as an empty one: one launch, a scan of their lengths.

    One index more than there are lists writes the last offset, which is the only one of no lists.
    """
    scan(
        outindexlength + 1,
        (count_of_list, outindex, outindexlength, offsets, offsetslength),
        (store_offset_from_first, outoffsets, offsets),
    )


@op
def none_in_lists(i, value, index, offsets, outlength):
    value[0] = offsets[0] <= i < offsets[outlength] and index[i] < 0


@op
def store_none_position(segment, position, local, toindex, nones, starts):
    if bit_at(nones, position):
        toindex[rank_at(nones, position)] = position - starts[segment]


@kernel("awkward_IndexedArray_index_of_nulls")
def index_of_nulls(toindex, fromindex, offsets, outlength, starts):
    """Position of every None, relative to its list's start: two launches, the ranks of Nones,
    then their positions, balanced over elements."""
    n = fromindex.shape[0]
    nones = scratch(fromindex, (n + 15) // 16, "int64")
    ranked_bits((none_in_lists, fromindex, offsets, outlength), n, nones)
    segmented_transform(offsets, n, store_none_position, toindex, nones, starts, segments=outlength)


@op
def pair(segment, position, local, tocarry, nextoffsets):
    k = nextoffsets[segment] + local
    tocarry[position] = k if k < nextoffsets[segment + 1] else -1


@kernel("awkward_IndexedArray_local_preparenext_64")
def local_preparenext(tocarry, starts, offsets, nextoffsets, outlength):
    """Pairs the elements of lists with what is left of each list, then None: one launch."""
    segmented_transform(offsets, tocarry.shape[0], pair, tocarry, nextoffsets, segments=outlength)


@op
def some_in_lists(i, value, index, offsets, outlength):
    value[0] = offsets[0] <= i < offsets[outlength] and index[i] >= 0


@op
def carry_and_count(i, before, after, nextcarry, outindex, counts, index):
    if after == before:
        outindex[i] = -1
    else:
        outindex[i] = before
        nextcarry[before] = index[i]
    counts[i] = after


@device_function
def count_before(counts, position):
    """An inclusive scan of counts, read as an exclusive one."""
    return counts[position - 1] if position > 0 else 0


@op
def offset_of_rest(i, nextoffsets, offsets, counts):
    nextoffsets[i] = count_before(counts, offsets[i]) if i > 0 else 0


@kernel("awkward_IndexedArray_reduce_next_64")
def reduce_next(nextcarry, nextoffsets, outindex, index, offsets, outlength):
    """Lists without their Nones: carry, offsets, and an index into what is carried.

    Two launches: a scan, and the look-up of its counts at the offsets.
    """
    length = outindex.shape[0]
    counts = scratch(outindex, length, rank_dtype(length))
    scan(
        length,
        (some_in_lists, index, offsets, outlength),
        (carry_and_count, nextcarry, outindex, counts, index),
        dtype="flag",
    )
    transform(offset_of_rest, outlength + 1, nextoffsets, offsets, counts)


@op
def store_shift(i, before, after, nextshifts):
    if after != before:
        nextshifts[before] = i - before


@kernel("awkward_IndexedArray_reduce_next_nonlocal_nextshifts_64")
def nextshifts(nextshifts, index, length):
    """For everything but None, the number of Nones before it: one launch."""
    scan(length, (is_some, index), (store_shift, nextshifts), dtype="flag")


@op
def add_shift(i, before, after, nextshifts, shifts):
    if after != before:
        nextshifts[before] = shifts[i] + (i - before)


@kernel("awkward_IndexedArray_reduce_next_nonlocal_nextshifts_fromshifts_64")
def nextshifts_fromshifts(nextshifts, index, length, shifts):
    """For everything but None, its shift plus the number of Nones before it: one launch."""
    scan(length, (is_some, index), (add_shift, nextshifts, shifts), dtype="flag")


@op
def start_or_end(i, outoffsets, starts, startslength, outindexlength):
    outoffsets[i] = starts[i] if i < startslength else outindexlength


@kernel("awkward_IndexedArray_reduce_next_fix_offsets_64")
def reduce_next_fix_offsets(outoffsets, starts, startslength, outindexlength):
    """Offsets from starts and the end of the last list: one launch."""
    transform(start_or_end, startslength + 1, outoffsets, starts, startslength, outindexlength)


@op
def store_count(i, before, after, counts):
    counts[i] = after


@op
def count_in_range(i, value, starts, stops, counts):
    if starts[i] < stops[i]:
        value[0] = count_before(counts, stops[i]) - count_before(counts, starts[i])


@op
def store_range(i, before, after, tostarts, tostops):
    tostarts[i] = before
    tostops[i] = after


@kernel("awkward_IndexedArray_ranges_next_64")
def ranges_next(index, fromstarts, fromstops, length, tostarts, tostops, tolength):
    """Ranges of an index without its Nones, laid end to end.

    Two launches: a scan counts what is not None, another the differences of counts over the ranges.
    """
    counts = scratch(index, index.shape[0], rank_dtype(index.shape[0]))
    scan(index.shape[0], (is_some, index), (store_count, counts), dtype="flag")
    scan(
        length,
        (count_in_range, fromstarts, fromstops, counts),
        (store_range, tostarts, tostops),
        total=tolength,
    )


@op
def keep_and_count(i, before, after, kept, counts, index):
    if after != before:
        kept[before] = index[i]
    counts[i] = after


@op
def gather_range(segment, position, local, tocarry, kept, counts, starts):
    tocarry[position] = kept[count_before(counts, starts[segment]) + local]


@kernel("awkward_IndexedArray_ranges_carry_next_64")
def ranges_carry_next(index, fromstarts, fromstops, length, tocarry):
    """What is not None in ranges of an index, as a carry.

    Three launches: one scan makes the index without Nones and the counts of what is left, in which
    every range is a range again; another gives the offsets of the output; then the copy.
    """
    counts = scratch(index, index.shape[0], rank_dtype(index.shape[0]))
    kept = scratch(index, index.shape[0], "int64")
    offsets = scratch(index, length + 1, "int64")
    scan(index.shape[0], (is_some, index), (keep_and_count, kept, counts, index), dtype="flag")
    offsets_from((count_in_range, fromstarts, fromstops, counts), length, offsets)
    segmented_transform(offsets, tocarry.shape[0], gather_range, tocarry, kept, counts, fromstarts)


@op
def is_mark(i, keep, fromnulls):
    keep[0] = fromnulls[i] == 1


@op
def list_of_mark(j, first_unused, lists, marks, found, fromoffsets, startslength):
    if j < found:
        # The mark j is at the end of a list, if all marks before it have put a None there. Marks that
        # are then at the ends of as many empty lists take one each.
        end = marks[j] - j + fromoffsets[0]
        low = 0
        high = j
        while low < high:
            middle = (low + high) // 2
            if marks[middle] - middle < marks[j] - j:
                low = middle + 1
            else:
                high = middle
        k = lower_bound(fromoffsets, 1, startslength + 1, end) + j - low
        lists[j] = k - 1
        if k > startslength or fromoffsets[k] != end:
            first_unused[0] = j


@op
def follow_marks(i, used, lists, found, first_unused, fromoffsets, fromnulls, lennulls, startslength):
    shift = min(found, first_unused)
    if shift < found:
        for k in range(lists[shift - 1] + 1 if shift > 0 else 0, startslength):
            place = fromoffsets[k + 1] - fromoffsets[0] + shift
            if place < lennulls and fromnulls[place] == 1:
                lists[shift] = k
                shift += 1
    used[0] = shift


@op
def store_offset_with_nones(i, tooffsets, toindex, lentoindex, fromoffsets, lists, used):
    if i == 0 and lentoindex > 0:
        toindex[0] = 0
    tooffsets[i] = fromoffsets[i] + upper_bound(lists, 0, used, i - 1)


@op
def element_or_none(segment, position, local, toindex, fromoffsets):
    first = fromoffsets[0]
    length = fromoffsets[segment + 1] - fromoffsets[segment]
    toindex[position - first] = fromoffsets[segment] - first + local if local < length else -1


@kernel("awkward_IndexedArray_unique_next_index_and_offsets_64")
def unique_next_index_and_offsets(toindex, tooffsets, fromoffsets, fromnulls, startslength):
    """Lists with a None put after each one whose end is marked, at its place in the output.

    Whether a list gets a None is read at a place that depends on all the Nones before it. But marks
    are there to be used: if all are, the number of Nones before a mark is its rank. So every mark looks
    up its list as if that were so, and a scan finds the first one that has none; those before it are
    right. From there on, if there is one, a single thread follows the lists (awkward makes no such
    marks). Five launches, O(n log n): the marks in order; their lists, and the first without; what is
    left to follow; the offsets, which search these lists; an index, balanced over elements.
    """
    n = fromnulls.shape[0]
    marks = scratch(fromnulls, n, "int64")
    lists = scratch(fromnulls, n, "int64")
    found, first_unused, used = (scratch(fromnulls, 1, "int64") for _ in range(3))
    select((is_mark, fromnulls), n, marks, total=found)
    unused = (list_of_mark, lists, marks, scalar_of(found), fromoffsets, startslength)
    reduce(n, unused, first_unused, combine="minimum")
    transform(
        follow_marks, 1, used, lists, scalar_of(found), scalar_of(first_unused), fromoffsets, fromnulls,
        n, startslength,
    )  # fmt: skip
    transform(
        store_offset_with_nones, startslength + 1, tooffsets, toindex, toindex.shape[0], fromoffsets,
        lists, scalar_of(used),
    )  # fmt: skip
    segmented_transform(
        tooffsets,
        toindex.shape[0],
        element_or_none,
        toindex,
        fromoffsets,
        segments=startslength,
    )


@op
def is_unset(i, value, mask):
    value[0] = mask[i] == 0


@op
def store_rank_or_none(i, before, after, toindex):
    toindex[i] = before if after != before else -1


@kernel("awkward_IndexedOptionArray_rpad_and_clip_mask_axis1")
def rpad_and_clip_mask_axis1(toindex, frommask, length):
    """None where the mask is set, a running number elsewhere: one launch."""
    scan(length, (is_unset, frommask), (store_rank_or_none, toindex), dtype="flag")


@op
def keep_range(i, before, after, starts_out, stops_out, starts_in, stops_in):
    if after != before:
        starts_out[before] = starts_in[i]
        stops_out[before] = stops_in[i]


@kernel("awkward_MaskedArray_getitem_next_jagged_project")
def getitem_next_jagged_project(index, starts_in, stops_in, starts_out, stops_out, length):
    """Starts and stops where the index is not None: one launch."""
    scan(length, (is_some, index), (keep_range, starts_out, stops_out, starts_in, stops_in), dtype="flag")


@op
def store_mask_and_range(i, before, after, offsets_in, mask_out, starts_out, stops_out):
    mask_out[i] = i if after != before else -1
    starts_out[i] = offsets_in[before]
    stops_out[i] = offsets_in[after]


@kernel("awkward_Content_getitem_next_missing_jagged_getmaskstartstop")
def getitem_next_missing_jagged(index_in, offsets_in, mask_out, starts_out, stops_out, length):
    """Gives the lists to what is not None, in order, and empty ranges to None: one launch."""
    scan(
        length,
        (is_some, index_in),
        (store_mask_and_range, offsets_in, mask_out, starts_out, stops_out),
        dtype="flag",
    )


@op
def is_minus_one_from_end(i, value, index, length):
    value[0] = index[length - 1 - i] == -1


@op
def number_from_end(i, before, after, toindex, length):
    if after != before:
        toindex[length - 1 - i] = length - after


@kernel("awkward_Index_nones_as_index")
def nones_as_index(toindex, length):
    """Numbers the Nones (-1) in order, after everything else.

    One launch: from the end, the number is the length minus the Nones so far, with no total needed.
    """
    scan(length, (is_minus_one_from_end, toindex, length), (number_from_end, toindex, length), dtype="flag")


@op
def repeated(i, outindex, index, indexlength, regularsize):
    j = index[i % indexlength]
    outindex[i] = j + i // indexlength * regularsize if j >= 0 else j


@kernel("awkward_missing_repeat")
def missing_repeat(outindex, index, indexlength, repetitions, regularsize):
    """The index once for each of several contents of the same size, Nones unchanged: one launch."""
    transform(repeated, repetitions * indexlength, outindex, index, indexlength, regularsize)
