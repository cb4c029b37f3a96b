"""awkward's array layer on CUDA: what CuPy does slowly or differently from NumPy, and what the host reads.

`CudaArrays` takes the place of awkward's `Cupy` nplike while the backend is registered. Its rules:

- what the host must know (a length, a truth value) costs one wait, and the error word rides along, so
  that errors surface there by themselves; the ends of an index, which awkward asks for again and again,
  are read once;
- scalars are passed to kernels as scalars, never as arrays on the device;
- arrays are not printed for an error that has not happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import ref

import awkward as ak
import awkward._connect.numpy
import awkward._slicing
import numpy as np
from awkward._nplikes import to_nplike as awkward_to_nplike
from awkward._nplikes.array_like import maybe_materialize
from awkward._nplikes.cupy import Cupy
from awkward._nplikes.virtual import VirtualNDArray

import errorflag
from primitives import op, scan, segmented_transform, select


def to_host(array: Any) -> np.ndarray:
    """A CuPy array as NumPy's: one wait, and the error of its stream if there is one."""
    if not array.flags.c_contiguous:
        array = array.copy(order="C")
    result: np.ndarray = errorflag.read(array)[0]
    return result


def to_scalar(value: Any) -> Any:
    """A 0-dimensional CuPy array as a Python number; anything else as it is."""
    return errorflag.read_items(value, (0,))[0] if Cupy.is_own_array(value) else value


@op
def repeat_count(i, count, repeats):
    count[0] = repeats[i]


@op(errors=("repeats may not contain negative values.",))
def store_repeat_offset(i, before, after, offsets):
    if i == 0:
        offsets[0] = 0
    offsets[i + 1] = after
    if after < before:
        return 1, after - before


@op
def repeat_index(segment, position, local, indexes):
    indexes[position] = segment


@op
def is_nonzero(i, keep, x):
    keep[0] = x[i] != 0


@op
def differs(i, value, x1, x2):
    value[0] = x1[i] != x2[i]


@op
def only_total(i, before, after):
    pass


class CudaArrays(Cupy):
    """The array layer of the registered CUDA backend."""

    # awkward formats the arguments of every operation on arrays whose nplike is not eager, in case a
    # kernel fails later: that is a dozen reads from the device. Errors here name the operation instead.
    is_eager = True  # type: ignore[misc]

    def index_as_shape_item(self, x1: Any) -> int:
        return int(to_scalar(x1))

    def _reduced(self, out: Any, axis: Any, keepdims: bool) -> Any:
        """A complete reduction as NumPy gives it: a scalar of the array's type."""
        return out.dtype.type(to_scalar(out)) if axis is None and not keepdims else out

    def all(self, x: Any, *, axis: Any = None, keepdims: bool = False, maybe_out: Any = None) -> Any:
        (x,) = maybe_materialize(x)
        if x.ndim == 0:
            axis = None
        return self._reduced(
            self._module.all(x, axis=axis, keepdims=keepdims, out=maybe_out), axis, keepdims
        )

    def any(self, x: Any, *, axis: Any = None, keepdims: bool = False, maybe_out: Any = None) -> Any:
        (x,) = maybe_materialize(x)
        if x.ndim == 0:
            axis = None
        return self._reduced(
            self._module.any(x, axis=axis, keepdims=keepdims, out=maybe_out), axis, keepdims
        )

    def min(self, x: Any, *, axis: Any = None, keepdims: bool = False, maybe_out: Any = None) -> Any:
        (x,) = maybe_materialize(x)
        if isinstance(x, np.ndarray):  # awkward reduces starts and stops that it has read already
            return x.min(axis=axis, keepdims=keepdims, out=maybe_out)
        return self._reduced(
            self._module.min(x, axis=axis, keepdims=keepdims, out=maybe_out), axis, keepdims
        )

    def max(self, x: Any, *, axis: Any = None, keepdims: bool = False, maybe_out: Any = None) -> Any:
        (x,) = maybe_materialize(x)
        if isinstance(x, np.ndarray):
            return x.max(axis=axis, keepdims=keepdims, out=maybe_out)
        return self._reduced(
            self._module.max(x, axis=axis, keepdims=keepdims, out=maybe_out), axis, keepdims
        )

    def sum(
        self,
        x: Any,
        *,
        axis: Any = None,
        keepdims: bool = False,
        maybe_out: Any = None,
        dtype: Any = None,
    ) -> Any:
        (x,) = maybe_materialize(x)
        return self._reduced(
            self._module.sum(x, axis=axis, keepdims=keepdims, out=maybe_out, dtype=dtype), axis, keepdims
        )

    def count_nonzero(self, x: Any, *, axis: Any = None) -> Any:
        (x,) = maybe_materialize(x)
        return self._reduced(self._module.count_nonzero(x, axis=axis), axis, False)

    def array_equal(self, x1: Any, x2: Any, *, equal_nan: bool = False) -> bool:
        x1, x2 = (x.data if isinstance(x, ak.index.Index) else x for x in maybe_materialize(x1, x2))
        if x1.shape != x2.shape:
            return False
        if x1.dtype == x2.dtype and x1.dtype.kind in "biu":
            if x1.data.ptr == x2.data.ptr and x1.strides == x2.strides:
                return True
            if x1.ndim == 1 and x1.flags.c_contiguous and x2.flags.c_contiguous:
                different = self._module.empty(1, np.int64)
                scan(x1.shape[0], (differs, x1, x2), (only_total,), total=different)
                return to_scalar(different) == 0
        equal = x1 == x2
        if equal_nan and x1.dtype.kind in "fc" and x2.dtype.kind in "fc":
            equal |= (x1 != x1) & (x2 != x2)
        return bool(to_scalar(self._module.all(equal)))

    def logical_not(self, x: Any, maybe_out: Any = None) -> Any:
        (x,) = maybe_materialize(x)
        if x.dtype.kind == "c":
            return self._module.equal(x, 0, out=maybe_out)
        return self._module.logical_not(x, out=maybe_out)

    def full(self, shape: Any, fill_value: Any, *, dtype: Any = None) -> Any:
        if Cupy.is_own_array(fill_value):
            return super().full(shape, fill_value, dtype=dtype)
        if dtype is None:
            dtype = np.asarray(fill_value).dtype
        return self._module.full(shape, fill_value, dtype=dtype)

    def full_like(self, x: Any, fill_value: Any, *, dtype: Any = None) -> Any:
        return self.full(x.shape, fill_value, dtype=dtype or x.dtype)

    def nonzero(self, x: Any) -> tuple[Any, ...]:
        (x,) = maybe_materialize(x)
        if x.ndim != 1 or not x.flags.c_contiguous or x.dtype.kind not in "biuf":
            return self._module.nonzero(x)
        out = self._module.empty(x.shape[0], np.int64)
        total = self._module.empty(1, np.int64)
        select((is_nonzero, x), x.shape[0], out, total=total)
        return (out[: to_scalar(total)],)

    def repeat(self, x: Any, repeats: Any, *, axis: int | None = None) -> Any:
        x, repeats = maybe_materialize(x, repeats)
        if isinstance(repeats, (int, np.integer)):
            return self._module.repeat(x, repeats=int(repeats), axis=axis)
        if axis is not None and x.ndim != 1:
            raise NotImplementedError(f"repeat for CuPy with axis={axis!r}")
        x = x.reshape(-1)
        repeats = self._module.ascontiguousarray(repeats).reshape(-1)
        if repeats.shape[0] == 1 and x.shape[0] != 1:
            repeats = self._module.broadcast_to(repeats, x.shape).copy()
        if repeats.shape != x.shape:
            raise ValueError(
                f"operands could not be broadcast together with shape {x.shape} {repeats.shape}"
            )
        n = x.shape[0]
        total = self._module.empty(1, np.int64)
        offsets = self._module.empty(n + 1, np.int64)
        scan(n, (repeat_count, repeats), (store_repeat_offset, offsets), total=total)
        length = to_scalar(total)
        indexes = self._module.empty(length, np.int64)
        segmented_transform(offsets, length, repeat_index, indexes, segments=n)
        return x[indexes]

    def apply_ufunc(
        self, ufunc: Any, method: str, args: list[Any], kwargs: dict[str, Any] | None = None
    ) -> Any:
        implementation = getattr(self._module, ufunc.__name__, None)
        if method != "__call__" or implementation is None or not hasattr(ufunc, "resolve_dtypes"):
            return super().apply_ufunc(ufunc, method, args, kwargs)
        args = list(maybe_materialize(*args))
        if not any(hasattr(arg, "dtype") and getattr(arg, "ndim", 0) for arg in args):
            return super().apply_ufunc(ufunc, method, args, kwargs)
        given = tuple(self._get_nep_50_dtype(arg) for arg in args)
        resolved = ufunc.resolve_dtypes((*given, *[None] * ufunc.nout))
        return implementation(
            *[
                arg.astype(dtype, copy=False) if hasattr(arg, "astype") else dtype.type(arg)
                for arg, dtype in zip(args, resolved, strict=False)
            ],
            **(kwargs or {}),
        )


known_ends: dict[int, ref[Any]] = {}
"""Indexes whose first and last element the host has read, by the identity of their arrays."""


def forget_ends(array: Any) -> None:
    """Called for every array that a kernel writes: what the host knows of it is no longer true."""
    reference = known_ends.pop(id(array), None)
    index = None if reference is None else reference()
    if index is not None:
        del index._ends


def getitem_of_index(original: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`Index.__getitem__` that reads elements from the device in one wait, its ends only once."""

    def __getitem__(self: Any, where: Any) -> Any:
        data = self._data
        if (
            type(self._nplike) is not CudaArrays
            or not isinstance(where, (int, np.integer))
            or type(data) is VirtualNDArray
        ):
            return original(self, where)
        length = data.shape[0]
        position = where + length if where < 0 else where
        if not 0 <= position < length:
            return original(self, where)  # the error of an array
        last = length - 1
        if 0 < position < last:
            return errorflag.read_items(data, (int(position),))[0]
        try:
            ends = self._ends
        except AttributeError:
            ends = self._ends = errorflag.read_items(data, (0, last) if last else (0,))
            key = id(data)
            known_ends[key] = ref(self, lambda _: known_ends.pop(key, None))
        return ends[0] if position == 0 else ends[1]

    return __getitem__


def setitem_of_index(original: Callable[[Any, Any, Any], None]) -> Callable[[Any, Any, Any], None]:
    """`Index.__setitem__`, after which its ends are read again."""

    def __setitem__(self: Any, where: Any, what: Any) -> None:
        original(self, where, what)
        forget_ends(self._data)

    return __setitem__


def to_nplike(array: Any, nplike: Any, *, from_nplike: Any = None) -> Any:
    """awkward's `to_nplike`, whose copies to the host carry the error word along."""
    if Cupy.is_own_array(array) and type(array) is not VirtualNDArray and not isinstance(nplike, Cupy):
        if nplike.known_data:
            return nplike.asarray(to_host(array))
    return awkward_to_nplike(array, nplike, from_nplike=from_nplike)


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that shows values, which must not be the garbage of a failed kernel."""

    def call(*args: Any, **kwargs: Any) -> Any:
        errorflag.check()
        return function(*args, **kwargs)

    return call


def getitem_at(original: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`NumpyArray._getitem_at`: a single value that leaves an array is one that the host looks at."""

    def _getitem_at(self: Any, where: Any) -> Any:
        out = original(self, where)
        if type(self._backend.nplike) is CudaArrays and not getattr(out, "ndim", 1):
            errorflag.check()
        return out

    return _getitem_at


@contextmanager
def installed() -> Iterator[None]:
    """Inside, awkward's CUDA arrays use this layer."""
    nplike = Cupy.instance()
    replaced: list[tuple[Any, str, Any]] = [
        (ak.index.Index, "__getitem__", getitem_of_index(ak.index.Index.__getitem__)),
        (ak.index.Index, "__setitem__", setitem_of_index(ak.index.Index.__setitem__)),
    ]
    numpyarray = ak.contents.NumpyArray
    replaced.append((numpyarray, "_getitem_at", getitem_at(numpyarray._getitem_at)))
    for module in (ak._slicing, ak._connect.numpy, ak.index, ak.contents.content, ak.contents.numpyarray):
        replaced.append((module, "to_nplike", to_nplike))
    for name in ("highlevel_array_show_rows", "prettyprint_valuestr"):
        replaced.append((ak.highlevel, name, checked(getattr(ak.highlevel, name))))
    for owner, name in ((ak.contents.content.Content, "to_list"), (ak.record.Record, "to_list")):
        replaced.append((owner, name, checked(getattr(owner, name))))
    originals = [(owner, name, getattr(owner, name)) for owner, name, _ in replaced]
    nplike.__class__ = CudaArrays
    for owner, name, ours in replaced:
        setattr(owner, name, ours)
    try:
        yield
    finally:
        nplike.__class__ = Cupy
        for owner, name, theirs in originals:
            setattr(owner, name, theirs)
