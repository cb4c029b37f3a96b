"""IndexedArray and IndexedOptionArray."""

from __future__ import annotations

import numpy as np
from harness import InOut, Out

from . import LENGTHS, SEGMENTS, generator
from .listarray import signed


@generator("awkward_IndexedArray_fill", keeps=True)
def fill(c):
    dtype = c.dtype("fromindex")
    for i, (name, index, _) in enumerate(c.index_shapes(dtype)):
        offset = i % 3 * 5
        yield (
            name,
            {
                "toindex": Out(offset + len(index) + 3),
                "toindexoffset": offset,
                "fromindex": index,
                "length": len(index),
                "base": (0, 17, 2**40)[i % 3],
            },
        )
    top = np.array([np.iinfo(dtype).max, 0, np.iinfo(dtype).max - 1], dtype)
    yield "largest", {"toindex": Out(3), "toindexoffset": 0, "fromindex": top, "length": 3, "base": 0}
    if top.itemsize == 4:
        yield (
            "beyond 32 bits",
            {"toindex": Out(3), "toindexoffset": 0, "fromindex": top, "length": 3, "base": 9},
        )


@generator("awkward_IndexedArray_fill_count", keeps=True)
def fill_count(c):
    for n in LENGTHS:
        for offset, base in ((0, 0), (5, 17), (1, 2**40)):
            yield (
                f"{n} at {offset} from {base}",
                {
                    "toindex": Out(offset + n + 3),
                    "toindexoffset": offset,
                    "length": n,
                    "base": base,
                },
            )


def _bad_index(c, dtype, negative):
    """Indexes with errors: a name, the indexes, the length of their content."""
    for name, n, where in c.places():
        for label in ("end", "beyond", "largest", *(("negative",) if negative and signed(dtype) else ())):
            index = c.index(n, 20, dtype, nones=0 if negative else 0.3)
            worst = np.iinfo(dtype).max
            wrong = {"end": 20, "beyond": 21 + np.arange(len(where)), "largest": worst, "negative": -1}[label]
            index[where] = wrong
            yield f"{label}, {name}", index, 20
    if signed(dtype) and negative:
        index = c.index(600, 20, dtype, nones=0)
        index[[100, 400]] = -7, 99
        yield "both, negative first", index, 20
        index = index.copy()
        index[[100, 400]] = 99, -7
        yield "both, beyond first", index, 20
    yield "into an empty content", np.zeros(3, dtype), 0


@generator("awkward_IndexedArray_flatten_nextcarry")
def flatten_nextcarry(c):
    dtype = c.dtype("fromindex")
    for name, index, lencontent in (*c.index_shapes(dtype), *_bad_index(c, dtype, False)):
        yield (
            name,
            {
                "tocarry": Out(int((index >= 0).sum())),
                "fromindex": index,
                "lenindex": len(index),
                "lencontent": lencontent,
            },
        )


@generator("awkward_IndexedArray_flatten_none2empty")
def flatten_none2empty(c):
    dtype = c.dtype("outindex")

    def call(index, offsets):
        return {
            "outoffsets": Out(len(index) + 1),
            "outindex": index,
            "outindexlength": len(index),
            "offsets": offsets,
            "offsetslength": len(offsets),
        }

    for i, (name, index, lencontent) in enumerate(c.index_shapes(dtype)):
        yield name, call(index, c.offsets(lencontent, start=3 * (i % 2)))
    for name, index, lencontent in _bad_index(c, dtype, False):
        # One more than the largest index overflows in the compiled kernel.
        index[index == np.iinfo(dtype).max] = np.iinfo(dtype).max // 2
        yield name, call(index, c.offsets(lencontent))


@generator("awkward_IndexedArray_getitem_nextcarry")
def nextcarry(c):
    dtype = c.dtype("fromindex")

    def call(index, lencontent):
        return {
            "tocarry": Out(len(index)),
            "fromindex": index,
            "lenindex": len(index),
            "lencontent": lencontent,
        }

    for n in LENGTHS:
        yield f"{n}", call(c.index(n, 50, dtype, nones=0), 50)
    yield "edges", call(np.array([4, 0, 4, 4, 0], dtype), 5)
    yield "empty content, no index", call(np.zeros(0, dtype), 0)
    for name, index, lencontent in _bad_index(c, dtype, True):
        yield name, call(index, lencontent)


@generator("awkward_IndexedArray_getitem_nextcarry_outindex")
def nextcarry_outindex(c):
    for name, values in flatten_nextcarry(c):
        yield name, {**values, "toindex": Out(values["lenindex"])}


@generator("awkward_IndexedArray_local_preparenext_64")
def local_preparenext(c):
    for name, n, kind, start in SEGMENTS:
        offsets = c.offsets(n, kind, start)
        counts = np.diff(offsets)
        for label, inner in (
            ("some", c.rng.integers(0, counts + 1)),
            ("all", counts),
            ("none", 0 * counts),
            # More survivors than elements: the rest of them are skipped.
            ("more", counts + 2),
        ):
            nextoffsets = np.concatenate([[0], np.cumsum(inner)]).astype(np.int64)
            yield (
                f"{name}, {label}",
                {
                    "tocarry": Out(int(offsets[-1])),
                    "starts": offsets[:-1].copy(),
                    "offsets": offsets,
                    "nextoffsets": nextoffsets,
                    "outlength": n,
                },
            )


@generator("awkward_IndexedArray_numnull")
def numnull(c):
    for name, index, _ in c.index_shapes(c.dtype("fromindex")):
        yield name, {"numnull": Out(1), "fromindex": index, "lenindex": len(index)}


@generator("awkward_IndexedArray_numnull_parents")
def numnull_parents(c):
    for name, index, _ in c.index_shapes(c.dtype("fromindex")):
        n = len(index)
        yield name, {"numnull": Out(n), "tolength": Out(1), "fromindex": index, "lenindex": n}


@generator("awkward_IndexedArray_numnull_unique_64")
def numnull_unique(c):
    for n in LENGTHS:
        yield f"{n}", {"toindex": Out(n + 1), "lenindex": n}


def _indexed_segments(c, dtype):
    """Segments of indexes: a name, the offsets, the indexes."""
    for name, n, kind, start in SEGMENTS:
        for nones in (0.3, 0, 1):
            offsets = c.offsets(n, kind, start)
            yield f"{name}, nones {nones}", offsets, c.index(int(offsets[-1]), 100, dtype, nones)


@generator("awkward_IndexedArray_index_of_nulls")
def index_of_nulls(c):
    for name, offsets, index in _indexed_segments(c, c.dtype("fromindex")):
        n = len(offsets) - 1
        for label, starts in (("", offsets[:-1].copy()), (", other starts", c.rng.integers(0, 9, n))):
            yield (
                f"{name}{label}",
                {
                    "toindex": Out(int((index[offsets[0] :] < 0).sum())),
                    "fromindex": index,
                    "offsets": offsets,
                    "outlength": n,
                    "starts": starts,
                },
            )


@generator("awkward_IndexedArray_overlay_mask")
def overlay_mask(c):
    dtype = c.dtype("fromindex")
    for name, mask in c.mask_shapes():
        yield (
            name,
            {
                "toindex": Out(len(mask)),
                "mask": mask,
                "fromindex": c.index(len(mask), 50, dtype),
                "length": len(mask),
            },
        )
    top = np.array([np.iinfo(dtype).max, 0, np.iinfo(dtype).max], dtype)
    yield "largest", {"toindex": Out(3), "mask": np.array([0, 1, 1], np.int8), "fromindex": top, "length": 3}


@generator("awkward_IndexedArray_reduce_next_64")
def reduce_next(c):
    for name, offsets, index in _indexed_segments(c, c.dtype("index")):
        yield (
            name,
            {
                "nextcarry": Out(int((index[offsets[0] :] >= 0).sum())),
                "nextoffsets": Out(len(offsets)),
                "outindex": Out(len(index)),
                "index": index,
                "offsets": offsets,
                "outlength": len(offsets) - 1,
            },
        )


@generator("awkward_IndexedArray_reduce_next_fix_offsets_64")
def reduce_next_fix_offsets(c):
    for n in LENGTHS:
        starts = c.offsets(n)
        yield (
            f"{n}",
            {
                "outoffsets": Out(n + 1),
                "starts": starts[:-1].copy(),
                "startslength": n,
                "outindexlength": int(starts[-1]) + 2,
            },
        )


@generator("awkward_IndexedArray_reduce_next_nonlocal_nextshifts_64")
def nextshifts(c):
    for name, index, _ in c.index_shapes(c.dtype("index")):
        yield name, {"nextshifts": Out(int((index >= 0).sum())), "index": index, "length": len(index)}


@generator("awkward_IndexedArray_reduce_next_nonlocal_nextshifts_fromshifts_64")
def nextshifts_fromshifts(c):
    for name, values in nextshifts(c):
        yield name, {**values, "shifts": c.rng.integers(0, 50, values["length"])}


@generator("awkward_IndexedArray_simplify")
def simplify(c):
    outer, inner = c.dtype("outerindex"), c.dtype("innerindex")
    for name, index, length in (*c.index_shapes(outer), *_bad_index(c, outer, False)):
        innerindex = c.index(length, 1000, inner)
        if length > 4:
            innerindex[:2] = np.iinfo(inner).max, np.iinfo(inner).min
        yield (
            name,
            {
                "toindex": Out(len(index)),
                "outerindex": index,
                "outerlength": len(index),
                "innerindex": innerindex,
                "innerlength": length,
            },
        )


@generator("awkward_IndexedArray_validity")
def validity(c):
    dtype = c.dtype("index")
    for name, index, lencontent in (*c.index_shapes(dtype), *_bad_index(c, dtype, True)):
        for isoption in (False, True):
            yield (
                f"{name}, {isoption}",
                {
                    "index": index,
                    "length": len(index),
                    "lencontent": lencontent,
                    "isoption": isoption,
                },
            )
    yield (
        "no nones either",
        {
            "index": c.index(300, 9, dtype, nones=0),
            "length": 300,
            "lencontent": 9,
            "isoption": False,
        },
    )


def _ranges(c):
    dtype = c.dtype("index")
    for name, x in c.list_shapes(np.int64):
        for nones in (0.3, 0, 1):
            yield f"{name}, nones {nones}", x, c.index(x.lencontent, 100, dtype, nones)


@generator("awkward_IndexedArray_ranges_next_64")
def ranges_next(c):
    for name, x, index in _ranges(c):
        n = len(x.starts)
        yield (
            name,
            {
                "index": index,
                "fromstarts": x.starts,
                "fromstops": x.stops,
                "length": n,
                "tostarts": Out(n),
                "tostops": Out(n),
                "tolength": Out(1),
            },
        )


@generator("awkward_IndexedArray_ranges_carry_next_64")
def ranges_carry_next(c):
    for name, x, index in _ranges(c):
        total = sum(int((index[a:b] >= 0).sum()) for a, b in zip(x.starts, x.stops))
        yield (
            name,
            {
                "index": index,
                "fromstarts": x.starts,
                "fromstops": x.stops,
                "length": len(x.starts),
                "tocarry": Out(total),
            },
        )


@generator("awkward_IndexedArray_unique_next_index_and_offsets_64")
def unique_next(c):
    def call(offsets, nulls):
        # Where a list ends in the output, a flag says whether a None follows it.
        n, k = len(offsets) - 1, 0
        for i in range(n):
            k += int(offsets[i + 1] - offsets[i])
            k += nulls[k] == 1
        return {
            "toindex": Out(max(int(k), 1)),
            "tooffsets": Out(n + 1),
            "fromoffsets": offsets,
            "fromnulls": nulls,
            "startslength": n,
        }

    for name, n, kind, start in SEGMENTS:
        offsets = c.offsets(n, kind, start)
        total = int(offsets[-1] - offsets[0]) + n + 1
        for share in (0, 0.4, 1):
            yield f"{name}, nulls {share}", call(offsets, (c.rng.random(total) < share).astype(np.int64))
        # Flags only where a None follows a list: the positions are those of the output.
        nulls, k = np.zeros(total, np.int64), 0
        for i, has in enumerate(c.rng.random(n) < 0.5):
            k += int(offsets[i + 1] - offsets[i])
            nulls[k] = has
            k += has
        yield f"{name}, nulls after lists", call(offsets, nulls)
    yield "other flags than 1", call(c.offsets(20), c.rng.integers(-1, 3, 200))


@generator("awkward_Index_nones_as_index")
def nones_as_index(c):
    for n in LENGTHS:
        for share in (0.3, 0, 1):
            order = c.rng.permutation(n)
            index = np.where(c.rng.random(n) < share, -1, order).astype(np.int64)
            yield f"{n}, nones {share}", {"toindex": InOut(index), "length": n}
    # Only -1 is a None.
    yield "other negatives", {"toindex": InOut(c.rng.integers(-3, 5, 300)), "length": 300}


@generator("awkward_missing_repeat")
def missing_repeat(c):
    for n, repetitions in (
        (0, 0),
        (0, 3),
        (3, 0),
        (1, 1),
        (255, 1),
        (256, 2),
        (257, 3),
        (2, 1500),
        (1500, 2),
    ):
        for nones in (0.3, 0, 1):
            yield (
                f"{n} times {repetitions}, nones {nones}",
                {
                    "outindex": Out(n * repetitions),
                    "index": c.index(n, 9, np.int64, nones),
                    "indexlength": n,
                    "repetitions": repetitions,
                    "regularsize": 9,
                },
            )


@generator("awkward_index_rpad_and_clip_axis0")
def rpad_and_clip_axis0(c):
    for n in LENGTHS:
        for target in sorted({0, n, n + 5, max(n - 1, 0), 1000}):
            yield f"{n}, target {target}", {"toindex": Out(target), "target": target, "length": n}


@generator("awkward_index_rpad_and_clip_axis1")
def rpad_and_clip_axis1(c):
    for n in LENGTHS:
        for target in (0, 1, 7):
            yield (
                f"{n}, target {target}",
                {
                    "tostarts": Out(n),
                    "tostops": Out(n),
                    "target": target,
                    "length": n,
                },
            )


@generator("awkward_localindex")
def localindex(c):
    for n in LENGTHS:
        yield f"{n}", {"toindex": Out(n), "length": n}
