"""Hypothesis strategies for awkward layouts: every class, nested, in every form that awkward allows.

Values are such that sums and products of a few of them are exact in any order, so that results can be
compared exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import awkward as ak
import hypothesis.strategies as st
import numpy as np
from awkward.contents import (
    BitMaskedArray,
    ByteMaskedArray,
    Content,
    EmptyArray,
    IndexedArray,
    IndexedOptionArray,
    ListArray,
    ListOffsetArray,
    NumpyArray,
    RecordArray,
    RegularArray,
    UnionArray,
    UnmaskedArray,
)
from awkward.index import Index, Index8, IndexU8

Draw = Callable[[st.SearchStrategy[Any]], Any]

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
NUMBERS = ("bool", *INTEGERS, *FLOATS, *COMPLEX)
TIMES = ("datetime64[s]", "timedelta64[ms]")

_VALUES = {
    "b": st.booleans(),
    "i": st.integers(-3, 3),
    "u": st.integers(0, 5),
    "f": st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0, -2.0, -0.0, float("nan"), float("inf"), float("-inf")]),
    "c": st.sampled_from([0, 1, -1, 1j, 1 + 1j, 2 - 1j, complex("nan"), complex(1, float("nan"))]),
    "M": st.integers(-3, 3),
    "m": st.integers(-3, 3),
}
_EXTREMES = {"i": ("min", "max"), "u": ("max",)}


def _values(draw: Draw, dtype: np.dtype[Any], size: int) -> np.ndarray[Any, Any]:
    values = np.array(draw(st.lists(_VALUES[dtype.kind], min_size=size, max_size=size)), dtype.str)
    if size and dtype.kind in _EXTREMES and draw(st.integers(0, 3)) == 0:
        name = draw(st.sampled_from(_EXTREMES[dtype.kind]))
        values[draw(st.integers(0, size - 1))] = getattr(np.iinfo(dtype), name)
    return values


def _index(draw: Draw, values: Any, forms: tuple[str, ...] = ("int32", "uint32", "int64")) -> Index:
    return Index(np.array(values, draw(st.sampled_from(forms))))


def _slack(draw: Draw) -> int:
    """By how much a buffer is longer than it need be."""
    return draw(st.sampled_from([0, 0, 0, 1, 2]))


def _integers(draw: Draw, size: int, low: int, high: int) -> list[int]:
    return draw(st.lists(st.integers(low, high), min_size=size, max_size=size))


ALL = (
    "numbers",
    "matrix",
    "strings",
    "offsets",
    "lists",
    "regular",
    "indexed",
    "option",
    "bytemasked",
    "bitmasked",
    "unmasked",
    "record",
    "union",
)
LEAVES = ("numbers", "matrix", "strings")
OPTIONS = ("option", "bytemasked", "bitmasked", "unmasked")
NOT_IN_INDEXED = ("indexed", *OPTIONS, "union")
PLAIN = tuple(name for name in ALL if name not in ("matrix", "strings", "record", "union"))
"""The classes of arrays that most operations accept."""


class Layouts:
    """Draws layouts.

    Args:
        draw: of hypothesis.
        dtypes: of numbers.
        classes: names of the methods below that may be used; all by default.
    """

    def __init__(self, draw: Draw, dtypes: tuple[str, ...] = NUMBERS, classes: tuple[str, ...] = ALL) -> None:
        self.draw = draw
        self.dtypes = dtypes
        self.classes = classes

    def any(self, length: int, depth: int, without: tuple[str, ...] = ()) -> Content:
        """A layout of that length with at most so many levels of nesting."""
        allowed = [
            name
            for name in self.classes
            if name not in without and (depth > 0 or name in LEAVES)
        ]
        name = self.draw(st.sampled_from(allowed))
        return getattr(self, name)(length, depth)

    # Leaves

    def numbers(self, length: int, depth: int) -> Content:
        if length == 0 and self.draw(st.integers(0, 2)) == 0:
            return EmptyArray()
        dtype = np.dtype(self.draw(st.sampled_from(self.dtypes)))
        step = self.draw(st.sampled_from([1, 1, 1, 2, -1]))
        values = _values(self.draw, dtype, length * abs(step))
        return NumpyArray(values[::step])

    def matrix(self, length: int, depth: int) -> Content:
        dtype = np.dtype(self.draw(st.sampled_from(self.dtypes)))
        shape = (length, *self.draw(st.sampled_from([(1,), (2,), (2, 2), (0,), (3, 0)])))
        return NumpyArray(_values(self.draw, dtype, int(np.prod(shape))).reshape(shape))

    def strings(self, length: int, depth: int) -> Content:
        kind, characters = self.draw(
            st.sampled_from([("string", ["", "a", "ab", "b", "é", "日本", "😀x"]), ("bytestring", ["", "a", "ab", "b"])])
        )
        words = self.draw(st.lists(st.sampled_from(characters), min_size=length, max_size=length))
        data = [word.encode() for word in words]
        content = NumpyArray(
            np.frombuffer(b"".join(data), np.uint8), parameters={"__array__": {"string": "char"}.get(kind, "byte")}
        )
        offsets = np.cumsum([0, *map(len, data)])
        parameters = {"__array__": kind}
        if self.draw(st.booleans()):
            return ListOffsetArray(_index(self.draw, offsets), content, parameters=parameters)
        form = (self.draw(st.sampled_from(["int32", "uint32", "int64"])),)
        starts, stops = (_index(self.draw, x, form) for x in (offsets[:-1], offsets[1:]))
        return ListArray(starts, stops, content, parameters=parameters)

    # Lists

    def offsets(self, length: int, depth: int) -> Content:
        counts = _integers(self.draw, length, 0, 3)
        offsets = self.draw(st.sampled_from([0, 0, 1, 2])) + np.cumsum([0, *counts])
        content = self.any(int(offsets[-1]) + _slack(self.draw), depth - 1)
        return ListOffsetArray(_index(self.draw, offsets), content)

    def lists(self, length: int, depth: int) -> Content:
        size = self.draw(st.integers(0, 6))
        starts = np.array(_integers(self.draw, length, 0, size), int)
        stops = np.minimum(starts + np.array(_integers(self.draw, length, 0, 3), int), size)
        form = (self.draw(st.sampled_from(["int32", "uint32", "int64"])),)
        more = [0] * _slack(self.draw)
        return ListArray(
            _index(self.draw, starts, form),
            _index(self.draw, [*stops, *more], form),
            self.any(size + _slack(self.draw), depth - 1),
        )

    def regular(self, length: int, depth: int) -> Content:
        size = self.draw(st.integers(0, 3))
        slack = _slack(self.draw) if size > 1 else 0
        content = self.any(length * size + min(slack, size - 1), depth - 1) if size else self.any(0, depth - 1)
        return RegularArray(content, size, length)

    # Indexes and masks

    def indexed(self, length: int, depth: int) -> Content:
        size = self.draw(st.integers(1 if length else 0, 5))
        index = _integers(self.draw, length, 0, max(size - 1, 0))
        return IndexedArray(_index(self.draw, index), self.any(size, depth - 1, NOT_IN_INDEXED))

    def option(self, length: int, depth: int) -> Content:
        size = self.draw(st.integers(0, 5))
        index = _integers(self.draw, length, -2, size - 1)
        content = self.any(size, depth - 1, NOT_IN_INDEXED)
        return IndexedOptionArray(_index(self.draw, index, ("int32", "int64")), content)

    def _mask(self, length: int) -> np.ndarray[Any, Any]:
        return np.array(_integers(self.draw, length, 0, 1), np.int8)

    def bytemasked(self, length: int, depth: int) -> Content:
        content = self.any(length + _slack(self.draw), depth - 1, NOT_IN_INDEXED)
        return ByteMaskedArray(Index8(self._mask(length)), content, valid_when=self.draw(st.booleans()))

    def bitmasked(self, length: int, depth: int) -> Content:
        little = self.draw(st.booleans())
        bits = np.packbits(self._mask(length), bitorder="little" if little else "big")
        content = self.any(length + _slack(self.draw), depth - 1, NOT_IN_INDEXED)
        return BitMaskedArray(IndexU8(bits), content, self.draw(st.booleans()), length, little)

    def unmasked(self, length: int, depth: int) -> Content:
        return UnmaskedArray(self.any(length, depth - 1, NOT_IN_INDEXED))

    # Records and unions

    def record(self, length: int, depth: int) -> Content:
        count = self.draw(st.integers(0, 2))
        contents = [self.any(length + _slack(self.draw), depth - 1) for _ in range(count)]
        names = None if self.draw(st.integers(0, 3)) == 0 else ["x", "y"][:count]
        return RecordArray(contents, names, length)

    def union(self, length: int, depth: int) -> Content:
        # Contents that could be one are not allowed: at most one of each of these.
        kinds = self.draw(
            st.lists(
                st.sampled_from(["numbers", "strings", "offsets", "record"]), min_size=2, max_size=3, unique=True
            ).filter(lambda kinds: set(kinds) <= {*self.classes, "numbers"})
        )
        sizes = [self.draw(st.integers(1, 3)) for _ in kinds]
        contents = [getattr(self, kind)(size, depth - 1) for kind, size in zip(kinds, sizes)]
        contents = [NumpyArray(np.zeros(1)) if x.is_unknown else x for x in contents]
        tags = _integers(self.draw, length, 0, len(kinds) - 1)
        index = [self.draw(st.integers(0, sizes[tag] - 1)) for tag in tags]
        more = [0] * _slack(self.draw)
        return UnionArray(Index8(np.array(tags, np.int8)), _index(self.draw, [*index, *more]), contents)


@st.composite
def arrays(draw: Draw, depth: int = 3, length: st.SearchStrategy[int] | int = st.integers(0, 5), **options: Any) -> ak.Array:
    """Arrays with up to so many levels of nesting above numbers or strings.

    Args:
        depth: levels above the leaves.
        length: of the array.
        options: of `Layouts`.
    """
    size = length if isinstance(length, int) else draw(length)
    levels = draw(st.sampled_from([0, *range(1, depth + 1), *range(1, depth + 1)]))
    return ak.Array(Layouts(draw, **options).any(size, levels))
