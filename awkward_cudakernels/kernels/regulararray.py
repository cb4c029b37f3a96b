"""RegularArray: lists of one size, so that the position of an element tells its list and its place."""

import math

from primitives import device_function, op, store_int64, transform, upper_bound

from .._registry import kernel
from .listarray import binomial, largest_binomial, regular_at
from .listoffsetarray import STEP


@op
def carry_element(k, tocarry, fromcarry, size):
    i = k // size
    tocarry[k] = fromcarry[i] * size + (k - i * size)


@kernel("awkward_RegularArray_getitem_carry")
def getitem_carry(tocarry, fromcarry, lencarry, size):
    """Carry of the contents from a carry of the lists: one launch over elements."""
    transform(carry_element, lencarry * size, tocarry, fromcarry, size)


@op
def expand_offsets(k, multistarts, multistops, singleoffsets, regularsize):
    j = k % regularsize
    multistarts[k] = singleoffsets[j]
    multistops[k] = singleoffsets[j + 1]


@kernel("awkward_RegularArray_getitem_jagged_expand")
def getitem_jagged_expand(multistarts, multistops, singleoffsets, regularsize, regularlength):
    """One jagged slice repeated for every list: one launch over elements."""
    n = regularlength * regularsize
    transform(expand_offsets, n, multistarts, multistops, singleoffsets, regularsize)


@op
def next_from_array(k, tocarry, toadvanced, fromarray, lenarray, size):
    i = k // lenarray
    j = k - i * lenarray
    tocarry[k] = i * size + fromarray[j]
    toadvanced[k] = j


@kernel("awkward_RegularArray_getitem_next_array")
def getitem_next_array(tocarry, toadvanced, fromarray, length, lenarray, size):
    """``array[:, fromarray]``: one launch over elements."""
    n = length * lenarray
    transform(next_from_array, n, tocarry, toadvanced, fromarray, lenarray, size)


@op
def next_from_advanced(i, tocarry, toadvanced, fromadvanced, fromarray, size):
    tocarry[i] = i * size + fromarray[fromadvanced[i]]
    toadvanced[i] = i


@kernel("awkward_RegularArray_getitem_next_array_advanced")
def getitem_next_array_advanced(tocarry, toadvanced, fromadvanced, fromarray, length, size):
    """``array[advanced, fromarray]``, both indexed together: one launch."""
    transform(next_from_advanced, length, tocarry, toadvanced, fromadvanced, fromarray, size)


@op(errors=("index out of range",))
def regularize_index(j, toarray, fromarray, size):
    regular = regular_at(fromarray[j], size)
    if regular < 0:
        toarray[j] = 0
        return 1, fromarray[j]
    toarray[j] = regular


@kernel("awkward_RegularArray_getitem_next_array_regularize")
def getitem_next_array_regularize(toarray, fromarray, lenarray, size):
    """Negative indexes counted from the end: one launch."""
    transform(regularize_index, lenarray, toarray, fromarray, size)


@op(errors=("index out of range",))
def next_at(i, tocarry, at, length, size):
    regular = regular_at(at, size)
    if i < length:
        tocarry[i] = i * size + regular if regular >= 0 else 0
    if regular < 0:
        return 1, at


@kernel("awkward_RegularArray_getitem_next_at")
def getitem_next_at(tocarry, at, length, size):
    """``array[:, at]``: one launch. Out of range is an error even of an array of no lists."""
    transform(next_at, max(length, 1), tocarry, at, length, size)


@op
def next_from_range(k, tocarry, regular_start, step, size, nextsize):
    i = k // nextsize
    tocarry[k] = i * size + regular_start + (k - i * nextsize) * step


@kernel("awkward_RegularArray_getitem_next_range")
def getitem_next_range(tocarry, regular_start, step, length, size, nextsize):
    """``array[:, start:stop:step]``: one launch over elements."""
    transform(next_from_range, length * nextsize, tocarry, regular_start, step, size, nextsize)


@op
def repeat_advanced(k, toadvanced, fromadvanced, nextsize):
    toadvanced[k] = fromadvanced[k // nextsize]


@kernel("awkward_RegularArray_getitem_next_range_spreadadvanced")
def getitem_next_range_spreadadvanced(toadvanced, fromadvanced, length, nextsize):
    """Each list's advanced index for each of its elements: one launch over elements."""
    transform(repeat_advanced, length * nextsize, toadvanced, fromadvanced, nextsize)


@op
def local_index(k, toindex, size):
    toindex[k] = k % size


@kernel("awkward_RegularArray_localindex")
def localindex(toindex, size, length):
    """Position of every element in its list: one launch over elements."""
    transform(local_index, length * size, toindex, size)


@op
def list_of_element(k, nextparents, size):
    nextparents[k] = k // size


@kernel("awkward_RegularArray_reduce_local_nextparents_64")
def reduce_local_nextparents(nextparents, size, length):
    """The list of every element: one launch over elements."""
    transform(list_of_element, length * size, nextparents, size)


@device_function
def write_run(out, k, stop, value, step):
    """Writes `value`, `value + step` and so on from `k` to below `stop`, as far as the next multiple of STEP."""
    stop = min(stop, (k | (STEP - 1)) + 1)
    while k < stop:
        out[k] = value
        value += step
        k += 1


@op
def prepare_columns(i, nextcarry, nextoffsets, offsets, size, outlength, elements, multiples):
    # A group is a column of a segment of lists: its elements are `rows` places in a row. The thread of
    # a group writes these up to the next multiple of STEP; every multiple of STEP inside of a group has
    # a thread that looks up its own group, and writes on. These threads come first: they take longest.
    origin = offsets[0]
    if i == 0:
        nextoffsets[0] = 0
    if i < multiples:
        place = i * STEP
        outer = upper_bound(offsets, 0, outlength + 1, origin + place // size) - 1
        if 0 <= outer < outlength:
            start = offsets[outer]
            rows = offsets[outer + 1] - start
            local = place - (start - origin) * size
            column = local // max(rows, 1)
            first = place - local + column * rows
            if first < place:
                row = start + place - first
                write_run(nextcarry, place, min(first + rows, elements), row * size + column, size)
    elif i < multiples + outlength * size:
        group = i - multiples
        outer = group // size
        column = group - outer * size
        start = offsets[outer]
        rows = offsets[outer + 1] - start
        first = (start - origin) * size + column * rows
        nextoffsets[group + 1] = first + rows
        if first >= 0:
            write_run(nextcarry, first, min(first + rows, elements), start * size + column, size)


@kernel("awkward_RegularArray_reduce_nonlocal_preparenext_64")
def reduce_nonlocal_preparenext(nextcarry, nextoffsets, offsets, size, length, outlength):
    """Groups the elements of each segment of lists by their place in the list: one launch, over groups,
    balanced however long they are."""
    elements = nextcarry.shape[0]
    multiples = -(-elements // STEP)
    n = max(multiples + outlength * size, 1)
    transform(prepare_columns, n, nextcarry, nextoffsets, offsets, size, outlength, elements, multiples)


@op
def padded_element(k, toindex, target, size):
    i = k // target
    j = k - i * target
    toindex[k] = i * size + j if j < size else -1


@kernel("awkward_RegularArray_rpad_and_clip_axis1")
def rpad_and_clip_axis1(toindex, target, size, length):
    """Lists cut, or padded with None, to `target` elements: one launch over elements."""
    transform(padded_element, length * target, toindex, target, size)


@op
def write_combination(position, tocarry, n, replacement, size, count):
    # Counted from the last combination, of which the complements of the indexes are the digits in the
    # combinatorial number system: https://en.wikipedia.org/wiki/Combinatorial_number_system
    i = position // count
    rank = (i + 1) * count - 1 - position
    choices = size + (n - 1 if replacement else 0)
    digit = choices
    for k in range(n):
        digit = largest_binomial(rank, n - k, digit)
        rank -= binomial(digit, n - k)
        index = choices - 1 - digit - (k if replacement else 0)
        store_int64(tocarry[k], position, i * size + index)


@kernel("awkward_RegularArray_combinations_64")
def combinations(tocarry, toindex, fromindex, n, replacement, size, length):
    """All lists' combinations of n elements, in lexicographic order: one launch over combinations."""
    count = math.comb(max(size + n - 1, 0) if replacement else size, n)
    transform(write_combination, length * count, tocarry, n, replacement, size, count)
