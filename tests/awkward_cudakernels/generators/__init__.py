"""Inputs for every kernel family, grouped by layout class.

A generator gets a ``Context`` and yields pairs of a case name and a value for each argument. ``@generator`` registers
it for one family or several.

Legal inputs are those for which the compiled CPU kernel stays inside its arrays; the harness checks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import Rules

from awkward_cudakernels.signatures import Specialization

GENERATORS: dict[str, tuple[Callable[[Context], Iterator[Any]], Rules]] = {}

#: Segments: a name, how many, what kind of counts, where the first starts.
SEGMENTS = (
    ("empty", 0, "random", 0),
    ("one", 1, "nonempty", 0),
    ("one empty", 1, "zero", 0),
    ("all empty", 5, "zero", 2),
    ("small", 7, "random", 0),
    ("from 3", 9, "random", 3),
    ("one long", 1, "long", 0),
    ("255", 255, "random", 0),
    ("256", 256, "random", 1),
    ("257", 257, "nonempty", 0),
    ("skewed", 300, "skewed", 5),
    ("skewed 9000", 9000, "skewed", 0),
    ("2500", 2500, "random", 0),
    ("30001", 30001, "random", 2),
)

#: Flat lengths: around block boundaries, several blocks, and many (scans look back over more than a warp of them).
LENGTHS = (0, 1, 2, 7, 255, 256, 257, 1025, 3000, 70001)


@dataclass(frozen=True)
class Lists:
    starts: np.ndarray
    stops: np.ndarray
    lencontent: int

    @property
    def counts(self) -> np.ndarray:
        return self.stops.astype(np.int64) - self.starts.astype(np.int64)


class Context:
    """The specialization to make cases for, its random numbers, and the usual arrays."""

    def __init__(self, specialization: Specialization, rng: np.random.Generator):
        self.specialization = specialization
        self.rng = rng
        self._dtypes = {x.name: x.dtype for x in specialization.arguments}

    def dtype(self, name: str) -> np.dtype:
        return self._dtypes[name]

    def counts(self, n: int, kind: str = "random") -> np.ndarray:
        rng = self.rng
        if kind == "zero":
            return np.zeros(n, np.int64)
        if kind == "nonempty":
            return rng.integers(1, 6, n)
        if kind == "long":
            return np.full(n, 20000, np.int64)
        counts = rng.integers(0, 6, n)
        if kind == "skewed" and n:
            counts[n // 3] = counts.sum() + 1
        return counts

    def offsets(self, n: int, kind: str = "random", start: int = 0, dtype: Any = np.int64) -> np.ndarray:
        """``n`` segments: ``n + 1`` offsets."""
        out = np.full(n + 1, start, np.int64)
        out[1:] += np.cumsum(self.counts(n, kind))
        return out.astype(dtype)

    def lists(self, n: int, kind: str, dtype: Any, counts: Any = None) -> Lists:
        """``n`` lists. Kinds: those of ``counts`` (contiguous), "gaps", "shuffled", "overlaps", "garbage".

        "garbage" puts the empty lists at positions far outside of the content, which is legal.
        ``counts`` sets the lengths (not of "overlaps").
        """
        rng = self.rng
        if counts is None:
            counts = self.counts(n, kind)
        if kind in ("gaps", "shuffled", "garbage"):
            gaps = rng.integers(0, 4, n + 1)
            starts = np.cumsum(counts + gaps[:n]) - counts
            lencontent = int(counts.sum() + gaps.sum())
            if kind != "gaps":
                order = rng.permutation(n)
                starts, counts = starts[order], counts[order]
            if kind == "garbage":
                starts[counts == 0] = lencontent + rng.integers(1, 1000, (counts == 0).sum())
        elif kind == "overlaps":
            lencontent = n + 6
            starts = rng.integers(0, lencontent, n)
            counts = np.minimum(rng.integers(0, 6, n), lencontent - starts)
        else:
            starts = np.cumsum(counts) - counts
            lencontent = int(counts.sum())
        return Lists(starts.astype(dtype), (starts + counts).astype(dtype), lencontent)

    def list_shapes(self, dtype: Any) -> Iterator[tuple[str, Lists]]:
        """A spread of lists: contiguous and not, small and large."""
        for name, n, kind in (
            ("empty", 0, "random"),
            ("one", 1, "nonempty"),
            ("one empty", 1, "zero"),
            ("all empty", 6, "zero"),
            ("small", 7, "random"),
            ("gaps", 9, "gaps"),
            ("overlaps", 11, "overlaps"),
            ("garbage", 20, "garbage"),
            ("255", 255, "shuffled"),
            ("256", 256, "gaps"),
            ("257", 257, "garbage"),
            ("skewed", 200, "skewed"),
            ("2500", 2500, "shuffled"),
            ("30001", 30001, "shuffled"),
        ):
            yield name, self.lists(n, kind, dtype)

    def index(self, n: int, lencontent: int, dtype: Any, nones: float = 0.3) -> np.ndarray:
        """Indexes below ``lencontent``, some negative (None) where the dtype has negative numbers."""
        out = self.rng.integers(0, max(lencontent, 1), n)
        if np.dtype(dtype).kind == "i":
            out = np.where(self.rng.random(n) < nones, self.rng.choice([-1, -1, -2, -1000], n), out)
            if lencontent == 0:
                out[:] = -1
        elif lencontent == 0:
            out = out[:0]
        return out.astype(dtype)

    def index_shapes(self, dtype: Any) -> Iterator[tuple[str, np.ndarray, int]]:
        """A spread of option-type indexes, each with the length of its content."""
        signed = np.dtype(dtype).kind == "i"
        for n in LENGTHS:
            yield f"{n}", self.index(n, 50, dtype), 50
        yield "no nones", self.index(300, 17, dtype, nones=0), 17
        if signed:
            yield "all nones", self.index(300, 17, dtype, nones=1), 17
            yield "empty content", self.index(5, 0, dtype), 0
            extreme = np.array([np.iinfo(dtype).min, 3, -1, 0, np.iinfo(dtype).min, 4], dtype)
            yield "extremes", extreme, 5
        yield "edges", np.array([4, 0, 4, 4, 0], dtype), 5

    def mask_shapes(self) -> Iterator[tuple[str, np.ndarray]]:
        """A spread of byte masks: any nonzero byte is true."""
        for n in LENGTHS:
            yield f"{n}", self.rng.integers(0, 2, n).astype(np.int8)
        yield "all set", np.ones(300, np.int8)
        yield "all clear", np.zeros(300, np.int8)
        yield "any nonzero", self.rng.choice(np.array([0, 1, 2, -1, -128, 127], np.int8), 300)

    def flags(self, shapes: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        """Each shape with False and with True appended, both in the name."""
        for name, *rest in shapes:
            for flag in (False, True):
                yield (f"{name}, {flag}", *rest, flag)

    def places(self) -> Iterator[tuple[str, int, list[int]]]:
        """Where to put errors: a name, a length, and the elements."""
        yield "only", 1, [0]
        for n in (11, 600):
            yield f"first of {n}", n, [0]
            yield f"last of {n}", n, [n - 1]
            yield f"two of {n}", n, [2 * n // 3, n // 3]
            yield f"all of {n}", n, list(range(n))

    def values(self, n: int, dtype: Any, kind: str = "mixed") -> np.ndarray:
        """Numbers. Kinds: "mixed", "ties", "zeros", "extremes", and for floats "specials"."""
        rng, dtype = self.rng, np.dtype(dtype)
        if dtype.kind == "b":
            if kind == "zeros":
                return np.zeros(n, dtype)
            return rng.random(n) < {"mixed": 0.5, "ties": 0.95, "extremes": 0.05}[kind]
        if kind == "zeros":
            return np.zeros(n, dtype)
        if kind == "ties":
            return rng.integers(0, 3, n).astype(dtype)
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            if kind == "extremes":
                edges = [info.min, info.min + 1, info.max - 1, info.max, 0, 1, info.max // 2]
                return np.array([edges[i] for i in rng.integers(0, len(edges), n)], dtype)
            return rng.integers(max(info.min, -100), 101, n).astype(dtype)
        if kind == "specials":
            tiny = np.finfo(dtype).smallest_subnormal
            pool = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, tiny, -tiny, np.nan, 2.5]
            return rng.choice(np.array(pool, dtype), n)
        if kind == "extremes":
            top = np.finfo(dtype).max / dtype.type(2**17)  # no sum of ours overflows
            return (rng.choice(np.array([top, -top, 1, -1, np.finfo(dtype).tiny], dtype), n)).astype(dtype)
        return rng.normal(0, 10, n).astype(dtype)

    def kinds(self, dtype: Any) -> tuple[str, ...]:
        floating = np.dtype(dtype).kind == "f"
        return ("mixed", "ties", "zeros", "extremes", *(("specials",) if floating else ()))


def generator(*families: str, **rules: Any) -> Callable[[Any], Any]:
    """Register a generator function, with the ``Rules`` of comparison as keywords."""

    def register(function: Any) -> Any:
        for family in families:
            assert family not in GENERATORS, family
            GENERATORS[family] = (function, Rules(**rules))
        return function

    return register


def segments_of(offsets: np.ndarray) -> np.ndarray:
    """The segment of each element from ``offsets[0]`` to ``offsets[-1]``."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets.astype(np.int64)))


def ceiling(x: Any) -> int:
    return int(np.max(x, initial=0))


from . import (  # noqa: E402
    indexedarray,  # noqa: F401
    listarray,  # noqa: F401
    listoffsetarray,  # noqa: F401
    maskedarray,  # noqa: F401
    numpyarray,  # noqa: F401
    reducers,  # noqa: F401
    regulararray,  # noqa: F401
    sorting,  # noqa: F401
    strings,  # noqa: F401
    unionarray,  # noqa: F401
)
