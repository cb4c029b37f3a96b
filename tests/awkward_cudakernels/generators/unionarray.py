"""UnionArray: tags and index."""

from __future__ import annotations

import numpy as np
from harness import InOut, Out, Pointers

from . import LENGTHS, generator
from .listarray import copies, signed


def _offset_shapes(c):
    for n in LENGTHS:
        for offset in (0, 5):
            yield f"{n} at {offset}", n, offset


@generator("awkward_UnionArray_fillindex", keeps=True)
def fillindex(c):
    dtype = c.dtype("fromindex")
    for name, n, offset in _offset_shapes(c):
        index = c.index(n, 100, dtype)
        if n > 3:
            index[:2] = np.iinfo(dtype).max, np.iinfo(dtype).min
        yield (
            name,
            {
                "toindex": Out(offset + n + 3),
                "toindexoffset": offset,
                "fromindex": index,
                "length": n,
            },
        )


@generator("awkward_UnionArray_fillindex_count", keeps=True)
def fillindex_count(c):
    for name, n, offset in _offset_shapes(c):
        yield name, {"toindex": Out(offset + n + 3), "toindexoffset": offset, "length": n}


@generator("awkward_UnionArray_fillna")
def fillna(c):
    dtype = c.dtype("fromindex")
    for name, index, _ in c.index_shapes(dtype):
        yield name, {"toindex": Out(len(index)), "fromindex": index, "length": len(index)}
    ends = np.array([np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    yield "ends", {"toindex": Out(2), "fromindex": ends, "length": 2}


@generator("awkward_UnionArray_filltags", keeps=True)
def filltags(c):
    for name, n, offset in _offset_shapes(c):
        for base in (0, 3, 120):  # the last wraps
            yield (
                f"{name}, base {base}",
                {
                    "totags": Out(offset + n + 3),
                    "totagsoffset": offset,
                    "fromtags": c.rng.integers(0, 20, n).astype(np.int8),
                    "length": n,
                    "base": base,
                },
            )


@generator("awkward_UnionArray_filltags_const", keeps=True)
def filltags_const(c):
    for name, n, offset in _offset_shapes(c):
        for base in (0, 3, 200):
            yield (
                f"{name}, base {base}",
                {
                    "totags": Out(offset + n + 3),
                    "totagsoffset": offset,
                    "length": n,
                    "base": base,
                },
            )


def _unions(c):
    """Unions of lists: a name, tags, index, the offsets of each content."""
    for n in LENGTHS:
        for contents in (1, 3):
            lengths = c.rng.integers(1, 40, contents)
            tags = c.rng.integers(0, contents, n)
            offsets = tuple(c.offsets(int(x), start=i) for i, x in enumerate(lengths))
            yield f"{n} of {contents}", tags, c.rng.integers(0, lengths[tags]), offsets
    tags = c.rng.integers(0, 2, 300)
    lengths = np.array([50, 60])
    skewed = (c.offsets(50, "skewed"), c.offsets(60, "zero"))
    yield "skewed", tags, c.rng.integers(0, lengths[tags]), skewed
    yield "same list", np.zeros(300, int), np.full(300, 7), (c.offsets(50, "nonempty"),)


@generator("awkward_UnionArray_flatten_length")
def flatten_length(c):
    for name, tags, index, offsets in _unions(c):
        yield (
            name,
            {
                "total_length": Out(1),
                "fromtags": tags.astype(c.dtype("fromtags")),
                "fromindex": index.astype(c.dtype("fromindex")),
                "length": len(tags),
                "offsetsraws": Pointers(offsets),
            },
        )


@generator("awkward_UnionArray_flatten_combine")
def flatten_combine(c):
    for name, tags, index, offsets in _unions(c):
        total = sum(int(offsets[t][i + 1] - offsets[t][i]) for t, i in zip(tags, index))
        yield (
            name,
            {
                "totags": Out(total),
                "toindex": Out(total),
                "tooffsets": Out(len(tags) + 1),
                "fromtags": tags.astype(c.dtype("fromtags")),
                "fromindex": index.astype(c.dtype("fromindex")),
                "length": len(tags),
                "offsetsraws": Pointers(offsets),
            },
        )


@generator("awkward_UnionArray_nestedfill_tags_index", keeps=True)
def nestedfill(c):
    for n in (0, 1, 7, 255, 256, 257, 1500, 20000):
        for kind in ("random", "nonempty", "zero", "skewed"):
            counts = c.counts(n, kind)
            # Each list also has room before and after, for the other contents.
            before, after = c.rng.integers(0, 3, n), c.rng.integers(0, 3, n)
            starts = np.cumsum(before + counts + after) - counts - after
            total = int((before + counts + after).sum())
            yield (
                f"{n} {kind}",
                {
                    "totags": Out(total),
                    "toindex": Out(total),
                    "tmpstarts": InOut(starts.astype(c.dtype("tmpstarts"))),
                    "tag": int(c.rng.integers(0, 5)),
                    "fromcounts": counts.astype(c.dtype("fromcounts")),
                    "length": n,
                },
            )


@generator("awkward_UnionArray_project")
def project(c):
    dtype = c.dtype("fromindex")
    for n in LENGTHS:
        tags = c.rng.integers(0, 3, n).astype(c.dtype("fromtags"))
        for which in (0, 2, 5):
            index = c.index(n, 100, dtype)
            yield (
                f"{n}, {which}",
                {
                    "lenout": Out(1),
                    "tocarry": Out(int((tags == which).sum())),
                    "fromtags": tags,
                    "fromindex": index,
                    "length": n,
                    "which": which,
                },
            )
    index = np.array([np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    yield (
        "all of one, ends",
        {
            "lenout": Out(1),
            "tocarry": Out(2),
            "fromtags": np.ones(2, c.dtype("fromtags")),
            "fromindex": index,
            "length": 2,
            "which": 1,
        },
    )


@generator("awkward_UnionArray_regular_index")
def regular_index(c):
    for n in LENGTHS:
        for size in (1, 3, 100):
            for label, used in (("", size), (", last unused", max(size - 1, 1))):
                if label and size == 1:
                    continue
                yield (
                    f"{n} of {size}{label}",
                    {
                        "toindex": Out(n),
                        "current": Out(size),
                        "size": size,
                        "fromtags": c.rng.integers(0, used, n).astype(c.dtype("fromtags")),
                        "length": n,
                    },
                )
    tags = np.zeros(1000, c.dtype("fromtags"))
    tags[500:] = 1
    yield "in order", {"toindex": Out(1000), "current": Out(2), "size": 2, "fromtags": tags, "length": 1000}
    yield "no contents", {"toindex": Out(0), "current": Out(0), "size": 0, "fromtags": tags[:0], "length": 0}


@generator("awkward_UnionArray_regular_index_getsize")
def getsize(c):
    dtype = c.dtype("fromtags")
    for n in LENGTHS:
        for low, high in ((0, 1), (0, 5), (0, 128), (-3, 2), (-5, -1)):
            yield (
                f"{n} from {low} to {high}",
                {
                    "size": Out(1),
                    "fromtags": c.rng.integers(low, high, n).astype(dtype),
                    "length": n,
                },
            )
    for where in (0, 299, 2999):
        tags = np.zeros(3000, dtype)
        tags[where] = 9
        yield f"largest at {where}", {"size": Out(1), "fromtags": tags, "length": 3000}


@generator("awkward_UnionArray_simplify", keeps=True)
def simplify(c):
    inner = c.dtype("innerindex")
    for i, n in enumerate((*LENGTHS, 300, 301, 302)):
        m = 60
        outertags = c.rng.integers(0, 3, n)
        # Where the tag is another, the index belongs to another content: it may be beyond this one.
        index = np.where(outertags == 1, c.rng.integers(0, m, n), 10**6)
        innerindex = c.index(m, 100, inner)
        innerindex[:2] = np.iinfo(inner).max, np.iinfo(inner).min
        base = (0, 17, 2**40)[i % 3] if inner.itemsize == 4 else 0
        yield (
            f"{n}, {i}",
            {
                "totags": Out(n),
                "toindex": Out(n),
                "outertags": outertags.astype(c.dtype("outertags")),
                "outerindex": index.astype(c.dtype("outerindex")),
                "innertags": c.rng.integers(0, 2, m).astype(c.dtype("innertags")),
                "innerindex": innerindex,
                "towhich": (4, 0, 127)[i % 3],
                "innerwhich": i % 2,
                "outerwhich": 1,
                "length": n,
                "base": base if i < 9 else 3,
            },
        )


@generator("awkward_UnionArray_simplify_one", keeps=True)
def simplify_one(c):
    dtype = c.dtype("fromindex")
    for i, n in enumerate(LENGTHS):
        for which in (0, 2, 7):
            index = c.index(n, 100, dtype)
            if n > 3 and dtype.itemsize == 4:
                index[:2] = np.iinfo(dtype).max, np.iinfo(dtype).min
            yield (
                f"{n}, {which}",
                {
                    "totags": Out(n),
                    "toindex": Out(n),
                    "fromtags": c.rng.integers(0, 3, n).astype(c.dtype("fromtags")),
                    "fromindex": index,
                    "towhich": (4, 0, 127)[i % 3],
                    "fromwhich": which,
                    "length": n,
                    "base": (0, 17, 2**40)[i % 3],
                },
            )


@generator("awkward_UnionArray_validity")
def validity(c):
    dtype = c.dtype("index")
    lengths = np.array([30, 1, 100], np.int64)

    def call(tags, index, lencontents=lengths):
        return {
            "tags": tags.astype(c.dtype("tags")),
            "index": index,
            "length": len(tags),
            "numcontents": len(lencontents),
            "lencontents": lencontents,
        }

    def valid(n):
        tags = c.rng.integers(0, 3, n)
        return tags, c.rng.integers(0, lengths[tags]).astype(dtype)

    for n in LENGTHS:
        yield f"{n}", call(*valid(n))
    kinds = ("tag negative", "tag beyond", "index beyond", *(("index negative",) if signed(dtype) else ()))

    def spoil(tags, index, i, kind):
        if kind == "tag negative":
            tags[i] = -1
        elif kind == "tag beyond":
            tags[i] = 3
        elif kind == "index beyond":
            index[i] = lengths[tags[i]]
        else:
            index[i] = -1

    for kind in kinds:
        for name, n, where in c.places():
            tags, index = valid(n)
            for i in where:
                spoil(tags, index, i, kind)
            yield f"{kind}, {name}", call(tags, index)
    for shift in range(len(kinds)):
        tags, index = copies(*valid(600))
        order = [kinds[(i + shift) % len(kinds)] for i in range(len(kinds))]
        for i, kind in enumerate(order):
            spoil(tags, index, 599 - 150 * i, kind)
        yield f"{len(kinds)} errors, {order[-1]} first", call(tags, index)
    # Several in one element: the tag's sign, the index's sign, the tag's range, the index's range.
    for tag in (-1, 3, 0):
        for at in (-1, 10**6) if signed(dtype) else (10**6,):
            tags, index = copies(*valid(300))
            tags[100], index[100] = tag, at
            yield f"tag {tag} with index {at}", call(tags, index)
    yield "no contents", call(np.zeros(2, int), np.zeros(2, dtype), lengths[:0])
