"""awkward's `Index`: its ends are read together and once, and what the host makes is not read at all; two are compared
once."""

from __future__ import annotations

from typing import Any

import numpy as np
from awkward._nplikes.cupy import Cupy
from awkward._nplikes.virtual import VirtualNDArray
from awkward.index import Index, Index8, Index32, Index64, IndexU8, IndexU32

import errorflag

from .._known import are_known_equal, forget, remember_ends, remember_equal
from .arrays import CudaArrays, gather
from .device import Method, is_on_device, is_own

INDEX_TYPES: dict[str, type[Index]] = {
    np.dtype(dtype).char: index_type
    for dtype, index_type in (
        (np.int8, Index8),
        (np.uint8, IndexU8),
        (np.int32, Index32),
        (np.uint32, IndexU32),
        (np.int64, Index64),
    )
}


def index_init(original: Method) -> Method:
    """`Index.__init__`: looks at an array of CuPy once, and at a list before it is on the device."""

    def __init__(self: Any, data: Any, *, metadata: Any = None, nplike: Any = None) -> None:
        if (
            is_own(data)
            and metadata is None
            and (nplike is None or type(nplike) is CudaArrays)
        ):
            char = data.dtype.char
            index_type = INDEX_TYPES.get(char)
            expected = self._expected_dtype
            if (
                index_type is not None
                and (expected is None or expected.char == char)
                and data.ndim == 1
                and data._c_contiguous
            ):
                self._nplike = Cupy.instance()
                self._metadata = None
                self._data = data
                if expected is None:
                    self.__class__ = index_type
                return
        original(self, data, metadata=metadata, nplike=nplike)
        if type(nplike) is CudaArrays and type(data) is list and data:
            if type(data[0]) is int and type(data[-1]) is int:
                remember_ends(self, data[0], data[-1])

    return __init__


def index_getitem(original: Method) -> Method:
    """`Index.__getitem__`: reads elements in one wait and the ends only once; stays within its array."""

    def __getitem__(self: Any, where: Any) -> Any:
        data = self._data
        nplike = self._nplike
        if type(nplike) is not CudaArrays or type(data) is VirtualNDArray:
            return original(self, where)
        if type(where) is slice:
            return _index_slice(self, data, where, original)
        if isinstance(where, (int, np.integer)):
            return _index_element(self, data, int(where), original)
        if is_on_device(where) and where.dtype.kind in "iu":
            return Index(gather(data, where), metadata=self._metadata, nplike=nplike)
        return original(self, where)

    return __getitem__


def _index_slice(self: Any, data: Any, where: slice, original: Method) -> Any:
    for part in (where.start, where.stop, where.step):
        if part is not None and not isinstance(part, int):
            return original(self, where)
    length = data.shape[0]
    start, stop, step = where.indices(length)
    if step != 1:
        return original(self, where)
    if start == 0 and stop == length:
        return self
    return Index(data[start:stop], metadata=self._metadata, nplike=self._nplike)


def _index_element(self: Any, data: Any, where: int, original: Method) -> Any:
    length = data.shape[0]
    position = where + length if where < 0 else where
    if not 0 <= position < length:
        return original(self, where)  # the error of an array
    last = length - 1
    if 0 < position < last:
        return errorflag.read_items(data, (position,))[0]
    try:
        ends = self._ends
    except AttributeError:
        found = errorflag.read_items(data, (0, last) if last else (0,))
        ends = remember_ends(self, found[0], found[-1])
    return ends[0] if position == 0 else ends[1]


def index_setitem(original: Method) -> Method:
    """`Index.__setitem__`, after which its ends are read again."""

    def __setitem__(self: Any, where: Any, what: Any) -> None:
        original(self, where, what)
        forget(self._data)

    return __setitem__


def index_to64(original: Method) -> Method:
    """`Index.to64`: what has 64 bits is not copied."""

    def to64(self: Any) -> Any:
        if type(self._nplike) is CudaArrays and type(self) is Index64:
            return self
        return original(self)

    return to64


def index_materialize(original: Method) -> Method:
    """`Index.materialize`: what is in memory stays the same index, of which the host knows the ends."""

    def materialize(self: Any, type_: Any) -> Any:
        return self if is_own(self._data) else original(self, type_)

    return materialize


def are_equal(one: Any, other: Any, nplike: Any) -> bool:
    """Whether two indexes are equal: if they are two, in a launch and a wait, and once."""
    if one is other or are_known_equal(one, other):
        return True
    found = one.dtype == other.dtype and bool(nplike.array_equal(one.data, other.data))
    if found:
        remember_equal(one, other)
    return found
