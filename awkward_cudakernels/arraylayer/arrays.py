"""awkward's array layer on CUDA: what CuPy does slowly or differently from NumPy, and what the host reads.

`CudaArrays` takes the place of awkward's `Cupy` nplike while the backend is registered. Its rules:

- what the host must know (a length, a truth value) costs one wait, which tells of errors, too, so
  that they surface there by themselves;
- scalars are passed to kernels as scalars, never as arrays on the device; small arrays of the host's
  are copied without waiting;
- no index leads out of its array, and one of a user's that would is an error, for which CuPy does not
  look;
- arrays are not printed for an error that has not happened.

What awkward's classes do with these arrays is in the other modules.
"""

from __future__ import annotations

from math import prod
from typing import Any

import awkward as ak
import numpy as np
from awkward._nplikes.array_like import maybe_materialize
from awkward._nplikes.cupy import Cupy

import errorflag
from primitives import (
    device_function,
    inclusive_scan,
    op,
    reduce,
    scan,
    select,
    transform,
)

from .._registry import call_as
from . import elementwise
from .device import is_on_device

_bool = np.dtype(bool)

SMALL = 1 << 16
"""Bytes that the driver takes from pageable memory at once, without waiting for the stream."""

SLICING = "slicing"
"""What errors call the look at a user's index or mask, which NumPy takes and awkward has no kernel for."""

FEW = 8
"""Arrays that are joined one by one; CuPy joins more of them in one launch."""


def to_host(array: Any) -> np.ndarray:
    """A CuPy array as NumPy's: one wait, and the error of its stream if there is one."""
    if not array.flags.c_contiguous:
        array = array.copy(order="C")
    result: np.ndarray = errorflag.read(array)[0]
    return result


def _on_host(values: Any, dtype: Any) -> np.ndarray | None:
    """Numbers as a contiguous array of a dtype that CuPy has too; None if they are not."""
    if type(values) is list and not all(isinstance(x, (int, float, np.generic)) for x in values):
        return None
    array = np.asarray(values, dtype, order="C")
    return array if array.dtype.kind in "biufc" and array.dtype.isnative else None


def to_scalar(value: Any) -> Any:
    """A 0-dimensional CuPy array as a Python number; anything else as it is."""
    return errorflag.read_items(value, (0,))[0] if Cupy.is_own_array(value) else value


def _truth(x: Any) -> Any:
    """An argument of a logical function: CuPy has none of complex numbers."""
    return x != 0 if getattr(x, "dtype", None) is not None and x.dtype.kind == "c" else x


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


@device_function
def nearest(j, n):
    """A place in an array of `n` elements: negative ones count from its end, those beyond are its ends."""
    return max(min(j + n if j < 0 else j, n - 1), 0)


@device_function
def within(j, n):
    """As `nearest`, where nearly all places are within the array: one comparison."""
    return j if np.uint64(j) < np.uint64(n) else nearest(j, n)


@device_function
def copy_element(out, i, x, j, n):
    """``out[i] = x[j]``, with a place as of `nearest`; 0 of an array that has no elements."""
    if np.uint64(j) < np.uint64(n):  # not an expression: with a number in it, uint64 would become float64
        out[i] = x[j]  # nearly always: one comparison
    elif n > 0:
        out[i] = x[nearest(j, n)]
    else:
        out[i] = 0


@op
def take(i, out, x, indexes, n):
    copy_element(out, i, x, indexes[i], n)


@op
def take_row(i, out, x, indexes, n, width):
    row = nearest(indexes[i // width], n)
    copy_element(out, i, x, row * width + i % width, n * width)


@op(errors=("index out of bounds",))
def is_in_bounds(i, indexes, n):
    j = indexes[i]
    if j < -n or j >= n:
        return 1


@op
def number_of_range(i, out, start, step):
    out[i] = start + i * step


@op
def is_nonzero(i, keep, x):
    keep[0] = x[i] != 0


@op
def differs(i, value, x1, x2):
    value[0] = x1[i] != x2[i]


def check_bounds(indexes: Any, n: int) -> None:
    """Reports an index of the user's that no array of `n` elements has; negative ones count from the end."""
    call_as(SLICING, transform, is_in_bounds, indexes.shape[0], indexes, n)


def gather(array: Any, indexes: Any) -> Any:
    """``array[indexes]``; negative ones count from the end, and those out of bounds are its ends.

    They are no error here: awkward also carries by indexes that it has written in part. What its users
    give is checked where it comes in.

    Args:
        array: of CuPy, with at least one dimension.
        indexes: integers in a CuPy array of one dimension, contiguous.
    """
    if array.dtype.char == "e":  # which no op can use
        return gather(array.view(np.uint16), indexes).view(array.dtype)
    n = indexes.shape[0]
    out = type(array)((n, *array.shape[1:]), array.dtype)
    if array.ndim == 1 and array._c_contiguous:
        transform(take, n, out, array, indexes, array.shape[0])
        return out
    width = prod(array.shape[1:])
    rows = array if array._c_contiguous else array.copy(order="C")
    transform(take_row, n * width, out, rows, indexes, rows.shape[0], width)
    return out


class CudaArrays(Cupy):
    """The array layer of the registered CUDA backend."""

    # awkward formats the arguments of every operation on arrays whose nplike is not eager, in case a
    # kernel fails later: that is a dozen reads from the device. Errors here name the operation instead.
    is_eager = True  # type: ignore[misc]

    def index_as_shape_item(self, x1: Any) -> int:
        return x1 if type(x1) is int else int(to_scalar(x1))

    def asarray(self, obj: Any, *, dtype: Any = None, copy: bool | None = None) -> Any:
        kind = type(obj)
        is_host = kind is list or kind is np.ndarray or isinstance(obj, (int, float, np.generic))
        if is_host and copy is not False:
            host = _on_host(obj, dtype)
            if host is not None and host.nbytes <= SMALL:
                return self._uploaded(host)
        if kind is self._module.ndarray and dtype is not None and copy is not False and obj.dtype != dtype:
            return self.astype(obj, dtype)
        return super().asarray(obj, dtype=dtype, copy=copy)

    def astype(self, x: Any, dtype: Any, *, copy: bool | None = True) -> Any:
        (x,) = maybe_materialize(x)
        dtype = np.dtype(dtype)
        found = elementwise.cast(x, dtype) if type(x) is self._module.ndarray and x.dtype != dtype else None
        return x.astype(dtype, copy=copy) if found is None else found

    def _uploaded(self, host: np.ndarray) -> Any:
        """A copy of a small array, without waiting for the device."""
        out = self._module.ndarray(host.shape, host.dtype)
        if host.nbytes:
            cuda = self._module.cuda
            address = host.__array_interface__["data"][0]
            stream = cuda.get_current_stream().ptr
            cuda.runtime.memcpyAsync(out.data.ptr, address, host.nbytes, 1, stream)
        return out

    def concat(self, arrays: Any, *, axis: int | None = 0) -> Any:
        if axis == 0 and len(arrays) <= FEW and all(map(is_on_device, arrays)):
            dtype = np.result_type(*(x.dtype for x in arrays))
            if all(x.dtype == dtype or (x.dtype.char, dtype.char) in elementwise.CASTS for x in arrays):
                return self._joined(arrays, dtype)
        return super().concat(arrays, axis=axis)

    def _joined(self, arrays: Any, dtype: Any) -> Any:
        """Arrays one after another: what need not be cast is copied by the driver, as fast as can be."""
        out = self._module.ndarray(sum(x.shape[0] for x in arrays), dtype)
        cuda = self._module.cuda
        at = 0
        for x in arrays:
            n = x.shape[0]
            if n and x.dtype == dtype:
                stream = cuda.get_current_stream().ptr
                cuda.runtime.memcpyAsync(out[at:].data.ptr, x.data.ptr, x.nbytes, 3, stream)
            elif n:
                transform(elementwise.copy_value, n, out[at : at + n], x)
            at += n
        return out

    def arange(self, start: Any, stop: Any = None, step: Any = 1, *, dtype: Any = None) -> Any:
        if stop is None:
            start, stop = 0, start
        if type(start) is int and type(stop) is int and type(step) is int and step and dtype == np.int64:
            out = self._module.ndarray(max(0, -((start - stop) // step)), dtype)
            transform(number_of_range, out.shape[0], out, start, step)
            return out
        return super().arange(start, stop, step, dtype=dtype)

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
                reduce(x1.shape[0], (differs, x1, x2), different)
                return to_scalar(different) == 0
        equal = x1 == x2
        if equal_nan and x1.dtype.kind in "fc" and x2.dtype.kind in "fc":
            equal |= (x1 != x1) & (x2 != x2)
        return bool(to_scalar(self._module.all(equal)))

    def logical_or(self, x1: Any, x2: Any, *, maybe_out: Any = None) -> Any:
        return self._logical("logical_or", maybe_materialize(x1, x2), maybe_out)

    def logical_and(self, x1: Any, x2: Any, *, maybe_out: Any = None) -> Any:
        return self._logical("logical_and", maybe_materialize(x1, x2), maybe_out)

    def logical_not(self, x: Any, maybe_out: Any = None) -> Any:
        return self._logical("logical_not", maybe_materialize(x), maybe_out)

    def _logical(self, name: str, args: Any, out: Any) -> Any:
        dtypes: list[Any] = [getattr(arg, "dtype", None) for arg in args]
        if out is None and dtypes[0] is not None and len(set(dtypes)) == 1:
            found = elementwise.call(name, list(args), (*dtypes, _bool))
            if found is not None:
                return found
        return getattr(self._module, name)(*map(_truth, args), out=out)

    def angle(self, x: Any, deg: bool = False) -> Any:
        (x,) = maybe_materialize(x)
        if x.dtype.kind != "f":
            return self._module.angle(x, deg)
        # CuPy's knows neither NaN nor -0.0 where there is no imaginary part
        radians = self._module.arctan2(x.dtype.type(0), x)
        return radians * x.dtype.type(180 / np.pi) if deg else radians

    def full(self, shape: Any, fill_value: Any, *, dtype: Any = None) -> Any:
        if Cupy.is_own_array(fill_value):
            return super().full(shape, fill_value, dtype=dtype)
        if dtype is None:
            dtype = np.asarray(fill_value).dtype
        found = elementwise.full(shape, fill_value, np.dtype(dtype))
        return self._module.full(shape, fill_value, dtype=dtype) if found is None else found

    def full_like(self, x: Any, fill_value: Any, *, dtype: Any = None) -> Any:
        return self.full(x.shape, fill_value, dtype=dtype or x.dtype)

    def ones(self, shape: Any, *, dtype: Any = None) -> Any:
        return self.full(shape, 1, dtype=np.float64 if dtype is None else dtype)

    def ones_like(self, x: Any, *, dtype: Any = None) -> Any:
        return self.full(x.shape, 1, dtype=dtype or x.dtype)

    def cumsum(self, x: Any, *, axis: int | None = None, maybe_out: Any = None) -> Any:
        (x,) = maybe_materialize(x)
        kind = x.dtype.kind
        dtype = np.dtype(np.uint64 if kind == "u" else np.int64)
        out = maybe_out
        if x.ndim != 1 or axis not in (None, 0, -1) or kind not in "biu" or not x._c_contiguous:
            return self._module.cumsum(x, axis=axis, out=out)
        if out is None:
            out = self._module.ndarray(x.shape, dtype)
        elif out.dtype != dtype or out.shape != x.shape or not out._c_contiguous:
            return self._module.cumsum(x, axis=axis, out=out)
        inclusive_scan(x, out)
        return out

    def nonzero(self, x: Any) -> tuple[Any, ...]:
        (x,) = maybe_materialize(x)
        if x.ndim != 1 or not x.flags.c_contiguous or x.dtype.kind not in "biuf" or x.dtype.char == "e":
            return self._module.nonzero(x)
        out = self._module.empty(x.shape[0], np.int64)
        total = self._module.empty(1, np.int64)
        select((is_nonzero, x), x.shape[0], out, total=total)
        return (out[: to_scalar(total)],)

    def unpackbits(
        self, x: Any, *, axis: int | None = None, count: int | None = None, bitorder: str = "big"
    ) -> Any:
        (x,) = maybe_materialize(x)
        if axis is not None and not (axis in (0, -1) and x.ndim == 1):
            raise NotImplementedError(f"unpackbits for CuPy with axis={axis!r}")
        bits = self._module.unpackbits(x, bitorder=bitorder)  # which takes no count
        if count is None or count <= bits.shape[0]:
            return bits[:count]
        return self._module.concatenate((bits, self._module.zeros(count - bits.shape[0], np.uint8)))

    def repeat(self, x: Any, repeats: Any, *, axis: int | None = None) -> Any:
        x, repeats = maybe_materialize(x, repeats)
        if isinstance(repeats, (int, np.integer)):
            return self._module.repeat(x, repeats=int(repeats), axis=axis)
        if axis is not None and x.ndim != 1:
            raise NotImplementedError(f"repeat for CuPy with axis={axis!r}")
        if x.dtype.char == "e":  # which no op can use
            return self.repeat(x.view(np.uint16), repeats).view(x.dtype)
        x = x.reshape(-1)
        repeats = self._module.ascontiguousarray(repeats).reshape(-1)
        if not np.can_cast(repeats.dtype, np.int64, "safe"):
            raise TypeError(
                f"Cannot cast array data from {repeats.dtype!r} to {np.dtype(np.int64)!r} according to the rule 'safe'"
            )
        if repeats.shape[0] == 1 and x.shape[0] != 1:
            repeats = self._module.broadcast_to(repeats, x.shape).copy()
        if repeats.shape != x.shape:
            raise ValueError(
                f"operands could not be broadcast together with shape {x.shape} {repeats.shape}"
            )
        n = x.shape[0]
        total = self._module.empty(1, np.int64)
        offsets = self._module.empty(n + 1, np.int64)
        counts, store = (repeat_count, repeats), (store_repeat_offset, offsets)
        call_as("repeat", lambda: scan(n, counts, store, total=total))
        length = to_scalar(total)
        return elementwise.Repeated(x, offsets, length)()

    def apply_ufunc(
        self, ufunc: Any, method: str, args: list[Any], kwargs: dict[str, Any] | None = None
    ) -> Any:
        implementation = getattr(self._module, ufunc.__name__, None)
        if method != "__call__" or implementation is None or not hasattr(ufunc, "resolve_dtypes"):
            return super().apply_ufunc(ufunc, method, args, kwargs)
        args = [arg if elementwise.repeated_by(arg) else maybe_materialize(arg)[0] for arg in args]
        if ufunc.__name__.startswith("logical_"):
            args = [_truth(arg) for arg in args]
        if not any(hasattr(arg, "dtype") and getattr(arg, "ndim", 0) for arg in args):
            return super().apply_ufunc(ufunc, method, args, kwargs)
        given = tuple(self._get_nep_50_dtype(arg) for arg in args)
        resolved = ufunc.resolve_dtypes((*given, *[None] * ufunc.nout))
        if not kwargs:
            found = elementwise.call(ufunc.__name__, args, resolved)
            if found is not None:
                return found
        return implementation(
            *[
                arg.astype(dtype, copy=False) if hasattr(arg, "astype") else dtype.type(arg)
                for arg, dtype in zip(maybe_materialize(*args), resolved, strict=False)
            ],
            **(kwargs or {}),
        )
