"""Reducers: one result for every list, from offsets."""

from primitives import op, segmented_reduce

from .._registry import kernel


@op
def start_zero(acc, segment):
    acc[0] = 0


@op
def step_sum(acc, segment, position, fromptr):
    acc[0] += fromptr[position]


@op
def merge_sum(acc, other, segment):
    acc[0] += other[0]


@op
def finish_value(acc, segment, toptr):
    toptr[segment] = acc[0]


@kernel("awkward_reduce_sum")
def reduce_sum(toptr, fromptr, offsets, outlength):
    segmented_reduce(
        offsets,
        fromptr.shape[0],
        segments=outlength,
        dtype=toptr.dtype,
        start=(start_zero,),
        step=(step_sum, fromptr),
        merge=(merge_sum,),
        finish=(finish_value, toptr),
    )


@op
def start_none(acc, segment):
    acc[0] = -1


@op
def step_argmax(acc, segment, position, fromptr, offsets):
    best = acc[0]
    if best < 0 or fromptr[position] > fromptr[best]:
        acc[0] = position
    elif fromptr[best] != fromptr[best] and best != offsets[segment]:
        acc[0] = position  # NaN stays only where the list begins with it


@op
def merge_argmax(acc, other, segment, fromptr, offsets):
    if other[0] >= 0:
        if acc[0] < 0:
            acc[0] = other[0]
        else:
            first = min(acc[0], other[0])
            second = max(acc[0], other[0])
            beaten = fromptr[second] > fromptr[first] or (
                fromptr[first] != fromptr[first] and first != offsets[segment]
            )
            acc[0] = second if beaten else first


@kernel("awkward_reduce_argmax")
def reduce_argmax(toptr, fromptr, offsets, starts, outlength):
    segmented_reduce(
        offsets,
        fromptr.shape[0],
        segments=outlength,
        dtype="int64",
        start=(start_none,),
        step=(step_argmax, fromptr, offsets),
        merge=(merge_argmax, fromptr, offsets),
        finish=(finish_value, toptr),
    )
