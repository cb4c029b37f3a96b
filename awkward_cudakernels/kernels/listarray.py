"""ListArray: lists given by starts and stops, which may overlap, leave gaps and be out of order."""

from primitives import offsets_from, op, segmented_transform, transform

from .._registry import kernel


@op(errors=("index out of range",))
def next_at(i, tocarry, fromstarts, fromstops, at):
    length = fromstops[i] - fromstarts[i]
    regular = at + length if at < 0 else at
    if not 0 <= regular < length:
        tocarry[i] = 0
        return 1, at
    tocarry[i] = fromstarts[i] + regular


@kernel("awkward_ListArray_getitem_next_at")
def getitem_next_at(tocarry, fromstarts, fromstops, lenstarts, at):
    """``array[:, at]``: one launch."""
    transform(next_at, lenstarts, tocarry, fromstarts, fromstops, at)


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
