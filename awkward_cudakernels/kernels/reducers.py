"""Reducers: one result for every list, from offsets.

A complex array is seen as twice as many floats: real and imaginary parts in turn.
"""

import math

import numpy as np

from primitives import device_function, op, segmented_reduce, segmented_transform, transform

from .._registry import kernel


def _parts(x):
    """A complex array as its real and imaginary parts; others as they are."""
    return x.view(x.dtype.char.lower()) if x.dtype.kind == "c" else x


@op
def start_value(acc, segment, value):
    acc[0] = value


@op
def start_pair(acc, segment, first, second):
    acc[0] = first
    acc[1] = second


@op
def finish_value(acc, segment, toptr):
    toptr[segment] = acc[0]


@op
def finish_pair(acc, segment, toptr):
    toptr[2 * segment] = acc[0]
    toptr[2 * segment + 1] = acc[1]


# Sums


@op
def step_sum(acc, segment, position, fromptr):
    acc[0] += fromptr[position]


@op
def merge_sum(acc, other, segment):
    acc[0] += other[0]


def sum_lists(toptr, offsets, outlength, elements, step, dtype=None, finish=None):
    """Sums what `step` adds for every element: one launch, two for long lists."""
    segmented_reduce(
        offsets,
        elements,
        segments=outlength,
        dtype=dtype or toptr.dtype,
        start=(start_value, 0),
        step=step,
        merge=(merge_sum,),
        finish=finish or (finish_value, toptr),
    )


@kernel("awkward_reduce_sum")
def reduce_sum(toptr, fromptr, offsets, outlength):
    """Sum of every list, in the result's type: one launch, two for long lists."""
    sum_lists(toptr, offsets, outlength, fromptr.shape[0], (step_sum, fromptr))


@op
def step_squares(acc, segment, position, fromptr):
    value = np.float64(fromptr[position])
    acc[0] += value * value


@kernel("awkward_reduce_sumofsquares")
def reduce_sumofsquares(toptr, fromptr, offsets, outlength):
    """Sum of squares: one launch, two for long lists."""
    sum_lists(toptr, offsets, outlength, fromptr.shape[0], (step_squares, fromptr))


@device_function
def power(base, n):
    """``base ** n``, by squaring for n >= 0: few roundings, and the same on both executors."""
    if n < 0:
        return base ** np.float64(n)
    result = 1.0
    while n > 0:
        if n & 1:
            result *= base
        base *= base
        n >>= 1
    return result


@op
def step_powers(acc, segment, position, fromptr, n):
    acc[0] += power(np.float64(fromptr[position]), n)


@kernel("awkward_reduce_sumofpowers")
def reduce_sumofpowers(toptr, fromptr, offsets, outlength, n):
    """Sum of n-th powers: one launch, two for long lists."""
    sum_lists(toptr, offsets, outlength, fromptr.shape[0], (step_powers, fromptr, n))


@op
def step_centered(acc, segment, position, fromptr, means):
    difference = np.float64(fromptr[position]) - means[segment]
    acc[0] += difference * difference


@kernel("awkward_reduce_centered_sumofsquares")
def reduce_centered_sumofsquares(toptr, fromptr, offsets, outlength, means):
    """Sum of squared distances from each list's mean: one launch, two for long lists."""
    sum_lists(toptr, offsets, outlength, fromptr.shape[0], (step_centered, fromptr, means))


@op
def step_sum_complex(acc, segment, position, fromptr):
    acc[0] += fromptr[2 * position]
    acc[1] += fromptr[2 * position + 1]


@op
def merge_pair(acc, other, segment):
    acc[0] += other[0]
    acc[1] += other[1]


@kernel("awkward_reduce_sum_complex")
def reduce_sum_complex(toptr, fromptr, offsets, outlength):
    """Sum of complex numbers: one launch, two for long lists."""
    _complex_fold(toptr, fromptr, offsets, outlength, 0, step_sum_complex, merge_pair)


def _complex_fold(toptr, fromptr, offsets, outlength, start, step, merge):
    toptr, fromptr = _parts(toptr), _parts(fromptr)
    segmented_reduce(
        offsets,
        fromptr.shape[0] // 2,
        segments=outlength,
        dtype=toptr.dtype,
        width=2,
        start=(start_pair, start, 0),
        step=(step, fromptr),
        merge=(merge,),
        finish=(finish_pair, toptr),
    )


# Products


@op
def step_prod(acc, segment, position, fromptr):
    acc[0] *= fromptr[position]


@op
def merge_prod(acc, other, segment):
    acc[0] *= other[0]


def multiply_lists(toptr, offsets, outlength, elements, step):
    """Multiplies by what `step` does for every element: one launch, two for long lists."""
    segmented_reduce(
        offsets,
        elements,
        segments=outlength,
        dtype=toptr.dtype,
        start=(start_value, 1),
        step=step,
        merge=(merge_prod,),
        finish=(finish_value, toptr),
    )


@kernel("awkward_reduce_prod")
def reduce_prod(toptr, fromptr, offsets, outlength):
    """Product of every list, in the result's type: one launch, two for long lists."""
    multiply_lists(toptr, offsets, outlength, fromptr.shape[0], (step_prod, fromptr))


@device_function
def multiply_complex(acc, real, imag):
    product = acc[0] * real - acc[1] * imag
    acc[1] = acc[0] * imag + acc[1] * real
    acc[0] = product


@op
def step_prod_complex(acc, segment, position, fromptr):
    multiply_complex(acc, fromptr[2 * position], fromptr[2 * position + 1])


@op
def merge_prod_complex(acc, other, segment):
    multiply_complex(acc, other[0], other[1])


@kernel("awkward_reduce_prod_complex")
def reduce_prod_complex(toptr, fromptr, offsets, outlength):
    """Product of complex numbers: one launch, two for long lists."""
    _complex_fold(toptr, fromptr, offsets, outlength, 1, step_prod_complex, merge_prod_complex)


# Counts, and what follows from one: whether any, or all, of a list are nonzero


@op
def list_length(i, toptr, offsets):
    toptr[i] = offsets[i + 1] - offsets[i]


@kernel("awkward_reduce_count_64")
def reduce_count(toptr, offsets, outlength):
    """Number of elements: one launch."""
    transform(list_length, outlength, toptr, offsets)


@op
def mask_empty(i, toptr, offsets):
    toptr[i] = offsets[i + 1] <= offsets[i]


@kernel("awkward_NumpyArray_reduce_mask_ByteMaskedArray_64")
def reduce_mask(toptr, offsets, outlength):
    """1 for every empty list: one launch."""
    transform(mask_empty, outlength, toptr, offsets)


@op
def step_nonzero(acc, segment, position, fromptr):
    acc[0] += fromptr[position] != 0


@op
def step_nonzero_complex(acc, segment, position, fromptr):
    acc[0] += fromptr[2 * position] != 0 or fromptr[2 * position + 1] != 0


@op
def finish_any(acc, segment, toptr):
    toptr[segment] = acc[0] > 0


@op
def finish_all(acc, segment, toptr, offsets):
    toptr[segment] = acc[0] == offsets[segment + 1] - offsets[segment]


def _count_nonzero(toptr, fromptr, offsets, outlength, finish=None):
    step = (step_nonzero, fromptr)
    sum_lists(toptr, offsets, outlength, fromptr.shape[0], step, "int64", finish)


def _count_nonzero_complex(toptr, fromptr, offsets, outlength, finish=None):
    fromptr = _parts(fromptr)
    step = (step_nonzero_complex, fromptr)
    sum_lists(toptr, offsets, outlength, fromptr.shape[0] // 2, step, "int64", finish)


@kernel(
    "awkward_reduce_countnonzero",
    "awkward_reduce_sum_int32_bool_64",
    "awkward_reduce_sum_int64_bool_64",
)
def reduce_countnonzero(toptr, fromptr, offsets, outlength):
    """Number of nonzero elements: one launch, two for long lists."""
    _count_nonzero(toptr, fromptr, offsets, outlength)


@kernel("awkward_reduce_countnonzero_complex")
def reduce_countnonzero_complex(toptr, fromptr, offsets, outlength):
    """Number of nonzero complex numbers: one launch, two for long lists."""
    _count_nonzero_complex(toptr, fromptr, offsets, outlength)


@kernel("awkward_reduce_sum_bool")
def reduce_any(toptr, fromptr, offsets, outlength):
    """Whether a list has a nonzero element: one launch, two for long lists."""
    _count_nonzero(toptr, fromptr, offsets, outlength, (finish_any, toptr))


@kernel("awkward_reduce_sum_bool_complex")
def reduce_any_complex(toptr, fromptr, offsets, outlength):
    """Whether a list has a nonzero complex number: one launch, two for long lists."""
    _count_nonzero_complex(toptr, fromptr, offsets, outlength, (finish_any, toptr))


@kernel("awkward_reduce_prod_bool")
def reduce_all(toptr, fromptr, offsets, outlength):
    """Whether all elements are nonzero: one launch, two for long lists."""
    _count_nonzero(toptr, fromptr, offsets, outlength, (finish_all, toptr, offsets))


@kernel("awkward_reduce_prod_bool_complex")
def reduce_all_complex(toptr, fromptr, offsets, outlength):
    """Whether all complex numbers are nonzero: one launch, two for long lists."""
    _count_nonzero_complex(toptr, fromptr, offsets, outlength, (finish_all, toptr, offsets))


# Extrema: the accumulator is a value and its position, so that of equal values (of -0.0 and 0.0,
# too) the first one wins in whatever order parts are merged. Elements that never beat what the
# accumulator starts with leave the position at -1. NaN beats nothing.
#
# As the position has the value's type, a float's is exact below 2**53, whence float64.


@device_function
def beats(value, best, largest):
    return value > best if largest else value < best


@op
def step_extremum(acc, segment, position, fromptr, largest):
    if beats(fromptr[position], acc[0], largest):
        acc[0] = fromptr[position]
        acc[1] = position


@op
def merge_extremum(acc, other, segment, largest):
    if beats(other[0], acc[0], largest) or (other[0] == acc[0] and other[1] < acc[1]):
        acc[0] = other[0]
        acc[1] = other[1]


def extremum(fromptr, offsets, outlength, start, largest, finish):
    step = (step_extremum, fromptr, largest)
    dtype, elements = wide(fromptr.dtype), fromptr.shape[0]
    extremum_of_lists(offsets, outlength, elements, dtype, start, step, largest, finish)


def extremum_of_lists(offsets, outlength, elements, dtype, start, step, largest, finish):
    """The extremum of what `step` compares with the best so far: one launch, two for long lists."""
    segmented_reduce(
        offsets,
        elements,
        segments=outlength,
        dtype=dtype,
        width=2,
        start=(start_pair, start, -1),
        step=step,
        merge=(merge_extremum, largest),
        finish=finish,
    )


def wide(dtype):
    """The type in which ops load elements of a type, and float64 for floats."""
    if dtype.kind == "f":
        return "float64"
    return "uint64" if dtype == np.uint64 else "int64"


# What the smallest and the largest element have to beat.
BEATEN = {
    "int64": (2**63 - 1, -(2**63)),
    "uint64": (np.uint64(2**64 - 1), np.uint64(0)),
    "float64": (math.inf, -math.inf),
}


@kernel("awkward_reduce_max")
def reduce_max(toptr, fromptr, offsets, outlength, identity):
    """Largest element, at least `identity`, NaN passed over: one launch, two for long lists."""
    identity = toptr.dtype.type(identity)
    extremum(fromptr, offsets, outlength, identity, True, (finish_value, toptr))


@kernel("awkward_reduce_min")
def reduce_min(toptr, fromptr, offsets, outlength, identity):
    """Smallest element, at most `identity`, NaN passed over: one launch, two for long lists."""
    identity = toptr.dtype.type(identity)
    extremum(fromptr, offsets, outlength, identity, False, (finish_value, toptr))


@device_function
def position_of_extremum(acc, segment, fromptr, offsets):
    """-1 of an empty list. NaN stays only where the list begins with it: only the first element is looked at again."""
    begin = offsets[segment]
    best = np.int64(acc[1])
    if begin == offsets[segment + 1]:
        return -1
    if best < 0 or fromptr[begin] != fromptr[begin]:
        return begin
    return best


@op
def finish_position(acc, segment, toptr, fromptr, offsets):
    toptr[segment] = position_of_extremum(acc, segment, fromptr, offsets)


def _arg_extremum(toptr, fromptr, offsets, outlength, largest):
    start = BEATEN[wide(fromptr.dtype)][largest]
    finish = (finish_position, toptr, fromptr, offsets)
    extremum(fromptr, offsets, outlength, start, largest, finish)


@kernel("awkward_reduce_argmax")
def reduce_argmax(toptr, fromptr, offsets, starts, outlength):
    """Position of the first largest element, -1 if there is none: one launch, two for long lists."""
    _arg_extremum(toptr, fromptr, offsets, outlength, True)


@kernel("awkward_reduce_argmin")
def reduce_argmin(toptr, fromptr, offsets, starts, outlength):
    """Position of the first smallest element, -1 if there is none: one launch, two for long lists."""
    _arg_extremum(toptr, fromptr, offsets, outlength, False)


# Complex extrema, ordered by real, then imaginary part. Read in order, a NaN real part stays only
# where the list begins with it. Among the best real parts, an imaginary part that is NaN stays only
# where it is the first of them, and is passed over elsewhere. So the accumulator holds the best real
# part, the best imaginary part to it that is no NaN (if there is one), the position of that pair, and
# the position at which the real part came first; the last two become a position at the end.


@device_function
def keep_better(acc, real, imag, position, first, largest):
    if acc[3] < 0 or beats(real, acc[0], largest):
        acc[0] = real
        acc[1] = imag
        acc[2] = position
        acc[3] = first
    elif real == acc[0]:
        if (
            beats(imag, acc[1], largest)
            or (acc[1] != acc[1] and imag == imag)
            or (imag == acc[1] and position < acc[2])
        ):
            acc[1] = imag
            acc[2] = position
        if first < acc[3]:
            acc[3] = first


@op
def start_complex_extremum(acc, segment):
    acc[0] = 0
    acc[1] = 0
    acc[2] = -1
    acc[3] = -1


@op
def step_complex_extremum(acc, segment, position, fromptr, largest):
    real = fromptr[2 * position]
    if real == real:
        keep_better(acc, real, fromptr[2 * position + 1], position, position, largest)


@op
def merge_complex_extremum(acc, other, segment, largest):
    if other[3] >= 0:
        keep_better(acc, other[0], other[1], other[2], other[3], largest)


@device_function
def complex_extremum(acc, begin, fromptr):
    """The position of the extremum of a list that is not empty."""
    first = np.int64(acc[3])
    if fromptr[2 * begin] != fromptr[2 * begin]:
        return begin
    if fromptr[2 * first + 1] != fromptr[2 * first + 1]:
        return first
    return np.int64(acc[2])


def _complex_extremum(fromptr, offsets, outlength, largest, finish):
    segmented_reduce(
        offsets,
        fromptr.shape[0] // 2,
        segments=outlength,
        dtype="float64",
        width=4,
        start=(start_complex_extremum,),
        step=(step_complex_extremum, fromptr, largest),
        merge=(merge_complex_extremum, largest),
        finish=finish,
    )


@op
def finish_complex_position(acc, segment, toptr, fromptr, offsets):
    begin = offsets[segment]
    best = np.int64(-1)
    if begin < offsets[segment + 1]:
        best = complex_extremum(acc, begin, fromptr)
    toptr[segment] = best


@kernel("awkward_reduce_argmax_complex")
def reduce_argmax_complex(toptr, fromptr, offsets, outlength):
    """Position of the first largest number, -1 if there is none: one launch, two for long lists."""
    fromptr = _parts(fromptr)
    finish = (finish_complex_position, toptr, fromptr, offsets)
    _complex_extremum(fromptr, offsets, outlength, True, finish)


@kernel("awkward_reduce_argmin_complex")
def reduce_argmin_complex(toptr, fromptr, offsets, outlength):
    """Position of the first smallest number, -1 if there is none: one launch, two for long lists."""
    fromptr = _parts(fromptr)
    finish = (finish_complex_position, toptr, fromptr, offsets)
    _complex_extremum(fromptr, offsets, outlength, False, finish)


@op
def finish_complex_value(acc, segment, toptr, fromptr, offsets, identity):
    begin = offsets[segment]
    if begin < offsets[segment + 1]:
        best = complex_extremum(acc, begin, fromptr)
        toptr[2 * segment] = fromptr[2 * best]
        toptr[2 * segment + 1] = fromptr[2 * best + 1]
    else:
        toptr[2 * segment] = identity
        toptr[2 * segment + 1] = 0


@kernel("awkward_reduce_max_complex")
def reduce_max_complex(toptr, fromptr, offsets, outlength, identity):
    """Largest complex number; `identity` of empty lists only: one launch, two for long lists."""
    toptr, fromptr = _parts(toptr), _parts(fromptr)
    finish = (finish_complex_value, toptr, fromptr, offsets, float(identity))
    _complex_extremum(fromptr, offsets, outlength, True, finish)


@kernel("awkward_reduce_min_complex")
def reduce_min_complex(toptr, fromptr, offsets, outlength, identity):
    """Smallest complex number; `identity` of empty lists only: one launch, two for long lists."""
    toptr, fromptr = _parts(toptr), _parts(fromptr)
    finish = (finish_complex_value, toptr, fromptr, offsets, float(identity))
    _complex_extremum(fromptr, offsets, outlength, False, finish)


# After argmin and argmax, argsort: positions in the whole array become positions in the list


@op
def subtract_start(i, toptr, starts):
    if toptr[i] >= 0:
        toptr[i] -= starts[i]


@kernel("awkward_NumpyArray_reduce_adjust_starts_64")
def adjust_starts(toptr, outlength, offsets, starts):
    """Positions that are not -1, less the start of their list: one launch."""
    transform(subtract_start, outlength, toptr, starts)


@op
def shift_and_subtract_start(i, toptr, starts, shifts):
    position = toptr[i]
    if position >= 0:
        toptr[i] = position + shifts[position] - starts[i]


@kernel("awkward_NumpyArray_reduce_adjust_starts_shifts_64")
def adjust_starts_shifts(toptr, outlength, offsets, starts, shifts):
    """Positions that are not -1, shifted by the missing values before them: one launch."""
    transform(shift_and_subtract_start, outlength, toptr, starts, shifts)


@op
def rearrange(
    segment, position, local, toptr, fromshifts, length, fromoffsets, fromparents, fromstarts
):
    k = position - fromoffsets[0]
    value = toptr[k] + fromoffsets[segment]
    if k < length:
        value += fromshifts[value] - fromstarts[fromparents[k]]
    toptr[k] = value


@kernel("awkward_NumpyArray_rearrange_shifted")
def rearrange_shifted(toptr, fromshifts, length, fromoffsets, outlength, fromparents, fromstarts):
    """Sorted positions in each list, shifted by the missing values before them: one launch.

    The first `length` elements are shifted; there are no more of them than elements of lists.
    """
    segmented_transform(
        fromoffsets, toptr.shape[0], rearrange, toptr, fromshifts, length, fromoffsets,
        fromparents, fromstarts, segments=outlength,
    )  # fmt: skip
