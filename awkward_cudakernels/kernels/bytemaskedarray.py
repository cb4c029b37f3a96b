"""ByteMaskedArray: one byte per element; an element is valid where (byte is nonzero) is `validwhen`."""

from primitives import device_function, op, reduce, scan, scratch, select, transform

from .._registry import kernel
from .indexedarray import add_shift, offset_of_rest, store_shift
from .listarray import rank_dtype


@device_function
def valid(mask, i, validwhen):
    return (mask[i] != 0) == (validwhen != 0)


@op
def is_valid(i, value, mask, validwhen):
    value[0] = valid(mask, i, validwhen)


@op
def is_null(i, value, mask, validwhen):
    value[0] = not valid(mask, i, validwhen)


@kernel("awkward_ByteMaskedArray_numnull")
def numnull(numnull, mask, length, validwhen):
    """The number of Nones: one launch."""
    reduce(length, (is_null, mask, validwhen), numnull)


@kernel("awkward_ByteMaskedArray_getitem_nextcarry")
def getitem_nextcarry(tocarry, mask, length, validwhen):
    """Positions of the valid elements: one launch."""
    select((is_valid, mask, validwhen), length, tocarry)


@op
def carry_and_index(i, before, after, tocarry, outindex):
    if after == before:
        outindex[i] = -1
    else:
        outindex[i] = before
        tocarry[before] = i


@kernel("awkward_ByteMaskedArray_getitem_nextcarry_outindex")
def getitem_nextcarry_outindex(tocarry, outindex, mask, length, validwhen):
    """Positions of the valid elements, and an index into what they carry: one launch."""
    scan(length, (is_valid, mask, validwhen), (carry_and_index, tocarry, outindex), dtype="flag")


@op
def index_or_none(i, toindex, mask, validwhen):
    toindex[i] = i if valid(mask, i, validwhen) else -1


@kernel("awkward_ByteMaskedArray_toIndexedOptionArray")
def to_indexed_option_array(toindex, mask, length, validwhen):
    """The mask as an option index: one launch."""
    transform(index_or_none, length, toindex, mask, validwhen)


@op
def overlay(i, tomask, theirmask, mymask, validwhen):
    tomask[i] = theirmask[i] | (0 if valid(mymask, i, validwhen) else 1)


@kernel("awkward_ByteMaskedArray_overlay_mask")
def overlay_mask(tomask, theirmask, mymask, length, validwhen):
    """Their mask, in which set means None, also set where mine says None: one launch."""
    transform(overlay, length, tomask, theirmask, mymask, validwhen)


@op
def valid_in_lists(i, value, mask, validwhen, offsets, outlength):
    value[0] = offsets[0] <= i < offsets[outlength] and valid(mask, i, validwhen)


@op
def carry_index_and_count(i, before, after, nextcarry, outindex, counts):
    if after == before:
        outindex[i] = -1
    else:
        outindex[i] = before
        nextcarry[before] = i
    counts[i] = after


@kernel("awkward_ByteMaskedArray_reduce_next_64")
def reduce_next(nextcarry, nextoffsets, outindex, mask, offsets, outlength, validwhen):
    """Lists without their Nones: carry, offsets, and an index into what is carried.

    Two launches: a scan, and the look-up of its counts at the offsets.
    """
    length = outindex.shape[0]
    counts = scratch(outindex, length, rank_dtype(length))
    scan(
        length,
        (valid_in_lists, mask, validwhen, offsets, outlength),
        (carry_index_and_count, nextcarry, outindex, counts),
        dtype="flag",
    )
    transform(offset_of_rest, outlength + 1, nextoffsets, offsets, counts)


@kernel("awkward_ByteMaskedArray_reduce_next_nonlocal_nextshifts_64")
def nextshifts(nextshifts, mask, length, valid_when):
    """For every valid element, the number of Nones before it: one launch."""
    scan(length, (is_valid, mask, valid_when), (store_shift, nextshifts), dtype="flag")


@kernel("awkward_ByteMaskedArray_reduce_next_nonlocal_nextshifts_fromshifts_64")
def nextshifts_fromshifts(nextshifts, mask, length, valid_when, shifts):
    """For every valid element, its shift plus the number of Nones before it: one launch."""
    scan(length, (is_valid, mask, valid_when), (add_shift, nextshifts, shifts), dtype="flag")
