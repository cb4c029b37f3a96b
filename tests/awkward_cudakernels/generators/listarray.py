"""ListArray: starts and stops."""

from __future__ import annotations

import math

import numpy as np
from harness import NONE, Out, OutPointers

from . import SEGMENTS, Context, ceiling, generator


def copies(*arrays):
    return tuple(x.copy() for x in arrays)


def signed(dtype) -> bool:
    return np.dtype(dtype).kind == "i"


@generator("awkward_ListArray_broadcast_tooffsets")
def broadcast_tooffsets(c):
    dtype = c.dtype("fromstarts")

    def call(offsets, starts, stops, lencontent):
        return {
            "tocarry": Out(ceiling(offsets)),
            "fromoffsets": offsets,
            "offsetslength": len(offsets),
            "fromstarts": starts,
            "fromstops": stops,
            "lencontent": lencontent,
        }

    def offsets_of(lists, first=0):
        return np.concatenate([[first], first + np.cumsum(lists.counts)]).astype(np.int64)

    for name, x in c.list_shapes(dtype):
        yield name, call(offsets_of(x), x.starts, x.stops, x.lencontent)
    x = c.lists(20, "shuffled", dtype)
    yield "offsets from 4", call(offsets_of(x, 4), x.starts, x.stops, x.lencontent)
    yield "no offsets", call(np.zeros(0, np.int64), x.starts[:0], x.stops[:0], 0)

    for name, n, where in c.places():
        x = c.lists(n, "gaps", dtype, c.counts(n, "nonempty"))
        starts, stops = copies(x.starts, x.stops)
        starts[where] += 1000
        stops[where] += 1000
        yield f"beyond content, {name}", call(offsets_of(x), starts, stops, x.lencontent)
        offsets = offsets_of(x)
        for i in where:
            offsets[i + 1] = max(offsets[i] - 1, 0) if i else offsets[i] - 1
        if (offsets >= 0).all():
            yield f"decreasing offsets, {name}", call(offsets, x.starts, x.stops, x.lencontent)
        starts = x.starts.copy()
        starts[where] += 1
        yield f"other length, {name}", call(offsets_of(x), starts, x.stops, x.lencontent)
    x = c.lists(600, "gaps", dtype, c.counts(600, "nonempty"))
    first = offsets_of(x, 7)
    first[1] = 6
    yield "decreasing first", call(first, x.starts, x.stops, x.lencontent)
    for name, order in (
        ("beyond, other, decreasing", (100, 300, 500)),
        ("decreasing first", (500, 300, 100)),
    ):
        starts, stops, offsets = copies(x.starts, x.stops, offsets_of(x))
        starts[order[0]] += 1000
        stops[order[0]] += 1000
        stops[order[1]] -= 1
        offsets[order[2] + 1] = offsets[order[2]] - 1
        yield f"three errors: {name}", call(offsets, starts, stops, x.lencontent)


def combinations_count(counts, n, replacement):
    return [math.comb(int(x) + (n - 1 if replacement else 0), n) if x else 0 for x in counts]


@generator("awkward_ListArray_combinations")
def combinations(c):
    def call(x, n, replacement):
        total = sum(combinations_count(x.counts, n, replacement))
        return {
            "tocarry": OutPointers((total,) * n),
            "toindex": Out(n, compare=False),
            "fromindex": Out(n, compare=False),
            "n": n,
            "replacement": replacement,
            "starts": x.starts,
            "stops": x.stops,
            "length": len(x.starts),
        }

    dtype = c.dtype("starts")
    for name, x, replacement in c.flags(c.list_shapes(dtype)):
        if "skewed" not in name:
            yield f"{name}, n=2", call(x, 2, replacement)
    for replacement in (False, True):
        for n in (1, 3, 4, 5):
            for kind, length in (("gaps", 9), ("shuffled", 300 if n < 4 else 60), ("zero", 4)):
                yield (
                    f"{kind} {length}, n={n}, {replacement}",
                    call(c.lists(length, kind, dtype), n, replacement),
                )
        for n, longest in ((2, 300), (3, 40), (4, 20), (7, 10)):
            x = c.lists(4, "gaps", dtype, np.array([2, longest, 0, 3]))
            yield f"skewed, n={n}, {replacement}", call(x, n, replacement)


@generator("awkward_ListArray_combinations_length")
def combinations_length(c):
    def call(x, n, replacement):
        return {
            "totallen": Out(1),
            "tooffsets": Out(len(x.starts) + 1),
            "n": n,
            "replacement": replacement,
            "starts": x.starts,
            "stops": x.stops,
            "length": len(x.starts),
        }

    dtype = c.dtype("starts")
    for name, x, replacement in c.flags(c.list_shapes(dtype)):
        for n in (2, 3):
            yield f"{name}, n={n}", call(x, n, replacement)
    for replacement in (False, True):
        for n in (1, 4, 5, 10):
            x = c.lists(30, "shuffled", dtype, c.rng.integers(0, 14, 30))
            yield f"n={n}, {replacement}", call(x, n, replacement)
        x = c.lists(5, "gaps", dtype, np.array([0, 100000, 1, 70000, 2]))
        yield f"long lists, n=3, {replacement}", call(x, 3, replacement)


@generator("awkward_ListArray_compact_offsets")
def compact_offsets(c):
    def call(starts, stops):
        return {
            "tooffsets": Out(len(starts) + 1),
            "fromstarts": starts,
            "fromstops": stops,
            "length": len(starts),
        }

    dtype = c.dtype("fromstarts")
    for name, x in c.list_shapes(dtype):
        yield name, call(x.starts, x.stops)
    for name, n, where in c.places():
        x = c.lists(n, "gaps", dtype)
        starts = x.starts.copy()
        starts[where] = x.stops[where] + 1
        yield f"stops < starts, {name}", call(starts, x.stops)


@generator("awkward_ListArray_fill", keeps=True)
def fill(c):
    def call(x, offset, base):
        n = len(x.starts)
        return {
            "tostarts": Out(offset + n + 3),
            "tostartsoffset": offset,
            "tostops": Out(offset + n + 3),
            "tostopsoffset": offset,
            "fromstarts": x.starts,
            "fromstops": x.stops,
            "length": n,
            "base": base,
        }

    for i, (name, x) in enumerate(c.list_shapes(c.dtype("fromstarts"))):
        yield name, call(x, i % 3 * 5, (0, 17, 2**40)[i % 3])
    x = c.lists(9, "gaps", c.dtype("fromstarts"))
    yield "different offsets", {**call(x, 9, -3), "tostartsoffset": 2, "tostopsoffset": 5}


@generator("awkward_ListArray_getitem_jagged_apply")
def jagged_apply(c):
    dtype = c.dtype("fromstarts")

    def slices(counts):
        """Slice lists with gaps, in any order, and valid indexes for lists of these lengths."""
        n = len(counts)
        slicecounts = np.where(counts == 0, 0, c.rng.integers(0, 5, n))
        x = c.lists(n, "shuffled", np.int64, slicecounts)
        index = np.full(x.lencontent, 10**6)
        for start, stop, count in zip(x.starts, x.stops, counts):
            index[start:stop] = c.rng.integers(-count, count, stop - start) if count else 0
        return x, index

    def call(x, s, index, **changes):
        return {
            "tooffsets": Out(len(s.starts) + 1),
            "tocarry": Out(int(np.maximum(s.counts, 0).sum())),
            "slicestarts": s.starts,
            "slicestops": s.stops,
            "sliceouterlen": len(s.starts),
            "sliceindex": index,
            "sliceinnerlen": len(index),
            "fromstarts": x.starts,
            "fromstops": x.stops,
            "contentlen": x.lencontent,
            **changes,
        }

    for name, x in c.list_shapes(dtype):
        yield name, call(x, *slices(x.counts))
    x = c.lists(50, "garbage", dtype)
    s, index = slices(x.counts)
    starts, stops, slicestarts, slicestops = copies(x.starts, x.stops, s.starts, s.stops)
    empty = s.counts == 0
    starts[empty], stops[empty] = 10**6, 5
    slicestarts[empty] = slicestops[empty] = 10**9
    yield (
        "empty slices of invalid lists",
        call(x, s, index, fromstarts=starts, fromstops=stops, slicestarts=slicestarts, slicestops=slicestops),
    )

    kinds = ("slice order", "slice beyond", "order", "beyond", "index")

    def broken(x, s, index, errors):
        starts, stops, slicestarts, slicestops, index = copies(x.starts, x.stops, s.starts, s.stops, index)
        for i, kind in errors:
            if kind == "slice order":
                slicestops[i] = slicestarts[i] - 1
            elif kind == "slice beyond":
                slicestops[i] = len(index) + 1 + i
            elif kind == "order":
                starts[i] = stops[i] + 1
            elif kind == "beyond":
                stops[i] = x.lencontent + 1
            else:
                count = int(stops[i]) - int(starts[i])
                index[slicestarts[i]] = count
                index[slicestops[i] - 1] = -count - 1
        return call(
            x, s, index, fromstarts=starts, fromstops=stops, slicestarts=slicestarts, slicestops=slicestops
        )

    def full(n):
        x = c.lists(n, "shuffled", dtype, c.counts(n, "nonempty"))
        s = c.lists(n, "shuffled", np.int64, c.counts(n, "nonempty"))
        index = np.zeros(s.lencontent, np.int64)
        for start, stop, count in zip(s.starts, s.stops, x.counts):
            index[start:stop] = c.rng.integers(-count, count, stop - start)
        return x, s, index

    for kind in kinds:
        for name, n, where in c.places():
            x, s, index = full(n)
            yield f"error: {kind}, {name}", broken(x, s, index, [(i, kind) for i in where])
    for shift in range(5):
        x, s, index = full(600)
        errors = [(599 - 100 * i, kinds[(i + shift) % 5]) for i in range(5)]
        yield f"five errors, {errors[-1][1]} first", broken(x, s, index, errors)


@generator("awkward_ListArray_getitem_jagged_carrylen")
def jagged_carrylen(c):
    for name, x in c.list_shapes(np.int64):
        yield (
            name,
            {
                "carrylen": Out(1),
                "slicestarts": x.starts,
                "slicestops": x.stops,
                "sliceouterlen": len(x.starts),
            },
        )


@generator("awkward_ListArray_getitem_jagged_descend")
def jagged_descend(c):
    def call(x, s):
        return {
            "tooffsets": Out(len(x.starts) + 1),
            "slicestarts": s.starts,
            "slicestops": s.stops,
            "sliceouterlen": len(x.starts),
            "fromstarts": x.starts,
            "fromstops": x.stops,
        }

    dtype = c.dtype("fromstarts")
    for name, x in c.list_shapes(dtype):
        yield name, call(x, c.lists(len(x.starts), "shuffled", np.int64, x.counts))
    for name, n, where in c.places():
        x = c.lists(n, "gaps", dtype, c.counts(n, "nonempty"))
        s = c.lists(n, "gaps", np.int64, x.counts)
        s.stops[where] += 1
        yield f"other length, {name}", call(x, s)


@generator("awkward_ListArray_getitem_jagged_expand")
def jagged_expand(c):
    dtype = c.dtype("fromstarts")

    def call(n, size, kind="gaps"):
        x = c.lists(n, kind, dtype, np.full(n, size))
        return {
            "multistarts": Out(n * size),
            "multistops": Out(n * size),
            "singleoffsets": c.offsets(size, start=3),
            "tocarry": Out(n * size),
            "fromstarts": x.starts,
            "fromstops": x.stops,
            "jaggedsize": size,
            "length": n,
        }

    for n, size in (
        (0, 3),
        (1, 1),
        (1, 0),
        (7, 0),
        (7, 3),
        (255, 1),
        (256, 2),
        (257, 3),
        (3, 1000),
        (1000, 5),
        (20001, 3),
    ):
        yield f"{n} of {size}", call(n, size, "shuffled" if n % 2 else "gaps")
    for name, n, where in c.places():
        values = call(n, 3)
        values["fromstarts"][where] = values["fromstops"][where] + 1
        yield f"stops < starts, {name}", values
        values = call(n, 3)
        values["fromstops"][where] += 1
        yield f"other size, {name}", values
    for first, second in ((100, 400), (400, 100)):
        values = call(600, 2)
        values["fromstarts"][first] = values["fromstops"][first] + 1
        values["fromstops"][second] += 1
        yield f"both errors, {first} and {second}", values


@generator("awkward_ListArray_getitem_jagged_numvalid", "awkward_ListArray_getitem_jagged_shrink")
def jagged_missing(c):
    shrink = c.specialization.family.endswith("shrink")

    def call(starts, stops, missing):
        n = len(starts)
        values = {"slicestarts": starts, "slicestops": stops, "length": n, "missing": missing}
        if shrink:
            valid = sum(int((missing[a:b] >= 0).sum()) for a, b in zip(starts, stops))
            return {
                **values,
                "tocarry": Out(valid),
                "tosmalloffsets": Out(n + 1),
                "tolargeoffsets": Out(n + 1),
            }
        return {**values, "numvalid": Out(1), "missinglength": len(missing)}

    for name, x in c.list_shapes(np.int64):
        yield name, call(x.starts, x.stops, c.index(x.lencontent, 100, np.int64))
    for nones in (0, 1):
        x = c.lists(300, "shuffled", np.int64)
        yield f"nones {nones}", call(x.starts, x.stops, c.index(x.lencontent, 100, np.int64, nones))
    if shrink:
        return
    for name, n, where in c.places():
        x = c.lists(n, "gaps", np.int64, c.counts(n, "nonempty"))
        missing = c.index(x.lencontent, 100, np.int64)
        stops = x.stops.copy()
        stops[where] = x.starts[where] - 1
        yield f"stops < starts, {name}", call(x.starts, stops, missing)
        stops = x.stops.copy()
        stops[where] = len(missing) + 1 + np.arange(len(where))
        yield f"beyond content, {name}", call(x.starts, stops, missing)
    x = c.lists(600, "gaps", np.int64, c.counts(600, "nonempty"))
    missing = c.index(x.lencontent, 100, np.int64)
    for first, second in ((100, 400), (400, 100)):
        stops = x.stops.copy()
        stops[first] = x.starts[first] - 1
        stops[second] = len(missing) + 1
        yield f"both errors, {first} and {second}", call(x.starts, stops, missing)


def _list_errors(c, call, n_of=None):
    """The two ways in which lists are invalid, alone and together, for kernels that check them."""
    dtype = c.dtype("fromstarts")
    for name, n, where in c.places():
        x = c.lists(n, "gaps", dtype, c.rng.integers(3, 8, n))
        starts = x.starts.copy()
        starts[where] = x.stops[where] + 1
        yield f"stops < starts, {name}", call(starts, x.stops, x.lencontent)
        stops = x.stops.copy()
        stops[where] = x.lencontent + 1
        yield f"beyond content, {name}", call(x.starts, stops, x.lencontent)
    x = c.lists(600, "gaps", dtype, c.rng.integers(3, 8, 600))
    for first, second in ((100, 400), (400, 100)):
        starts, stops = copies(x.starts, x.stops)
        starts[first] = stops[first] + 1
        stops[second] = x.lencontent + 1
        yield f"both errors, {first} and {second}", call(starts, stops, x.lencontent)


@generator("awkward_ListArray_getitem_next_array")
def next_array(c):
    dtype = c.dtype("fromstarts")

    def call(starts, stops, lencontent, array=None):
        if array is None:
            array = np.array([2, -1, 0, -3, 1], np.int64)
        return {
            "tocarry": Out(len(starts) * len(array)),
            "toadvanced": Out(len(starts) * len(array)),
            "fromstarts": starts,
            "fromstops": stops,
            "fromarray": np.asarray(array, np.int64),
            "lenstarts": len(starts),
            "lenarray": len(array),
            "lencontent": lencontent,
        }

    for n in (0, 1, 7, 255, 256, 257, 1000, 20001):
        for kind in ("gaps", "shuffled"):
            x = c.lists(n, kind, dtype, c.rng.integers(3, 8, n))
            yield f"{n} {kind}", call(x.starts, x.stops, x.lencontent)
    x = c.lists(3, "gaps", dtype, np.full(3, 50))
    yield "long array", call(x.starts, x.stops, x.lencontent, c.rng.integers(-50, 50, 700))
    x = c.lists(20, "garbage", dtype)
    yield "empty array", call(x.starts, x.stops, x.lencontent, [])
    yield from _list_errors(c, call)
    for name, n, where in c.places():
        counts = c.rng.integers(3, 8, n)
        counts[where] = 2
        x = c.lists(n, "shuffled", dtype, counts)
        yield f"index too large, {name}", call(x.starts, x.stops, x.lencontent, [0, 2, -2, 2, 1])
        yield f"index too small, {name}", call(x.starts, x.stops, x.lencontent, [0, -3, -2, 2])
    x = c.lists(4, "gaps", dtype, np.array([4, 0, 4, 4]))
    yield "index into an empty list", call(x.starts, x.stops, x.lencontent, [0])
    yield "extreme index", call(x.starts, x.stops, x.lencontent, [0, 2**63 - 1, -(2**63)])


@generator("awkward_ListArray_getitem_next_array_advanced")
def next_array_advanced(c):
    dtype = c.dtype("fromstarts")

    def call(starts, stops, lencontent, array=None, advanced=None):
        if array is None:
            array = np.array([2, -1, 0, -3, 1], np.int64)
        if advanced is None:
            advanced = c.rng.integers(0, len(array), len(starts))
        return {
            "tocarry": Out(len(starts)),
            "toadvanced": Out(len(starts)),
            "fromstarts": starts,
            "fromstops": stops,
            "fromarray": np.asarray(array, np.int64),
            "fromadvanced": advanced.astype(np.int64),
            "lenstarts": len(starts),
            "lencontent": lencontent,
        }

    for n in (0, 1, 7, 255, 256, 257, 3000, 70001):
        for kind in ("gaps", "shuffled"):
            x = c.lists(n, kind, dtype, c.rng.integers(3, 8, n))
            yield f"{n} {kind}", call(x.starts, x.stops, x.lencontent)
    yield from _list_errors(c, call)
    for name, n, where in c.places():
        x = c.lists(n, "shuffled", dtype, c.rng.integers(3, 8, n))
        advanced = c.rng.integers(0, 3, n)
        advanced[where] = 3 + np.arange(len(where)) % 2
        yield (
            f"index out of range, {name}",
            call(x.starts, x.stops, x.lencontent, [0, -1, 2, 8, -9], advanced),
        )


@generator("awkward_ListArray_getitem_next_at")
def next_at(c):
    dtype = c.dtype("fromstarts")

    def call(x, at):
        return {
            "tocarry": Out(len(x.starts)),
            "fromstarts": x.starts,
            "fromstops": x.stops,
            "lenstarts": len(x.starts),
            "at": at,
        }

    for n in (0, 1, 7, 255, 256, 257, 3000, 70001):
        for at in (0, 2, -1, -3):
            kind = ("gaps", "shuffled")[at % 2]
            yield f"{n} at {at}", call(c.lists(n, kind, dtype, c.rng.integers(3, 8, n)), at)
    for name, n, where in c.places():
        counts = c.rng.integers(3, 8, n)
        counts[where] = np.arange(len(where)) % 3
        x = c.lists(n, "shuffled", dtype, counts)
        for at in (2, -3):
            yield f"at {at}, {name}", call(x, at)
    x = c.lists(300, "gaps", dtype)
    for at in (2**63 - 1, -(2**63), 10**6):
        yield f"extreme {at}", call(x, at)
    if signed(dtype):
        x = c.lists(9, "gaps", dtype, np.full(9, 4))
        x.starts[5] = x.stops[5] + 2
        yield "stops < starts", call(x, -1)


SLICES = (
    (NONE, NONE, 1),
    (NONE, NONE, -1),
    (1, NONE, 1),
    (NONE, -1, 1),
    (-2, NONE, 1),
    (0, 2, 1),
    (3, 1, 1),
    (1, 1, 1),
    (-1, -4, -1),
    (NONE, 0, -2),
    (4, NONE, -3),
    (NONE, NONE, 2),
    (-100, 100, 3),
    (100, -100, -1),
    (100, 200, 1),
    (NONE, NONE, 1000),
    (-(2**62), 2**62, 1),
    (2**62, -(2**62), -1),
)


def _slices(c: Context):
    dtype = c.dtype("fromstarts")
    for start, stop, step in SLICES:
        name = ":".join("" if x == NONE else str(x) for x in (start, stop)) + f":{step}"
        for n, kind in ((20, "shuffled"), (300, "garbage")):
            yield f"{name} {kind}", c.lists(n, kind, dtype), start, stop, step
    for i, (name, x) in enumerate(c.list_shapes(dtype)):
        yield name, x, *((NONE, -1, 1), (-3, NONE, -1), (1, NONE, 2))[i % 3]


def _sliced(counts, start, stop, step):
    x = slice(None if start == NONE else start, None if stop == NONE else stop, step)
    return sum(len(range(*x.indices(int(n)))) for n in counts)


@generator("awkward_ListArray_getitem_next_range")
def next_range(c):
    for name, x, start, stop, step in _slices(c):
        yield (
            name,
            {
                "tooffsets": Out(len(x.starts) + 1),
                "tocarry": Out(_sliced(x.counts, start, stop, step)),
                "fromstarts": x.starts,
                "fromstops": x.stops,
                "lenstarts": len(x.starts),
                "start": start,
                "stop": stop,
                "step": step,
            },
        )


@generator("awkward_ListArray_getitem_next_range_carrylength")
def next_range_carrylength(c):
    for name, x, start, stop, step in _slices(c):
        yield (
            name,
            {
                "carrylength": Out(1),
                "fromstarts": x.starts,
                "fromstops": x.stops,
                "lenstarts": len(x.starts),
                "start": start,
                "stop": stop,
                "step": step,
            },
        )


@generator("awkward_ListArray_getitem_next_range_counts")
def next_range_counts(c):
    for name, n, kind, start in SEGMENTS:
        yield (
            name,
            {
                "total": Out(1),
                "fromoffsets": c.offsets(n, kind, start, c.dtype("fromoffsets")),
                "lenstarts": n,
            },
        )


@generator("awkward_ListArray_getitem_next_range_spreadadvanced")
def next_range_spreadadvanced(c):
    for name, n, kind, start in SEGMENTS:
        offsets = c.offsets(n, kind, start, c.dtype("fromoffsets"))
        yield (
            name,
            {
                "toadvanced": Out(int(offsets[-1])),
                "fromadvanced": c.rng.integers(0, 1000, n),
                "fromoffsets": offsets,
                "lenstarts": n,
            },
        )


@generator("awkward_ListArray_localindex")
def localindex(c):
    for name, n, kind, start in SEGMENTS:
        offsets = c.offsets(n, kind, start, c.dtype("offsets"))
        yield name, {"toindex": Out(int(offsets[-1])), "offsets": offsets, "length": n}


@generator("awkward_ListArray_min_range")
def min_range(c):
    dtype = c.dtype("fromstarts")

    def call(x):
        return {"tomin": Out(1), "fromstarts": x.starts, "fromstops": x.stops, "lenstarts": len(x.starts)}

    for name, x in c.list_shapes(dtype):
        if len(x.starts):  # the first list is read whatever the length
            yield name, call(x)
    for n in (255, 256, 257, 3000, 70001):
        for where in (0, n // 2, n - 1):
            counts = c.rng.integers(3, 8, n)
            counts[where] = 2
            yield f"shortest {where} of {n}", call(c.lists(n, "shuffled", dtype, counts))


@generator("awkward_ListArray_rpad_and_clip_length_axis1")
def rpad_length(c):
    for name, x in c.list_shapes(c.dtype("fromstarts")):
        for target in (0, 3, 10):
            yield (
                f"{name}, target {target}",
                {
                    "tomin": Out(1),
                    "fromstarts": x.starts,
                    "fromstops": x.stops,
                    "target": target,
                    "lenstarts": len(x.starts),
                },
            )


@generator("awkward_ListArray_rpad_axis1")
def rpad(c):
    for name, x in c.list_shapes(c.dtype("fromstarts")):
        for target in (0, 3, 10):
            n = len(x.starts)
            yield (
                f"{name}, target {target}",
                {
                    "toindex": Out(int(np.maximum(x.counts, target).sum())),
                    "fromstarts": x.starts,
                    "fromstops": x.stops,
                    "tostarts": Out(n),
                    "tostops": Out(n),
                    "target": target,
                    "length": n,
                },
            )


@generator("awkward_ListArray_validity")
def validity(c):
    dtype = c.dtype("starts")

    def call(starts, stops, lencontent):
        return {"starts": starts, "stops": stops, "length": len(starts), "lencontent": lencontent}

    for name, x in c.list_shapes(dtype):
        yield name, call(x.starts, x.stops, x.lencontent)
    kinds = ("order", "negative", "beyond") if signed(dtype) else ("order", "beyond")

    def broken(n, errors):
        x = c.lists(n, "gaps", dtype, c.counts(n, "nonempty"))
        starts, stops = copies(x.starts, x.stops)
        for i, kind in errors:
            if kind == "order":
                starts[i] = stops[i] + 1
            elif kind == "negative":
                starts[i] = -1 - i
            else:
                stops[i] = x.lencontent + 1
        return call(starts, stops, x.lencontent)

    for kind in kinds:
        for name, n, where in c.places():
            yield f"error: {kind}, {name}", broken(n, [(i, kind) for i in where])
    for shift in range(len(kinds)):
        errors = [(599 - 150 * i, kinds[(i + shift) % len(kinds)]) for i in range(len(kinds))]
        yield f"{len(kinds)} errors, {errors[-1][1]} first", broken(600, errors)
