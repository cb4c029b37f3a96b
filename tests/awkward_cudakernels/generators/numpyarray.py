"""NumpyArray: positions of reductions and sorts, unique values, equal ranges, runs of parents."""

from __future__ import annotations

import numpy as np
from harness import InOut, Out

from . import LENGTHS, SEGMENTS, generator, segments_of


@generator("awkward_NumpyArray_rearrange_shifted")
def rearrange_shifted(c):
    for name, n, kind, start in SEGMENTS:
        offsets = c.offsets(n, kind, start)
        counts = np.diff(offsets)
        order = np.concatenate([c.rng.permutation(x) for x in counts]) if n else np.zeros(0)
        total = len(order)
        for label, length in (("", total), (", fewer shifts", max(total - 3, 0))):
            yield (
                f"{name}{label}",
                {
                    "toptr": InOut(order.astype(np.int64)),
                    "fromshifts": c.rng.integers(0, 9, int(offsets[-1])),
                    "length": length,
                    "fromoffsets": offsets,
                    "outlength": n,
                    "fromparents": segments_of(offsets).astype(np.int64),
                    "fromstarts": c.rng.integers(0, 100, n),
                },
            )


def _positions(c):
    """What argmin and argmax give for each segment: a position in it, or -1 in an empty one."""
    for name, n, kind, start in SEGMENTS:
        offsets = c.offsets(n, kind, start)
        counts = np.diff(offsets)
        where = np.where(counts == 0, -1, offsets[:-1] + c.rng.integers(0, np.maximum(counts, 1)))
        for label, starts in (("", offsets[:-1].copy()), (", other starts", c.rng.integers(0, 99, n))):
            yield (
                f"{name}{label}",
                {
                    "toptr": InOut(where.astype(np.int64)),
                    "outlength": n,
                    "offsets": offsets,
                    "starts": starts,
                },
            )


@generator("awkward_NumpyArray_reduce_adjust_starts_64")
def adjust_starts(c):
    yield from _positions(c)


@generator("awkward_NumpyArray_reduce_adjust_starts_shifts_64")
def adjust_starts_shifts(c):
    for name, values in _positions(c):
        yield name, {**values, "shifts": c.rng.integers(0, 50, int(values["offsets"][-1]))}


@generator("awkward_NumpyArray_subrange_equal", "awkward_NumpyArray_subrange_equal_bool")
def subrange_equal(c):
    dtype = c.dtype("tmpptr")

    def call(segments, order=None):
        """Ranges with gaps between them, in any order."""
        values = [x for segment in segments for x in (*segment, 1)]
        counts = np.array([len(x) for x in segments], np.int64)
        starts = np.cumsum(counts + 1) - counts - 1
        return {
            "tmpptr": np.array(values).astype(dtype),
            "fromstarts": starts,
            "fromstops": starts + counts,
            "length": len(segments),
            "toequal": Out(1),
        }

    for n in (0, 1, 2, 3, 7, 40, 255, 256, 257):
        for label, longest, values in (("ties", 3, 2), ("few ties", 4, 90), ("same length", 0, 2)):
            lengths = c.rng.integers(0, longest + 1, n) if longest else np.full(n, 3)
            yield f"{n} {label}", call([c.rng.integers(0, values, x) for x in lengths])
    a, b, x = [1, 0, 1], [1, 1, 1], [0]
    for name, segments in (
        ("equal", [a, a, x]),
        ("different", [a, b, x]),
        ("the last range does not count", [a, b, b]),
        ("the last pair decides: equal", [a, b, x, a, a, x]),
        ("the last pair decides: different", [a, a, x, a, b, x]),
        ("other lengths after it", [a, b, b, x, [], x]),
        ("no pair", [a, x, [], []]),
        ("empty ranges", [[], [], x]),
        ("all the same", [a] * 100),
        ("pairs of two lengths", [a, x, b, x, [1], x]),
    ):
        yield name, call(segments)
    if dtype.kind == "f":
        nan = np.nan
        yield "NaN", call([[nan, 1], [nan, 1], x])
        yield "signed zeros", call([[-0.0, 1], [0.0, 1], x])
    if dtype.kind in "iu":
        ends = [np.iinfo(dtype).min, np.iinfo(dtype).max]
        yield "ends, equal", {**call([[0, 0], [0, 0], x]), "tmpptr": np.array([*ends, 1] * 2 + [1, 0], dtype)}
        other = np.array([*ends, 1, ends[0], ends[1] - 1, 1, 1, 0], dtype)
        yield "ends, different", {**call([[0, 0], [0, 0], x]), "tmpptr": other}


def _kept(out):
    return int(out["tooffsets"][-1])


# In place: what is after the values that are kept is left over. An empty range, or a NaN at the start of one without
# room before it, makes the compiled kernel overwrite what it has yet to read: awkward gives it neither of the first.
@generator("awkward_unique_ranges", "awkward_unique_ranges_bool", relevant={"toptr": _kept})
def unique_ranges(c):
    dtype = c.dtype("toptr")

    def call(values, offsets):
        return {
            "toptr": InOut(values.astype(dtype)),
            "fromoffsets": offsets.astype(np.int64),
            "offsetslength": len(offsets),
            "tooffsets": Out(len(offsets)),
        }

    for n in LENGTHS:
        if n == 3000:
            continue
        for kind in ("mixed", "ties", "zeros") if dtype.kind != "b" else ("mixed", "ties"):
            offsets = c.offsets(n, "nonempty")
            values = c.values(int(offsets[-1]), dtype, kind)
            yield f"{n} {kind}, not sorted", call(values, offsets)
            for start, stop in zip(offsets[:-1], offsets[1:]):
                values[start:stop].sort()
            yield f"{n} {kind}, sorted", call(values, offsets)
    offsets = np.array([0, 1000, 1001, 1900])
    yield "skewed", call(np.sort(c.values(1900, dtype, "ties")), offsets)
    offsets = np.array([0, 3, 5, 9]) + 4
    yield "from 4", call(c.values(13, dtype, "ties"), offsets)
    yield "more values than offsets", call(c.values(20, dtype, "ties"), offsets)
    if dtype.kind == "f":
        nan, offsets = np.nan, np.array([0, 3, 6, 10])
        yield "NaN", call(np.array([1, 1, 1, nan, nan, 2, 0, nan, nan, 5]), offsets)
        yield "signed zeros", call(np.array([-0.0, 0.0, 1, 0.0, -0.0, 2, -0.0, -0.0, 0.0, 5]), offsets)


@generator("awkward_unique_offsets")
def unique_offsets(c):
    def call(fromoffsets, starts):
        # One output for each start, and one after the last; a run of equal starts repeats its offset.
        runs = (
            np.flatnonzero(np.concatenate([[True], starts[1:] != starts[:-1]]))
            if len(starts)
            else np.zeros(0)
        )
        spare = max(len(fromoffsets) - len(runs), 0)
        return {
            "tooffsets": Out(len(starts) + max(spare, 1)),
            "length": len(fromoffsets),
            "fromoffsets": fromoffsets,
            "starts": starts,
            "startslength": len(starts),
        }

    for name, n, kind, start in SEGMENTS:
        offsets = c.offsets(n, kind, start)
        kept = np.flatnonzero(np.diff(offsets))
        fewer = np.minimum(np.diff(offsets)[kept], c.rng.integers(1, 4, len(kept)))
        yield name, call(np.concatenate([[0], np.cumsum(fewer)]).astype(np.int64), offsets[:-1].copy())
    starts = np.array([0, 0, 4, 4, 4, 7, 9, 9], np.int64)
    yield "empty first and last", call(np.array([0, 3, 5, 8, 8], np.int64), starts)
    # More offsets than runs of starts: each further one takes the next place.
    yield "more offsets", call(np.arange(0, 30, 3), starts)


@generator("awkward_sorting_ranges_length")
def sorting_ranges_length(c):
    for name, parents in _parents(c):
        yield name, {"tolength": Out(1), "parents": parents, "parentslength": len(parents)}


def _parents(c):
    for name, n, kind, start in SEGMENTS:
        yield name, segments_of(c.offsets(n, kind, start)).astype(np.int64)
    yield "not sorted", c.rng.integers(-1, 2, 1000)


@generator("awkward_sorting_ranges")
def sorting_ranges(c):
    for name, parents in _parents(c):
        n = 2 + int((np.diff(parents) != 0).sum())
        yield (
            name,
            {
                "toindex": Out(n),
                "tolength": n,
                "parents": parents,
                "parentslength": len(parents),
            },
        )
