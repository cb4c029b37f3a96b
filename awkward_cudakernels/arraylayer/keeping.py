"""Some elements of lists, kept in their order: by a mask, or those of an option that are there.

How many elements before one are kept, its rank, is stored for every fourth element only: the rest of it is counted
from what keeps them, which is less to read and write.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from awkward.index import Index64

from primitives import device_function, op, scan, transform

from ..kernels.listarray import rank_dtype
from .arrays import copy_element

ZERO, NONZERO, NOT_NEGATIVE = 0, 1, 2
"""Which elements are kept, by their numbers in a mask or an index."""


@device_function
def kept(by, i, rule):
    return by[i] >= 0 if rule == NOT_NEGATIVE else (by[i] != 0) == (rule == NONZERO)


@device_function
def rank_of(i, ranks, by, rule):
    rank, behind = ranks[i >> 2], i & 3
    # Of what is before them, whatever it is, so that no load waits for a comparison.
    first, second, third = (
        np.int64(kept(by, max(i - 1, 0), rule)),
        np.int64(kept(by, max(i - 2, 0), rule)),
        np.int64(kept(by, max(i - 3, 0), rule)),
    )
    return rank + (first if behind > 0 else 0) + (second if behind > 1 else 0) + (third if behind > 2 else 0)


@op
def is_kept(i, keep, by, rule):
    keep[0] = kept(by, i, rule)


@op
def store_rank(i, before, after, ranks):
    if (i & 3) == 0:
        ranks[i >> 2] = before


@op
def offset_of_kept(i, nextoffsets, offsets, total, n, ranks, by, rule):
    at = offsets[i]
    if at >= n:
        nextoffsets[i] = total[0]
    else:
        nextoffsets[i] = rank_of(max(at, 0), ranks, by, rule)


def ranks_and_offsets(by: Any, rule: int, offsets: Any) -> tuple[Any, Any]:
    """Of elements of lists, of which some are kept: every fourth one's rank, and the offsets of those kept.

    Args:
        by: a number for each element, from which the rule tells whether it is kept.
        rule: one of `ZERO`, `NONZERO` and `NOT_NEGATIVE`.
        offsets: from 0 on, an `Index` on the device.

    Two launches.
    """
    nplike, n = offsets.nplike, int(offsets[-1])
    ranks = nplike.empty((n + 3) // 4, dtype=np.dtype(rank_dtype(n)))
    total = nplike.empty(1, dtype=np.int64)
    scan(n, (is_kept, by, rule), (store_rank, ranks), total=total, dtype="flag")
    nextoffsets = nplike.empty(offsets.length, dtype=np.int64)
    transform(offset_of_kept, offsets.length, nextoffsets, offsets.data, total, n, ranks, by, rule)
    return ranks, Index64(nextoffsets, nplike=nplike)


@op
def kept_value(i, out, ranks, by, rule, x):
    value, rank = x[i], rank_of(i, ranks, by, rule)  # whether it is kept or not: no load waits for another
    if kept(by, i, rule):
        out[rank] = value


@op(errors=("index out of range",))
def kept_indexed_value(i, out, ranks, index, rule, x, n):
    j, rank = index[i], rank_of(i, ranks, index, rule)
    if kept(index, i, rule):
        copy_element(out, rank, x, j, n)
        if j >= n:
            return 1, j


@op
def kept_position(i, carry, ranks, by, rule):
    if kept(by, i, rule):
        carry[rank_of(i, ranks, by, rule)] = i


@op
def kept_local(segment, position, local, out, ranks, by, rule):
    if kept(by, position, rule):
        out[rank_of(position, ranks, by, rule)] = local


@op(errors=("stops[i] < starts[i]", "stops[i] > len(content)", "index out of range"))
def kept_in_list(segment, position, local, carry, ranks, by, rule, starts, stops, contentlength):
    if kept(by, position, rule):
        at = rank_of(position, ranks, by, rule)
        carry[at] = 0
        length = stops[segment] - starts[segment]
        if length < 0:
            return 1
        if length != 0 and stops[segment] > contentlength:
            return 2
        if local >= length:
            return 3, local
        carry[at] = starts[segment] + local
