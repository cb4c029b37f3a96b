"""RegularArray: a size and a length."""

from __future__ import annotations

import numpy as np
from harness import Out, OutPointers

from . import SEGMENTS, generator
from .listarray import combinations_count

#: Lengths and sizes.
REGULAR = (
    (0, 0),
    (0, 3),
    (1, 1),
    (1, 0),
    (7, 0),
    (7, 3),
    (255, 1),
    (256, 2),
    (257, 3),
    (2, 1500),
    (1500, 2),
    (30001, 3),
)


@generator("awkward_RegularArray_combinations_64")
def combinations(c):
    for length, size, n in (
        *((length, size, 2) for length, size in REGULAR if size < 1000),
        *((9, 5, n) for n in (1, 3, 4, 5, 6)),
        (257, 4, 3),
        (1, 400, 2),
        (2, 40, 3),
        (1, 12, 6),
    ):
        for replacement in (False, True):
            total = sum(combinations_count([size] * length, n, replacement))
            yield (
                f"{length} of {size}, n={n}, {replacement}",
                {
                    "tocarry": OutPointers((total,) * n),
                    "toindex": Out(n, compare=False),
                    "fromindex": Out(n, compare=False),
                    "n": n,
                    "replacement": replacement,
                    "size": size,
                    "length": length,
                },
            )


@generator("awkward_RegularArray_getitem_carry")
def getitem_carry(c):
    for n, size in REGULAR:
        yield (
            f"{n} of {size}",
            {
                "tocarry": Out(n * size),
                "fromcarry": c.rng.integers(0, 10 * n + 1, n),
                "lencarry": n,
                "size": size,
            },
        )


@generator("awkward_RegularArray_getitem_jagged_expand")
def jagged_expand(c):
    for n, size in REGULAR:
        yield (
            f"{n} of {size}",
            {
                "multistarts": Out(n * size),
                "multistops": Out(n * size),
                "singleoffsets": c.offsets(size, start=3),
                "regularsize": size,
                "regularlength": n,
            },
        )


@generator("awkward_RegularArray_getitem_next_array")
def next_array(c):
    for n, lenarray in REGULAR:
        for size in (1, 10):
            yield (
                f"{lenarray} into {n} of {size}",
                {
                    "tocarry": Out(n * lenarray),
                    "toadvanced": Out(n * lenarray),
                    "fromarray": c.rng.integers(0, size, lenarray),
                    "length": n,
                    "lenarray": lenarray,
                    "size": size,
                },
            )


@generator("awkward_RegularArray_getitem_next_array_advanced")
def next_array_advanced(c):
    for n in (0, 1, 7, 255, 256, 257, 3000, 70001):
        for size in (1, 10):
            yield (
                f"{n} of {size}",
                {
                    "tocarry": Out(n),
                    "toadvanced": Out(n),
                    "fromadvanced": c.rng.integers(0, 20, n),
                    "fromarray": c.rng.integers(0, size, 20),
                    "length": n,
                    "size": size,
                },
            )


@generator("awkward_RegularArray_getitem_next_array_regularize")
def regularize(c):
    def call(array, size):
        return {"toarray": Out(len(array)), "fromarray": array, "lenarray": len(array), "size": size}

    for n in (0, 1, 7, 255, 256, 257, 3000, 70001):
        for size in (1, 10):
            yield f"{n} of {size}", call(c.rng.integers(-size, size, n), size)
    for name, n, where in c.places():
        for label, wrong in (("large", 10), ("small", -11), ("largest", 2**63 - 1), ("smallest", -(2**63))):
            array = c.rng.integers(-10, 10, n)
            array[where] = wrong
            yield f"{label}, {name}", call(array, 10)
    array = c.rng.integers(-10, 10, 600)
    array[[200, 100]] = (70, -80)
    yield "which attempt", call(array, 10)
    yield "size 0", call(np.zeros(3, np.int64), 0)


@generator("awkward_RegularArray_getitem_next_at")
def next_at(c):
    # An index out of range is an error even of an array of length 0.
    for n in (0, 1, 7, 255, 256, 257, 3000, 70001):
        for size in (0, 1, 5):
            for at in (0, 2, 4, 5, -1, -5, -6):
                yield f"{at} of {n} of {size}", {"tocarry": Out(n), "at": at, "length": n, "size": size}
    for at in (2**63 - 1, -(2**63)):
        yield f"extreme {at}", {"tocarry": Out(9), "at": at, "length": 9, "size": 5}


@generator("awkward_RegularArray_getitem_next_range")
def next_range(c):
    for n, nextsize in REGULAR:
        for start, step in ((0, 1), (2, 3), (3 * nextsize, -2)):
            yield (
                f"{n} of {nextsize} from {start} by {step}",
                {
                    "tocarry": Out(n * nextsize),
                    "regular_start": start,
                    "step": step,
                    "length": n,
                    "size": 4 * nextsize + 1,
                    "nextsize": nextsize,
                },
            )


@generator("awkward_RegularArray_getitem_next_range_spreadadvanced")
def next_range_spreadadvanced(c):
    for n, nextsize in REGULAR:
        yield (
            f"{n} of {nextsize}",
            {
                "toadvanced": Out(n * nextsize),
                "fromadvanced": c.rng.integers(0, 1000, n),
                "length": n,
                "nextsize": nextsize,
            },
        )


@generator("awkward_RegularArray_localindex")
def localindex(c):
    for n, size in REGULAR:
        yield f"{n} of {size}", {"toindex": Out(n * size), "size": size, "length": n}


@generator("awkward_RegularArray_reduce_local_nextparents_64")
def local_nextparents(c):
    for n, size in REGULAR:
        yield f"{n} of {size}", {"nextparents": Out(n * size), "size": size, "length": n}


@generator("awkward_RegularArray_reduce_nonlocal_preparenext_64")
def nonlocal_preparenext(c):
    for name, n, kind, start in SEGMENTS:
        offsets = c.offsets(n, kind, start)
        rows = int(offsets[-1] - offsets[0])
        for size in (0, 1, 3):
            yield (
                f"{name}, size {size}",
                {
                    "nextcarry": Out(rows * size),
                    "nextoffsets": Out(n * size + 1),
                    "offsets": offsets,
                    "size": size,
                    "length": int(offsets[-1]),
                    "outlength": n,
                },
            )


@generator("awkward_RegularArray_rpad_and_clip_axis1")
def rpad_and_clip(c):
    for n, size in REGULAR:
        for target in sorted({0, size, size + 3, max(size - 1, 0)}):
            yield (
                f"{n} of {size}, target {target}",
                {
                    "toindex": Out(n * target),
                    "target": target,
                    "size": size,
                    "length": n,
                },
            )
