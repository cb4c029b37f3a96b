"""ListOffsetArray: offsets."""

from __future__ import annotations

import numpy as np
from harness import Out

from . import LENGTHS, SEGMENTS, Context, generator


def _segments(c: Context, name: str):
    for label, n, kind, start in SEGMENTS:
        yield label, c.offsets(n, kind, start, c.dtype(name))


@generator("awkward_ListOffsetArray_drop_none_indexes")
def drop_none_indexes(c):
    dtype = c.dtype("fromoffsets")

    def call(offsets, noneindexes):
        return {
            "tooffsets": Out(len(offsets)),
            "noneindexes": noneindexes,
            "fromoffsets": offsets,
            "length_offsets": len(offsets),
            "length_indexes": len(noneindexes),
        }

    for i, (name, offsets) in enumerate(_segments(c, "fromoffsets")):
        for nones in (0.3, (0, 1)[i % 2]):
            yield (
                f"{name}, nones {nones}",
                call(offsets, c.index(int(offsets[-1]) + i % 3, 100, dtype, nones)),
            )
    yield "no offsets", call(np.zeros(0, dtype), c.index(5, 100, dtype))
    for n in (1, 11, 600):
        offsets = c.offsets(n, "nonempty", dtype=dtype)
        yield f"beyond content, {n}", call(offsets, c.index(int(offsets[-1]) - 1, 100, dtype))


@generator("awkward_ListOffsetArray_flatten_offsets")
def flatten_offsets(c):
    for name, outer in _segments(c, "outeroffsets"):
        yield (
            name,
            {
                "tooffsets": Out(len(outer)),
                "outeroffsets": outer,
                "outeroffsetslen": len(outer),
                "inneroffsets": c.offsets(int(outer[-1]), start=4),
            },
        )


@generator("awkward_ListOffsetArray_local_preparenext_64")
def local_preparenext(c):
    # Without ties: the compiled kernel's sort is not stable, and what awkward sorts is a permutation.
    for n in LENGTHS:
        for label, values in (
            ("permutation", c.rng.permutation(n)),
            ("sorted", np.arange(n)),
            ("descending", np.arange(n)[::-1].copy()),
            ("sparse", c.rng.permutation(10 * n)[:n] - 5 * n),
        ):
            yield f"{n} {label}", {"tocarry": Out(n), "fromindex": values.astype(np.int64), "length": n}


@generator("awkward_ListOffsetArray_reduce_local_nextparents_64")
def local_nextparents(c):
    for name, offsets in _segments(c, "offsets"):
        total = int(offsets[-1]) - int(offsets[0])
        for label, n in (("", total), (", longer", total + 5), (", clipped", max(total - 3, 0))):
            yield (
                f"{name}{label}",
                {
                    "nextparents": Out(n),
                    "offsets": offsets,
                    "length": len(offsets) - 1,
                    "nextparents_length": n,
                },
            )


@generator("awkward_ListOffsetArray_reduce_nonlocal_maxcount_offsetscopy_64")
def maxcount(c):
    for name, offsets in _segments(c, "offsets"):
        yield (
            name,
            {
                "maxcount": Out(1),
                "offsetscopy": Out(len(offsets)),
                "offsets": offsets,
                "length": len(offsets) - 1,
            },
        )


def _nonlocal(c: Context):
    """Rows in outer bins, each row a list: a name, the outer bins, the rows, the longest row."""
    for name, bins, kind, start, rows, first in (
        ("empty", 0, "random", 0, "random", 0),
        ("one", 1, "nonempty", 0, "nonempty", 0),
        ("one empty bin", 1, "zero", 0, "random", 0),
        ("all rows empty", 4, "random", 0, "zero", 0),
        ("all bins empty", 4, "zero", 0, "random", 0),
        ("small", 7, "random", 0, "random", 0),
        ("rows from 3", 9, "random", 0, "random", 3),
        ("bins from 2", 9, "nonempty", 2, "random", 0),
        ("regular", 30, "nonempty", 0, "nonempty", 0),
        ("256", 256, "random", 0, "random", 0),
        ("257", 257, "nonempty", 0, "random", 5),
        ("skewed bins", 40, "skewed", 0, "random", 0),
        ("skewed rows", 10, "random", 0, "skewed", 0),
        ("one bin of 2000", 1, "long", 0, "random", 0),
        ("1000", 1000, "random", 0, "random", 0),
    ):
        outer = c.offsets(bins, kind, start)
        offsets = c.offsets(int(outer[-1]), rows, first)
        yield name, outer, offsets, int(np.diff(offsets).max(initial=0))


def _nextcarry(outer, offsets, longest):
    """The elements by (outer bin, column, row)."""
    counts = np.diff(offsets)
    out = []
    for start, stop in zip(outer[:-1], outer[1:]):
        for column in range(int(counts[start:stop].max(initial=0))):
            rows = np.arange(start, stop)[counts[start:stop] > column]
            out.append(offsets[rows] + column)
    return np.concatenate(out).astype(np.int64) if out else np.zeros(0, np.int64)


@generator("awkward_ListOffsetArray_reduce_nonlocal_preparenext_64")
def nonlocal_preparenext(c):
    for name, outer, offsets, longest in _nonlocal(c):
        n = len(outer) - 1
        total = int(offsets[outer[-1]] - offsets[outer[0]])
        yield (
            name,
            {
                "nextcarry": Out(total),
                "nextoffsets": Out(n * longest + 1),
                "nextlen": total,
                "maxnextparents": Out(1),
                "distincts": Out(n * longest),
                "distinctslen": n * longest,
                "offsetscopy": offsets.copy(),
                "offsets": offsets,
                "length": len(offsets) - 1,
                "outer_offsets": outer,
                "outlength": n,
                "maxcount": longest,
            },
        )


@generator("awkward_ListOffsetArray_reduce_nonlocal_nextshifts_64")
def nonlocal_nextshifts(c):
    for name, outer, offsets, longest in _nonlocal(c):
        carry = _nextcarry(outer, offsets, longest)
        yield (
            name,
            {
                # Neither is read afterwards: the first is a counter per column, the second the shifts before the carry.
                "nummissing": Out(longest, compare=False),
                "missing": Out(int(offsets[-1]), compare=False),
                "nextshifts": Out(len(carry)),
                "offsets": offsets,
                "length": len(offsets) - 1,
                "starts": outer[:-1].copy(),
                "outer_offsets": outer,
                "outlength": len(outer) - 1,
                "maxcount": longest,
                "nextlen": len(carry),
                "nextcarry": carry,
            },
        )


@generator("awkward_ListOffsetArray_reduce_nonlocal_outstartsstops_64")
def outstartsstops(c):
    def call(distincts, outlength):
        return {
            "outstarts": Out(outlength),
            "outstops": Out(outlength),
            "distincts": distincts.astype(np.int64),
            "lendistincts": len(distincts),
            "outlength": outlength,
        }

    for name, n, maxcount in (
        ("empty", 0, 0),
        ("no columns", 7, 0),
        ("one", 1, 1),
        ("255", 255, 1),
        ("256", 256, 3),
        ("257", 257, 5),
        ("long", 2, 1500),
        ("1000", 1000, 4),
    ):
        distincts = np.arange(n * maxcount)
        yield f"{name}, full", call(distincts, n)
        yield f"{name}, none", call(np.full(n * maxcount, -1), n)
        yield f"{name}, holes", call(np.where(c.rng.random(n * maxcount) < 0.5, -1, distincts), n)
        columns = c.rng.integers(0, maxcount + 1, n)
        ragged = np.arange(maxcount)[None, :] < columns[:, None]
        yield f"{name}, ragged", call(np.where(ragged.reshape(-1), distincts, -1), n)


@generator("awkward_ListOffsetArray_rpad_and_clip_axis1")
def rpad_and_clip(c):
    for name, offsets in _segments(c, "fromoffsets"):
        n = len(offsets) - 1
        for target in (0, 1, 3, 10):
            yield (
                f"{name}, target {target}",
                {
                    "toindex": Out(n * target),
                    "fromoffsets": offsets,
                    "length": n,
                    "target": target,
                },
            )


@generator("awkward_ListOffsetArray_rpad_axis1")
def rpad(c):
    for name, offsets in _segments(c, "fromoffsets"):
        for target in (0, 3, 10):
            yield (
                f"{name}, target {target}",
                {
                    "toindex": Out(int(np.maximum(np.diff(offsets.astype(np.int64)), target).sum())),
                    "fromoffsets": offsets,
                    "fromlength": len(offsets) - 1,
                    "target": target,
                },
            )


@generator("awkward_ListOffsetArray_rpad_length_axis1")
def rpad_length(c):
    for name, offsets in _segments(c, "fromoffsets"):
        for target in (0, 3, 10):
            yield (
                f"{name}, target {target}",
                {
                    "tooffsets": Out(len(offsets)),
                    "fromoffsets": offsets,
                    "fromlength": len(offsets) - 1,
                    "target": target,
                    "tolength": Out(1),
                },
            )


@generator("awkward_ListOffsetArray_toRegularArray")
def to_regular(c):
    dtype = c.dtype("fromoffsets")

    def call(offsets):
        return {"size": Out(1), "fromoffsets": offsets.astype(dtype), "offsetslength": len(offsets)}

    for n in LENGTHS:
        for size in (0, 1, 7):
            yield f"{n} of {size}", call(5 + size * np.arange(n + 1))
    yield "no offsets", call(np.zeros(0, np.int64))
    for name, n, where in c.places():
        counts = np.full(n, 4)
        counts[where] = 3
        yield f"not regular, {name}", call(np.concatenate([[0], np.cumsum(counts)]))
        counts[where] = -1
        yield f"decreasing, {name}", call(2 * n + np.concatenate([[0], np.cumsum(counts)]))
    for first, second in ((100, 400), (400, 100), (0, 1), (1, 0)):
        counts = np.full(600, 4)
        counts[first], counts[second] = 3, -2
        yield f"both, {first} and {second}", call(50 + np.concatenate([[0], np.cumsum(counts)]))
