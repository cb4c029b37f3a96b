"""Some elements of lists, kept in their order: by a mask, or those of an option that are there.

Which are kept is read once; whoever needs to know it again, and how many are kept before an element, reads half a byte
for each instead of the mask and a prefix sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from awkward.contents import ByteMaskedArray
from awkward.index import Index64

from primitives import bit_at, device_function, op, rank_at, ranked_bits, transform

from .arrays import copy_element

ZERO, NONZERO, NOT_NEGATIVE, ONE = 0, 1, 2, 3
"""Which elements are kept, by their numbers in a mask or an index."""


@device_function
def keeps(number, rule):
    """Whether an element is kept, by its number."""
    if rule == NOT_NEGATIVE:
        return number >= 0
    if rule == ONE:
        return number == 1
    return (number != 0) == (rule == NONZERO)


@op
def is_kept(i, keep, by, rule):
    keep[0] = keeps(by[i], rule)


@op
def offset_of_kept(i, nextoffsets, offsets, total, n, bits):
    at = offsets[i]
    if at >= n:
        nextoffsets[i] = total[0]
    else:
        nextoffsets[i] = rank_at(bits, max(at, 0))


@op
def kept_range(i, nextstarts, nextstops, bits, starts, stops):
    start, stop, rank = starts[i], stops[i], rank_at(bits, i)
    if bit_at(bits, i):
        nextstarts[rank] = start
        nextstops[rank] = stop


def what_is_there(option: Any) -> tuple[Any, int]:
    """Of a `ByteMaskedArray` or an `IndexedOptionArray`: the array and the rule of which elements are not None.

    awkward's broadcasting takes bytes other than 0 and 1 for what is missing.
    """
    if type(option) is ByteMaskedArray:
        return option._mask._data, ONE if option._valid_when else ZERO
    return option._index._data, NOT_NEGATIVE


def bits_and_total(by: Any, rule: int, n: int, nplike: Any) -> tuple[Any, Any]:
    """Which of the first `n` elements are kept, as `ranked_bits`, and how many, on the device: one launch."""
    bits = nplike.empty((n + 15) // 16, dtype=np.int64)
    total = nplike.empty(1, dtype=np.int64)
    ranked_bits((is_kept, by, rule), n, bits, total=total)
    return bits, total


def bits_and_offsets(by: Any, rule: int, offsets: Any) -> tuple[Any, Any]:
    """Of elements of lists, of which some are kept: which, as `ranked_bits`, and the offsets of those.

    Args:
        by: a number for each element, from which the rule tells whether it is kept.
        rule: one of `ZERO`, `NONZERO` and `NOT_NEGATIVE`.
        offsets: from 0 on, an `Index` on the device.

    Two launches.
    """
    nplike, n = offsets.nplike, int(offsets[-1])
    bits, total = bits_and_total(by, rule, n, nplike)
    nextoffsets = nplike.empty(offsets.length, dtype=np.int64)
    transform(offset_of_kept, offsets.length, nextoffsets, offsets.data, total, n, bits)
    return bits, Index64(nextoffsets, nplike=nplike)


@op
def kept_value(i, out, bits, x):
    value, rank = x[i], rank_at(bits, i)  # whether it is kept or not: no load waits for another
    if bit_at(bits, i):
        out[rank] = value


@op(errors=("index out of range",))
def kept_indexed_value(i, out, bits, index, x, n):
    j, rank = index[i], rank_at(bits, i)
    if bit_at(bits, i):
        copy_element(out, rank, x, j, n)
        if j >= n:
            return 1, j


@op
def kept_position(i, carry, bits):
    if bit_at(bits, i):
        carry[rank_at(bits, i)] = i


@op
def kept_local(segment, position, local, out, bits):
    if bit_at(bits, position):
        out[rank_at(bits, position)] = local


@op(errors=("stops[i] < starts[i]", "stops[i] > len(content)", "index out of range"))
def kept_in_list(segment, position, local, carry, bits, starts, stops, contentlength):
    if bit_at(bits, position):
        at = rank_at(bits, position)
        carry[at] = 0
        length = stops[segment] - starts[segment]
        if length < 0:
            return 1
        if length != 0 and stops[segment] > contentlength:
            return 2
        if local >= length:
            return 3, local
        carry[at] = starts[segment] + local
