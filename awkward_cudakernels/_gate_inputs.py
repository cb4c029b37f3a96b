"""Valid inputs of any size for the families that have raw kernels: what the gate measures them on.

Lists have 3 elements on average, unless their kernel needs more of each. Outputs are as long as awkward
makes them. A call can be repeated: arrays that a kernel changes are such that it leaves them as they
were, but for one family, whose array is put back (`Inputs.restore`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import signatures

SLICE_NONE = 2**63 - 1
SEED = 20260

Values = dict[str, Any]


@dataclass(frozen=True)
class Empty:
    """An output of so many elements."""

    size: int


@dataclass(frozen=True)
class Restored:
    """An array that every call changes, and that is put back before the next one."""

    content: np.ndarray


@dataclass(frozen=True)
class Addresses:
    """An array of the addresses of others; for outputs, of `Empty` ones."""

    arrays: tuple[Any, ...]


@dataclass
class Inputs:
    """The arguments of a call."""

    arguments: list[Any]
    changed: list[tuple[Any, Any]] = field(default_factory=list)
    """Arrays that are put back, with their contents."""
    kept: list[Any] = field(default_factory=list)
    """What the arguments hold addresses of."""

    def restore(self) -> None:
        for array, content in self.changed:
            array[...] = content


class Draw:
    """Random numbers for `n` lists."""

    def __init__(self, n: int, seed: int) -> None:
        self.n = n
        self.rng = np.random.default_rng(seed)

    def offsets(self, mean: int = 3, least: int = 0) -> np.ndarray:
        """Of lists laid end to end, with lengths of at least `least`."""
        counts = self.rng.poisson(mean - least, self.n) + least
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def index(self, n: int, below: int, nones: float = 0.3) -> np.ndarray:
        """Positions, some of them None."""
        found = self.rng.integers(0, max(below, 1), n)
        return np.where(self.rng.random(n) < nones, -1, found)


_MAKERS: dict[str, Callable[[Draw], Values]] = {}


def _inputs(*families: str) -> Callable[[Callable[[Draw], Values]], Callable[[Draw], Values]]:
    def register(make: Callable[[Draw], Values]) -> Callable[[Draw], Values]:
        for family in families:
            _MAKERS[f"awkward_{family}"] = make
        return make

    return register


def specialization(family: str) -> signatures.Specialization | None:
    """The specialization that is measured: the widest integers, and tags of one byte; None for families
    that awkward's table does not have."""
    found = signatures.families().get(family)
    if found is None:
        return None

    def width(candidate: signatures.Specialization) -> int:
        return sum(
            argument.dtype.itemsize == (1 if argument.name == "totags" else 8)
            for argument in candidate.arguments
            if argument.depth
        )

    return max(found.specializations, key=width)


def make(family: str, lists: int, device: bool = True, seed: int = SEED) -> Inputs:
    """The arguments of a call on so many lists.

    Args:
        family: one with a raw kernel.
        lists: how many lists, or what stands for them where there are none.
        device: whether they are CuPy arrays.
        seed: of the random numbers.
    """
    values = _MAKERS[family](Draw(lists, seed))
    found = specialization(family)
    dtypes = {} if found is None else {x.name: x.dtype for x in found.arguments}
    inputs = Inputs([])
    if device:
        import cupy as library
    else:
        library = np

    def array(value: Any, dtype: Any) -> Any:
        if isinstance(value, Empty):
            return library.zeros(value.size, dtype)
        if isinstance(value, Restored):
            made = library.asarray(value.content.astype(dtype))
            inputs.changed.append((made, made.copy()))
            return made
        return library.asarray(value.astype(dtype))

    for name, value in values.items():
        dtype = dtypes.get(name, np.int64)
        if isinstance(value, (int, bool)):
            inputs.arguments.append(value)
        elif isinstance(value, Addresses):
            arrays = [array(x, np.int64) for x in value.arrays]
            inputs.kept += arrays
            addresses = [x.data.ptr if device else x.ctypes.data for x in arrays]
            inputs.arguments.append(library.asarray(np.array(addresses, np.int64)))
        else:
            inputs.arguments.append(array(value, dtype))
    return inputs


# IndexedArray, ByteMaskedArray


@_inputs("ByteMaskedArray_reduce_next_64")
def _reduce_next(draw: Draw) -> Values:
    offsets = draw.offsets()
    mask = draw.rng.integers(0, 2, offsets[-1])
    return {
        "nextcarry": Empty(int(mask.sum())),
        "nextoffsets": Empty(draw.n + 1),
        "outindex": Empty(len(mask)),
        "mask": mask,
        "offsets": offsets,
        "outlength": draw.n,
        "validwhen": True,
    }


@_inputs("IndexedArray_fill")
def _fill(draw: Draw) -> Values:
    return {
        "toindex": Empty(draw.n),
        "toindexoffset": 0,
        "fromindex": draw.index(draw.n, draw.n),
        "length": draw.n,
        "base": 17,
    }


@_inputs("IndexedArray_fill_count")
def _fill_count(draw: Draw) -> Values:
    return {"toindex": Empty(draw.n), "toindexoffset": 0, "length": draw.n, "base": 17}


@_inputs("IndexedArray_local_preparenext_64")
def _local_preparenext(draw: Draw) -> Values:
    offsets = draw.offsets()
    left = draw.rng.integers(0, np.diff(offsets) + 1)
    return {
        "tocarry": Empty(int(offsets[-1])),
        "starts": offsets[:-1],
        "offsets": offsets,
        "nextoffsets": np.concatenate([[0], np.cumsum(left)]),
        "outlength": draw.n,
    }


@_inputs("IndexedArray_index_of_nulls")
def _index_of_nulls(draw: Draw) -> Values:
    offsets = draw.offsets()
    index = draw.index(int(offsets[-1]), draw.n)
    return {
        "toindex": Empty(int((index < 0).sum())),
        "fromindex": index,
        "offsets": offsets,
        "outlength": draw.n,
        "starts": offsets[:-1],
    }


@_inputs("IndexedArray_simplify")
def _simplify(draw: Draw) -> Values:
    return {
        "toindex": Empty(draw.n),
        "outerindex": draw.index(draw.n, draw.n),
        "outerlength": draw.n,
        "innerindex": draw.index(draw.n, draw.n),
        "innerlength": draw.n,
    }


# ListArray


@_inputs("ListArray_getitem_jagged_apply")
def _jagged_apply(draw: Draw) -> Values:
    offsets, slices = draw.offsets(least=1), draw.offsets(mean=2)
    counts = np.repeat(np.diff(offsets), np.diff(slices))
    return {
        "tooffsets": Empty(draw.n + 1),
        "tocarry": Empty(len(counts)),
        "slicestarts": slices[:-1],
        "slicestops": slices[1:],
        "sliceouterlen": draw.n,
        "sliceindex": draw.rng.integers(-counts, counts),
        "sliceinnerlen": len(counts),
        "fromstarts": offsets[:-1],
        "fromstops": offsets[1:],
        "contentlen": int(offsets[-1]),
    }


@_inputs("ListArray_getitem_jagged_expand")
def _jagged_expand(draw: Draw) -> Values:
    offsets = np.arange(draw.n + 1) * 3
    return {
        "multistarts": Empty(3 * draw.n),
        "multistops": Empty(3 * draw.n),
        "singleoffsets": np.array([0, 2, 3, 5]),
        "tocarry": Empty(3 * draw.n),
        "fromstarts": offsets[:-1],
        "fromstops": offsets[1:],
        "jaggedsize": 3,
        "length": draw.n,
    }


@_inputs("ListArray_getitem_jagged_shrink")
def _jagged_shrink(draw: Draw) -> Values:
    offsets = draw.offsets()
    missing = draw.index(int(offsets[-1]), draw.n)
    return {
        "tocarry": Empty(int((missing >= 0).sum())),
        "tosmalloffsets": Empty(draw.n + 1),
        "tolargeoffsets": Empty(draw.n + 1),
        "slicestarts": offsets[:-1],
        "slicestops": offsets[1:],
        "length": draw.n,
        "missing": missing,
    }


@_inputs("ListArray_getitem_next_array")
def _next_array(draw: Draw) -> Values:
    offsets = draw.offsets(mean=4, least=3)
    return {
        "tocarry": Empty(3 * draw.n),
        "toadvanced": Empty(3 * draw.n),
        "fromstarts": offsets[:-1],
        "fromstops": offsets[1:],
        "fromarray": np.array([0, -1, 2]),
        "lenstarts": draw.n,
        "lenarray": 3,
        "lencontent": int(offsets[-1]),
    }


@_inputs("ListArray_getitem_next_array_advanced")
def _next_array_advanced(draw: Draw) -> Values:
    offsets = draw.offsets(mean=4, least=3)
    return {
        "tocarry": Empty(draw.n),
        "toadvanced": Empty(draw.n),
        "fromstarts": offsets[:-1],
        "fromstops": offsets[1:],
        "fromarray": draw.rng.integers(-3, 3, 20),
        "fromadvanced": draw.rng.integers(0, 20, draw.n),
        "lenstarts": draw.n,
        "lencontent": int(offsets[-1]),
    }


@_inputs("ListArray_getitem_next_at")
def _next_at(draw: Draw) -> Values:
    offsets = draw.offsets(least=1)
    return {
        "tocarry": Empty(draw.n),
        "fromstarts": offsets[:-1],
        "fromstops": offsets[1:],
        "lenstarts": draw.n,
        "at": -1,
    }


@_inputs("ListArray_getitem_next_range")
def _next_range(draw: Draw) -> Values:
    offsets = draw.offsets()
    return {
        "tooffsets": Empty(draw.n + 1),
        "tocarry": Empty(int(np.maximum(np.diff(offsets) - 1, 0).sum())),
        "fromstarts": offsets[:-1],
        "fromstops": offsets[1:],
        "lenstarts": draw.n,
        "start": 1,
        "stop": SLICE_NONE,
        "step": 1,
    }


@_inputs("ListArray_getitem_next_range_spreadadvanced")
def _spreadadvanced(draw: Draw) -> Values:
    offsets = draw.offsets()
    return {
        "toadvanced": Empty(int(offsets[-1])),
        "fromadvanced": draw.rng.integers(0, 1000, draw.n),
        "fromoffsets": offsets,
        "lenstarts": draw.n,
    }


@_inputs("ListArray_rpad_axis1")
def _list_rpad(draw: Draw) -> Values:
    offsets = draw.offsets()
    return {
        "toindex": Empty(int(np.maximum(np.diff(offsets), 4).sum())),
        "fromstarts": offsets[:-1],
        "fromstops": offsets[1:],
        "tostarts": Empty(draw.n),
        "tostops": Empty(draw.n),
        "target": 4,
        "length": draw.n,
    }


@_inputs("ListArray_validity")
def _validity(draw: Draw) -> Values:
    offsets = draw.offsets()
    lencontent = int(offsets[-1])
    return {"starts": offsets[:-1], "stops": offsets[1:], "length": draw.n, "lencontent": lencontent}


# ListOffsetArray


@_inputs("ListOffsetArray_drop_none_indexes")
def _drop_none_indexes(draw: Draw) -> Values:
    offsets = draw.offsets()
    index = draw.index(int(offsets[-1]), draw.n)
    return {
        "tooffsets": Empty(draw.n + 1),
        "noneindexes": index,
        "fromoffsets": offsets,
        "length_offsets": draw.n + 1,
        "length_indexes": len(index),
    }


@_inputs("ListOffsetArray_flatten_offsets")
def _flatten_offsets(draw: Draw) -> Values:
    outer = draw.offsets()
    inner = draw.rng.poisson(3, int(outer[-1]))
    return {
        "tooffsets": Empty(draw.n + 1),
        "outeroffsets": outer,
        "outeroffsetslen": draw.n + 1,
        "inneroffsets": np.concatenate([[0], np.cumsum(inner)]),
    }


@_inputs("ListOffsetArray_reduce_local_nextparents_64")
def _local_nextparents(draw: Draw) -> Values:
    offsets = draw.offsets()
    elements = int(offsets[-1])
    return {
        "nextparents": Empty(elements),
        "offsets": offsets,
        "length": draw.n,
        "nextparents_length": elements,
    }


@_inputs("ListOffsetArray_reduce_local_outoffsets_64")
def _local_outoffsets(draw: Draw) -> Values:
    parents = np.repeat(np.arange(draw.n), np.diff(draw.offsets()))
    return {
        "outoffsets": Empty(draw.n + 1),
        "parents": parents,
        "lenparents": len(parents),
        "outlength": draw.n,
    }


@_inputs("ListOffsetArray_reduce_nonlocal_nextstarts_64")
def _nonlocal_nextstarts(draw: Draw) -> Values:
    parents = np.repeat(np.arange(draw.n), np.diff(draw.offsets()))
    return {"nextstarts": Empty(draw.n), "nextparents": parents, "nextlen": len(parents)}


@_inputs("ListOffsetArray_reduce_nonlocal_outstartsstops_64")
def _outstartsstops(draw: Draw) -> Values:
    columns = draw.rng.integers(0, 5, draw.n)
    distincts = np.arange(4 * draw.n).reshape(draw.n, 4)
    filled = np.arange(4) < columns[:, None]
    return {
        "outstarts": Empty(draw.n),
        "outstops": Empty(draw.n),
        "distincts": np.where(filled, distincts, -1).reshape(-1),
        "lendistincts": 4 * draw.n,
        "outlength": draw.n,
    }


@_inputs("ListOffsetArray_rpad_axis1")
def _offset_rpad(draw: Draw) -> Values:
    offsets = draw.offsets()
    return {
        "toindex": Empty(int(np.maximum(np.diff(offsets), 4).sum())),
        "fromoffsets": offsets,
        "fromlength": draw.n,
        "target": 4,
    }


@_inputs("ListOffsetArray_toRegularArray")
def _to_regular_array(draw: Draw) -> Values:
    return {
        "size": Empty(1),
        "fromoffsets": np.arange(draw.n + 1) * 3,
        "offsetslength": draw.n + 1,
    }


# NumpyArray, RegularArray


@_inputs("NumpyArray_rearrange_shifted")
def _rearrange_shifted(draw: Draw) -> Values:
    offsets = draw.offsets()
    elements = int(offsets[-1])
    parents = np.repeat(np.arange(draw.n), np.diff(offsets))
    return {
        # In each list its positions, which the starts below bring back.
        "toptr": np.arange(elements) - offsets[parents],
        "fromshifts": np.zeros(elements, np.int64),
        "length": elements,
        "fromoffsets": offsets,
        "outlength": draw.n,
        "fromparents": parents,
        "fromstarts": offsets[:-1],
    }


@_inputs("NumpyArray_reduce_adjust_starts_64")
def _adjust_starts(draw: Draw) -> Values:
    offsets = draw.offsets()
    return {
        "toptr": np.where(np.diff(offsets) > 0, offsets[:-1], -1),
        "outlength": draw.n,
        "offsets": offsets,
        "starts": np.zeros(draw.n, np.int64),
    }


@_inputs("RegularArray_combinations_64")
def _combinations(draw: Draw) -> Values:
    return {
        "tocarry": Addresses((Empty(6 * draw.n), Empty(6 * draw.n))),
        "toindex": Empty(2),
        "fromindex": Empty(2),
        "n": 2,
        "replacement": False,
        "size": 4,
        "length": draw.n,
    }


@_inputs("RegularArray_getitem_next_array_regularize")
def _regularize(draw: Draw) -> Values:
    return {
        "toarray": Empty(draw.n),
        "fromarray": draw.rng.integers(-10, 10, draw.n),
        "lenarray": draw.n,
        "size": 10,
    }


@_inputs("RegularArray_reduce_local_nextparents_64")
def _regular_nextparents(draw: Draw) -> Values:
    return {"nextparents": Empty(3 * draw.n), "size": 3, "length": draw.n}


@_inputs("RegularArray_reduce_nonlocal_preparenext_64")
def _regular_preparenext(draw: Draw) -> Values:
    outer = max(draw.n // 3, 1)
    return {
        "nextcarry": Empty(3 * draw.n),
        "nextoffsets": Empty(3 * outer + 1),
        "offsets": np.linspace(0, draw.n, outer + 1).astype(np.int64),
        "size": 3,
        "length": draw.n,
        "outlength": outer,
    }


# UnionArray, sorting


def _union(draw: Draw) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, ...], int]:
    """Tags, index and offsets of a union of two kinds of lists, and how many elements it has."""
    offsets = (draw.offsets(), draw.offsets())
    tags, index = draw.rng.integers(0, 2, draw.n), draw.rng.integers(0, draw.n, draw.n)
    counts = np.stack([np.diff(x) for x in offsets])[tags, index]
    return tags, index, offsets, int(counts.sum())


@_inputs("UnionArray_flatten_combine")
def _flatten_combine(draw: Draw) -> Values:
    tags, index, offsets, elements = _union(draw)
    return {
        "totags": Empty(elements),
        "toindex": Empty(elements),
        "tooffsets": Empty(draw.n + 1),
        "fromtags": tags,
        "fromindex": index,
        "length": draw.n,
        "offsetsraws": Addresses(offsets),
    }


@_inputs("UnionArray_flatten_length")
def _flatten_length(draw: Draw) -> Values:
    tags, index, offsets, _ = _union(draw)
    return {
        "total_length": Empty(1),
        "fromtags": tags,
        "fromindex": index,
        "length": draw.n,
        "offsetsraws": Addresses(offsets),
    }


@_inputs("UnionArray_nestedfill_tags_index")
def _nestedfill(draw: Draw) -> Values:
    offsets = draw.offsets()
    return {
        # Every list has as much room again for another content.
        "totags": Empty(2 * int(offsets[-1])),
        "toindex": Empty(2 * int(offsets[-1])),
        "tmpstarts": Restored(2 * offsets[:-1]),
        "tag": 1,
        "fromcounts": np.diff(offsets),
        "length": draw.n,
    }


@_inputs("sorting_ranges_length")
def _sorting_ranges_length(draw: Draw) -> Values:
    parents = np.repeat(np.arange(draw.n), np.diff(draw.offsets()))
    return {"tolength": Empty(1), "parents": parents, "parentslength": len(parents)}


@_inputs("sorting_ranges")
def _sorting_ranges(draw: Draw) -> Values:
    values = _sorting_ranges_length(draw)
    length = len(np.unique(values["parents"])) + 1
    return {"toindex": Empty(length), **values, "tolength": length}
