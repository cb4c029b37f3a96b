"""Random awkward layouts: every class, nested, in every form that awkward allows.

Values are such that sums and products of a few of them are exact in any order, so that results can be
compared exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

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

T = TypeVar("T")


class Choices:
    """Small choices, each made by a byte of a string; all zero when it is used up.

    Of one string, for hypothesis repeats parts of what it has drawn before in most of its examples, so
    that of structures drawn piece by piece few are different. It shrinks a string as well: 0 is the
    simplest choice.
    """

    def __init__(self, data: bytes) -> None:
        self._bytes = iter(data)

    def __repr__(self) -> str:
        return "..."

    def integer(self, low: int, high: int) -> int:
        return low + next(self._bytes, 0) % (high - low + 1) if high > low else low

    def integers(self, count: int, low: int, high: int) -> list[int]:
        return [self.integer(low, high) for _ in range(count)]

    def pick(self, options: Sequence[T]) -> T:
        return options[self.integer(0, len(options) - 1)]

    def picks(self, count: int, options: Sequence[T]) -> list[T]:
        return [self.pick(options) for _ in range(count)]

    def flag(self) -> bool:
        return self.integer(0, 1) == 1

    def rarely(self, once_in: int = 10) -> bool:
        return self.integer(0, once_in - 1) == once_in - 1


choices = st.binary(min_size=1000, max_size=1000).map(Choices)

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
NUMBERS = ("bool", *INTEGERS, *FLOATS, *COMPLEX)
TIMES = ("datetime64[s]", "timedelta64[ms]")

_VALUES: dict[str, Sequence[Any]] = {
    "b": (False, True),
    "i": (0, 1, -1, 2, -2, 3),
    "u": (0, 1, 2, 3, 4, 5),
    "f": (0.0, 1.0, -1.0, 0.5, 2.0, -2.0, -0.0, float("nan"), float("inf"), float("-inf")),
    "c": (0, 1, -1, 1j, 1 + 1j, 2 - 1j, complex("nan"), complex(1, float("nan"))),
    "M": (0, 1, -1, 2, 1000),
    "m": (0, 1, -1, 2, 1000),
}
_EXTREMES = {"i": ("min", "max", "odd"), "u": ("max", "odd")}
"""Odd: a number that a float of as many bits does not have."""


def _values(draw: Choices, dtype: np.dtype[Any], size: int) -> np.ndarray[Any, Any]:
    values = np.array(draw.picks(size, _VALUES[dtype.kind]), dtype.str)
    if size and dtype.kind in _EXTREMES and draw.rarely(4):
        info, extreme = np.iinfo(dtype), draw.pick(_EXTREMES[dtype.kind])
        number = info.max // 2 + 2 if extreme == "odd" else getattr(info, extreme)
        values[draw.integer(0, size - 1)] = number
    return values


INDEX_FORMS = ("int64", "int32", "uint32")


def _index(draw: Choices, values: Any, forms: Sequence[str] = INDEX_FORMS) -> Index:
    return Index(np.array(values, draw.pick(forms)))


def _slack(draw: Choices) -> int:
    """By how much a buffer is longer than it need be."""
    return draw.pick([0, 0, 0, 1, 2])


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
        draw: makes the choices.
        dtypes: of numbers.
        classes: names of the methods below that may be used; all by default.
    """

    def __init__(
        self, draw: Choices, dtypes: tuple[str, ...] = NUMBERS, classes: tuple[str, ...] = ALL
    ) -> None:
        self.draw = draw
        self.dtypes = dtypes
        self.classes = classes

    def any(self, length: int, depth: int, without: tuple[str, ...] = ()) -> Content:
        """A layout of that length with at most so many levels of nesting."""
        allowed = [name for name in self.classes if name not in without and (depth > 0 or name in LEAVES)]
        name = self.draw.pick(allowed)
        return getattr(self, name)(length, depth)

    # Leaves

    def numbers(self, length: int, depth: int) -> Content:
        if length == 0 and self.draw.rarely(3):
            return EmptyArray()
        dtype = np.dtype(self.draw.pick(self.dtypes))
        step = self.draw.pick([1, 1, 1, 2, -1])
        values = _values(self.draw, dtype, length * abs(step))
        return NumpyArray(values[::step])

    def matrix(self, length: int, depth: int) -> Content:
        dtype = np.dtype(self.draw.pick(self.dtypes))
        shape = (length, *self.draw.pick([(1,), (2,), (2, 2), (0,), (3, 0)]))
        return NumpyArray(_values(self.draw, dtype, int(np.prod(shape))).reshape(shape))

    def strings(self, length: int, depth: int) -> Content:
        kind, options = self.draw.pick(
            [("string", ["", "a", "ab", "b", "é", "日本", "😀x"]), ("bytestring", ["", "a", "ab", "b"])]
        )
        data = [word.encode() for word in self.draw.picks(length, options)]
        content = NumpyArray(
            np.frombuffer(b"".join(data), np.uint8),
            parameters={"__array__": {"string": "char"}.get(kind, "byte")},
        )
        offsets = np.cumsum([0, *map(len, data)])
        parameters = {"__array__": kind}
        if not self.draw.rarely(3):
            return ListOffsetArray(_index(self.draw, offsets), content, parameters=parameters)
        form = [self.draw.pick(INDEX_FORMS)]
        starts, stops = (_index(self.draw, x, form) for x in (offsets[:-1], offsets[1:]))
        return ListArray(starts, stops, content, parameters=parameters)

    # Lists

    def offsets(self, length: int, depth: int) -> Content:
        counts = self.draw.integers(length, 0, 3)
        offsets = self.draw.pick([0, 0, 1, 2]) + np.cumsum([0, *counts])
        content = self.any(int(offsets[-1]) + _slack(self.draw), depth - 1)
        return ListOffsetArray(_index(self.draw, offsets), content)

    def lists(self, length: int, depth: int) -> Content:
        size = self.draw.integer(0, 6)
        starts = np.array(self.draw.integers(length, 0, size), int)
        stops = np.minimum(starts + np.array(self.draw.integers(length, 0, 3), int), size)
        form = [self.draw.pick(INDEX_FORMS)]
        more = [0] * _slack(self.draw)
        return ListArray(
            _index(self.draw, starts, form),
            _index(self.draw, [*stops, *more], form),
            self.any(size + _slack(self.draw), depth - 1),
        )

    def regular(self, length: int, depth: int) -> Content:
        size = self.draw.integer(0, 3)
        slack = _slack(self.draw) if size > 1 else 0
        content = (
            self.any(length * size + min(slack, size - 1), depth - 1) if size else self.any(0, depth - 1)
        )
        return RegularArray(content, size, length)

    # Indexes and masks

    def indexed(self, length: int, depth: int) -> Content:
        size = self.draw.integer(1 if length else 0, 5)
        index = self.draw.integers(length, 0, max(size - 1, 0))
        return IndexedArray(_index(self.draw, index), self.any(size, depth - 1, NOT_IN_INDEXED))

    def option(self, length: int, depth: int) -> Content:
        size = self.draw.integer(0, 5)
        index = self.draw.integers(length, -2, size - 1)
        content = self.any(size, depth - 1, NOT_IN_INDEXED)
        return IndexedOptionArray(_index(self.draw, index, ("int32", "int64")), content)

    def _mask(self, length: int) -> np.ndarray[Any, Any]:
        return np.array(self.draw.integers(length, 0, 1), np.int8)

    def bytemasked(self, length: int, depth: int) -> Content:
        content = self.any(length + _slack(self.draw), depth - 1, NOT_IN_INDEXED)
        return ByteMaskedArray(Index8(self._mask(length)), content, valid_when=self.draw.flag())

    def bitmasked(self, length: int, depth: int) -> Content:
        little = self.draw.flag()
        bits = np.packbits(self._mask(length), bitorder="little" if little else "big")
        content = self.any(length + _slack(self.draw), depth - 1, NOT_IN_INDEXED)
        return BitMaskedArray(IndexU8(bits), content, self.draw.flag(), length, little)

    def unmasked(self, length: int, depth: int) -> Content:
        return UnmaskedArray(self.any(length, depth - 1, NOT_IN_INDEXED))

    # Records and unions

    def record(self, length: int, depth: int) -> Content:
        count = self.draw.integer(0, 2)
        contents = [self.any(length + _slack(self.draw), depth - 1) for _ in range(count)]
        names = None if self.draw.rarely(4) else ["x", "y"][:count]
        return RecordArray(contents, names, length)

    def union(self, length: int, depth: int) -> Content:
        # Contents that could be one are not allowed: at most one of each of these.
        kinds = ["numbers", "strings", "offsets", "record"]
        for _ in range(self.draw.integer(1, 2)):
            del kinds[self.draw.integer(0, len(kinds) - 1)]
        sizes = [self.draw.integer(1, 3) for _ in kinds]
        contents = [getattr(self, kind)(size, depth - 1) for kind, size in zip(kinds, sizes)]
        contents = [NumpyArray(np.zeros(1)) if x.is_unknown else x for x in contents]
        tags = self.draw.integers(length, 0, len(kinds) - 1)
        index = [self.draw.integer(0, sizes[tag] - 1) for tag in tags]
        more = [0] * _slack(self.draw)
        return UnionArray(Index8(np.array(tags, np.int8)), _index(self.draw, [*index, *more]), contents)


def an_array(
    draw: Choices,
    depth: int = 3,
    length: int | None = None,
    dtypes: tuple[str, ...] = NUMBERS,
    classes: tuple[str, ...] = ALL,
) -> ak.Array:
    """An array with up to so many levels of nesting above numbers or strings.

    Args:
        draw: makes the choices.
        depth: levels above the leaves.
        length: of the array; up to 5 by default.
        dtypes: of numbers.
        classes: names of methods of `Layouts`.
    """
    levels = draw.pick([*range(1, depth + 1), *range(1, depth + 1), 0])
    size = draw.pick([3, 0, 1, 2, 4, 5]) if length is None else length
    return ak.Array(Layouts(draw, dtypes, classes).any(size, levels))
