"""What awkward's classes do with arrays on CUDA, where that is slow, waits for the device, or goes wrong.

While the backend is registered, `installed` puts the functions below in the places of awkward's. Each does
what awkward's does, for arrays of `CudaArrays`; for all others it calls awkward's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

import awkward as ak
import awkward._connect.numpy
import awkward._slicing
import awkward.operations.ak_to_layout
import numpy as np
from awkward._backends.backend import Backend
from awkward._errors import ErrorContext
from awkward._nplikes.array_like import MaterializableArray
from awkward._nplikes.cupy import Cupy
from awkward._nplikes.jax import Jax
from awkward._nplikes.placeholder import PlaceholderArray
from awkward._nplikes.typetracer import TypeTracerArray
from awkward._nplikes.virtual import VirtualNDArray
from awkward._parameters import parameters_intersect, parameters_union
from awkward.contents import (
    Content,
    IndexedArray,
    IndexedOptionArray,
    ListArray,
    ListOffsetArray,
    NumpyArray,
    RecordArray,
    RegularArray,
    UnionArray,
)
from awkward.index import Index, Index8, Index32, Index64, IndexU8, IndexU32

import errorflag
from primitives import offsets_from, op, segment_ids, segmented_reduce, segmented_transform, transform

from ._arraylayer import CudaArrays, check_bounds, gather, is_nonzero, nearest, repeat_element, take, to_host
from ._ends import forget_ends, remember_ends
from ._registry import call_as
from .kernels.listarray import check_broadcast

Method = Callable[..., Any]

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


# Index


_ndarray: Any = None
"""CuPy's type of arrays, while the layer is installed."""


def _is_on_device(array: Any) -> bool:
    """Whether it is an array of CuPy, contiguous and of one dimension."""
    return type(array) is _ndarray and array.ndim == 1 and array._c_contiguous


def _is_plain(content: Any) -> bool:
    """Whether a layout is one dimension of numbers in contiguous memory of the device, for ops to use."""
    if type(content) is not NumpyArray:
        return False
    data = content._data
    return type(data) is _ndarray and data.ndim == 1 and data._c_contiguous and data.dtype.char != "e"


def index_init(original: Method) -> Method:
    """`Index.__init__`: looks at an array of CuPy once, and at a list before it is on the device."""

    def __init__(self: Any, data: Any, *, metadata: Any = None, nplike: Any = None) -> None:
        if (
            type(data) is _ndarray
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
        if _is_on_device(where) and where.dtype.kind in "iu":
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
        forget_ends(self._data)

    return __setitem__


def index_to64(original: Method) -> Method:
    """`Index.to64`: what has 64 bits is not copied."""

    def to64(self: Any) -> Any:
        if type(self._nplike) is CudaArrays and type(self) is Index64:
            return self
        return original(self)

    return to64


# Layouts


@op(errors=("index out of bounds",))
def is_unset(i, mask, n):
    if mask[n + i]:
        return 1


def content_getitem(original: Method) -> Method:
    """`Content._getitem`: where an index or a mask of the user's comes in, which may be out of bounds.

    And where a mask of lists, ``array[:, 0]`` and ``array[:, :2]`` can go straight to their lists.
    """

    def _getitem(self: Any, where: Any, *named_axis: Any) -> Any:
        if isinstance(where, NumpyArray) and type(self._backend.nplike) is CudaArrays:
            data = where._data
            if type(data) is _ndarray and data._c_contiguous:
                if data.dtype.kind in "iu":
                    check_bounds(data if data.ndim == 1 else data.reshape(-1), self.length)
                elif data.dtype.kind == "b" and data.ndim == 1:
                    transform(is_unset, max(0, data.shape[0] - self.length), data, self.length)
        elif type(where) is ListOffsetArray and type(self) in (ListOffsetArray, ListArray):
            if type(self._backend.nplike) is CudaArrays and where._backend is self._backend:
                masked = _masked(self, where)
                if masked is not None:
                    return masked
        elif (
            type(where) is tuple
            and len(where) == 2
            and type(where[0]) is slice
            and where[0] == slice(None)
            and type(self) in (ListOffsetArray, ListArray)
            and type(self._backend.nplike) is CudaArrays
            and self.parameter("__array__") is None
            and not (named_axis and named_axis[0].mapping)
            and _is_plain_slice(where[1])
        ):
            return _as_carried(self)._getitem_next(where[1], (), None)
        return original(self, where, *named_axis)

    return _getitem


def _is_plain_slice(item: Any) -> bool:
    if type(item) is slice:
        return all(x is None or type(x) is int for x in (item.start, item.stop, item.step))
    return type(item) is int


def _as_carried(content: Any) -> Any:
    """A layout after a carry of all its elements in their order, if it is one of CARRIED_AS_THEY_ARE."""
    if type(content) is not ListOffsetArray:
        return content
    return ListArray(
        content.starts, content.stops, content.content, parameters=content.parameters
    )


@op
def kept_value(i, out, mask, ranks, x):
    if mask[i]:
        out[ranks[i]] = x[i]


@op
def kept_position(i, carry, mask, ranks):
    if mask[i]:
        carry[ranks[i]] = i


@op(errors=("stops[i] < starts[i]", "stops[i] > len(content)", "index out of range"))
def kept_in_list(
    segment, position, local, carry, mask, ranks, starts, stops, contentlength
):
    if mask[position]:
        carry[ranks[position]] = 0
        length = stops[segment] - starts[segment]
        if length < 0:
            return 1
        if length != 0 and stops[segment] > contentlength:
            return 2
        if local >= length:
            return 3, local
        carry[ranks[position]] = starts[segment] + local


def _masked(lists: Any, where: Any) -> Any:
    """Lists by a mask of lists, without indexes of what it keeps in every list; None if that is not it.

    Of each element of the mask, how many before it are kept; from these the offsets; then every element
    that is kept goes to its place. One wait, for their number.
    """
    mask: Any = where._content._data if type(where._content) is NumpyArray else None
    offsets = where._offsets._data
    if type(lists) is ListOffsetArray:
        own = lists._offsets._data
        starts, stops = own[:-1], own[1:]
    else:
        own, starts, stops = None, lists._starts._data, lists._stops._data
    if not (
        _is_on_device(mask)
        and mask.dtype == np.bool_
        and all(map(_is_on_device, (offsets, starts, stops)))
        and where.length == lists.length
        and where._offsets[0] == 0
        and int(where._offsets[-1]) <= mask.shape[0]
    ):
        return None
    nplike, content, n = lists._backend.nplike, lists._content, int(where._offsets[-1])
    ranks = nplike.empty(n + 1, dtype=np.int32 if n < 2**31 else np.int64)
    offsets_from((is_nonzero, mask), n, ranks)
    nextoffsets = nplike.empty(offsets.shape[0], dtype=np.int64)
    transform(take, offsets.shape[0], nextoffsets, ranks, offsets, n + 1)
    nextoffsets = Index64(nextoffsets, nplike=nplike)
    kept = int(nextoffsets[-1])
    same = own is not None and own.data.ptr == offsets.data.ptr and own.dtype == offsets.dtype
    if same and content.length >= n and _is_plain(content):
        values = nplike.empty(kept, dtype=content._data.dtype)
        transform(kept_value, n, values, mask, ranks, content._data)
        content = NumpyArray(values, parameters=content._parameters, backend=lists._backend)
    else:
        carry = nplike.empty(kept, dtype=np.int64)
        if same and content.length >= n:
            transform(kept_position, n, carry, mask, ranks)
        else:
            call_as(
                "awkward_ListArray_getitem_jagged_apply", segmented_transform,
                offsets, n, kept_in_list, carry, mask, ranks, starts, stops, content.length,
            )  # fmt: skip
        content = content._carry(Index64(carry, nplike=nplike), True)
    return ListOffsetArray(nextoffsets, content)


@op
def list_at(i, starts, stops, offsets, carry, lists):
    j = nearest(carry[i], lists)
    starts[i] = offsets[j] if lists > 0 else 0
    stops[i] = offsets[j + 1] if lists > 0 else 0


def listoffsetarray_carry(original: Method) -> Method:
    """`ListOffsetArray._carry`: starts and stops in one launch."""

    def _carry(self: Any, carry: Any, allow_lazy: bool) -> Any:
        nplike = self._backend.nplike
        offsets, picked = self._offsets.data, carry.data
        if type(nplike) is not CudaArrays or not (_is_on_device(offsets) and _is_on_device(picked)):
            return original(self, carry, allow_lazy)
        n = picked.shape[0]
        starts, stops = (nplike.empty(n, dtype=offsets.dtype) for _ in range(2))
        transform(list_at, n, starts, stops, offsets, picked, offsets.shape[0] - 1)
        return ListArray(
            Index(starts, nplike=nplike),
            Index(stops, nplike=nplike),
            self._content,
            parameters=self._parameters,
        )

    return _carry


def listoffsetarray_init(original: Method) -> Method:
    """`ListOffsetArray.__init__`: offsets that awkward made of a number it has read are on the host."""

    def __init__(self: Any, offsets: Any, content: Any, *, parameters: Any = None) -> None:
        if isinstance(offsets, Index) and isinstance(content, Content):
            nplike = content.backend.nplike
            if type(nplike) is CudaArrays and type(offsets.nplike) is not CudaArrays:
                offsets = offsets.to_nplike(nplike)
        original(self, offsets, content, parameters=parameters)

    return __init__


@op
def number_from_front(i, out, indexes, n):
    out[i] = nearest(indexes[i], n)


def _from_front(carry: Any, length: int, nplike: Any) -> Any:
    """A carry without negative numbers."""
    out = nplike.empty(carry.data.shape[0], dtype=np.int64)
    transform(number_from_front, out.shape[0], out, carry.data, length)
    return Index64(out, nplike=nplike)


def recordarray_carry(original: Method) -> Method:
    """`RecordArray._carry`, without the two waits for whether an index is out of bounds."""

    def _carry(self: Any, carry: Any, allow_lazy: Any) -> Any:
        nplike = self._backend.nplike
        if not allow_lazy or type(nplike) is not CudaArrays or not _is_on_device(carry.data):
            return original(self, carry, allow_lazy)
        return IndexedArray(_from_front(carry, self.length, nplike), self, parameters=None)

    return _carry


@op
def position_in_row(i, out, indexes, rows, width):
    out[i] = nearest(indexes[i // width], rows) * width + i % width


def regulararray_carry(original: Method) -> Method:
    """`RegularArray._carry`, without the two waits for whether an index is out of bounds."""

    def _carry(self: Any, carry: Any, allow_lazy: Any) -> Any:
        nplike = self._backend.nplike
        if type(nplike) is not CudaArrays or not _is_on_device(carry.data):
            return original(self, carry, allow_lazy)
        rows = carry.data.shape[0]
        out = nplike.empty(rows * self._size, dtype=np.int64)
        transform(position_in_row, out.shape[0], out, carry.data, self.length, self._size)
        content = self._content._carry(Index64(out, nplike=nplike), allow_lazy)
        return RegularArray(content, self._size, rows, parameters=self._parameters)

    return _carry


CARRIED_AS_THEY_ARE = (NumpyArray, ListOffsetArray, ListArray, IndexedArray, IndexedOptionArray)
"""Contents of which a carry takes elements only, so that all of them in their order are what there was."""


def regulararray_getitem_next(original: Method) -> Method:
    """`RegularArray._getitem_next`: a slice that leaves the contents in their order carries nothing.

    The first dimension of ``array[:, 0]`` is one.
    """

    def _getitem_next(self: Any, head: Any, tail: Any, advanced: Any) -> Any:
        nplike = self._backend.nplike
        if type(head) is slice and advanced is None and type(nplike) is CudaArrays:
            start, _, step, size = nplike.derive_slice_for_length(head, length=self._size)
            if (
                step == 1
                and size >= 0
                and (self.length == 1 or size == self._size)
                and isinstance(self._content, CARRIED_AS_THEY_ARE)
            ):
                content = _as_carried(self._content._getitem_range(start, start + size * self.length))
                nexthead, nexttail = awkward._slicing.head_tail(tail)
                return RegularArray(
                    content._getitem_next(nexthead, nexttail, None),
                    size,
                    self.length,
                    parameters=self._parameters,
                )
        return original(self, head, tail, advanced)

    return _getitem_next


def regulararray_broadcast_tooffsets64(original: Method) -> Method:
    """`RegularArray._broadcast_tooffsets64`: lists of one element are repeated without a wait of their own."""

    def _broadcast_tooffsets64(self: Any, offsets: Any) -> Any:
        nplike = self._backend.nplike
        if (
            type(nplike) is not CudaArrays
            or self._size != 1
            or type(offsets) is not Index64
            or offsets.length - 1 != self.length
            or type(offsets.data) is VirtualNDArray
            or offsets[0] != 0
        ):
            return original(self, offsets)
        total, content = int(offsets[-1]), self._content
        if _is_plain(content):
            values = nplike.empty(total, dtype=content._data.dtype)
            segmented_transform(
                offsets.data, total, repeat_element, values, content._data, segments=self.length
            )
            content = NumpyArray(values, parameters=content._parameters, backend=self._backend)
        else:
            carry = nplike.empty(total, dtype=np.int64)
            segment_ids(offsets.data, carry)
            content = content._carry(Index64(carry, nplike=nplike), True)
        return ListOffsetArray(offsets, content, parameters=self._parameters)

    return _broadcast_tooffsets64


@op
def list_value(segment, position, local, out, x, n, fromstarts):
    out[position] = x[nearest(fromstarts[segment] + local, n)] if n > 0 else 0


def _values_of_lists(out: Any, x: Any, offsets: Any, starts: Any, stops: Any) -> None:
    lists = offsets.shape[0] - 1
    transform(check_broadcast, lists, offsets, starts, stops, x.shape[0])
    segmented_transform(offsets, out.shape[0], list_value, out, x, x.shape[0], starts)


def listarray_broadcast_tooffsets64(original: Method) -> Method:
    """`ListArray._broadcast_tooffsets64`: numbers are copied without a carry of their own."""

    def _broadcast_tooffsets64(self: Any, offsets: Any) -> Any:
        nplike, content = self._backend.nplike, self._content
        if (
            type(nplike) is not CudaArrays
            or not _is_plain(content)
            or type(offsets) is not Index64
            or not all(map(_is_on_device, (offsets.data, self._starts.data, self._stops.data)))
            or offsets.length - 1 != self.length
            or offsets[0] != 0
        ):
            return original(self, offsets)
        values = nplike.empty(int(offsets[-1]), dtype=content._data.dtype)
        call_as(
            "awkward_ListArray_broadcast_tooffsets",
            _values_of_lists,
            values, content._data, offsets.data, self._starts.data, self._stops.data,
        )  # fmt: skip
        content = NumpyArray(values, parameters=content._parameters, backend=self._backend)
        return ListOffsetArray(offsets, content, parameters=self._parameters)

    return _broadcast_tooffsets64


@op
def value_of_two(i, out, tags, index, first, n_first, second, n_second):
    j = index[i]
    if tags[i] == 0:
        out[i] = first[nearest(j, n_first)] if n_first > 0 else 0
    else:
        out[i] = second[nearest(j, n_second)] if n_second > 0 else 0


def unionarray_simplified(original: classmethod[Any, Any, Any]) -> classmethod[Any, Any, Any]:
    """`UnionArray.simplified`: two arrays of numbers become one without a union in between.

    That is what `ak.where`, `ak.fill_none` and `ak.concatenate` end with.
    """

    def simplified(
        cls: Any,
        tags: Any,
        index: Any,
        contents: Any,
        *,
        parameters: Any = None,
        mergebool: bool = False,
        mergecastable: str = "same_kind",
        dropunused: bool = False,
    ) -> Any:
        if not dropunused and len(contents) == 2 and all(map(_is_plain, contents)):
            first, second = contents
            x, y = first._data, second._data
            if (
                first is not second
                and (x.dtype == y.dtype or {x.dtype.kind, y.dtype.kind} <= set("biuf"))
                and _is_on_device(tags.data)
                and _is_on_device(index.data)
                and tags.length <= index.length
                and first._mergeable_next(second, mergebool, mergecastable)
            ):
                out = first.backend.nplike.empty(tags.length, dtype=np.result_type(x.dtype, y.dtype))
                transform(
                    value_of_two, tags.length,
                    out, tags.data, index.data, x, x.shape[0], y, y.shape[0],
                )  # fmt: skip
                common = parameters_intersect(first._parameters, second._parameters)
                return NumpyArray(
                    out, parameters=parameters_union(common, parameters), backend=first.backend
                )
        return original.__func__(
            cls, tags, index, contents, parameters=parameters, mergebool=mergebool,
            mergecastable=mergecastable, dropunused=dropunused,
        )  # fmt: skip

    return classmethod(simplified)


def numpyarray_carry(original: Method) -> Method:
    """`NumpyArray._carry`, in one launch."""

    def _carry(self: Any, carry: Any, allow_lazy: bool) -> Any:
        if type(self._data) is _ndarray and _is_on_device(carry.data):
            found = gather(self._data, carry.data)
            return NumpyArray(found, parameters=self._parameters, backend=self._backend)
        return original(self, carry, allow_lazy)

    return _carry


def numpyarray_getitem_next(original: Method) -> Method:
    """`NumpyArray._getitem_next`: an index that is out of bounds of the second dimension is an error."""

    def _getitem_next(self: Any, head: Any, tail: Any, advanced: Any) -> Any:
        if (
            type(head) is Index64
            and type(self._backend.nplike) is CudaArrays
            and type(self._data) is not VirtualNDArray
            and self._data.ndim > 1
            and _is_on_device(head.data)
        ):
            check_bounds(head.data, self._data.shape[1])
        return original(self, head, tail, advanced)

    return _getitem_next


def numpyarray_getitem_at(original: Method) -> Method:
    """`NumpyArray._getitem_at`: a single value that leaves an array is one that the host looks at."""

    def _getitem_at(self: Any, where: Any) -> Any:
        out = original(self, where)
        if type(self._backend.nplike) is CudaArrays and not getattr(out, "ndim", 1):
            errorflag.check()
        return out

    return _getitem_at


# Applying a function to every node: awkward cuts what no list and no index reaches off a content


def _applied(
    layout: Any,
    content: Any,
    inner_depth: int,
    make: Callable[[Any, Any], Any],
    action: Any,
    depth: int,
    depth_context: Any,
    lateral_context: Any,
    options: Any,
) -> Any:
    """What an action makes of a layout: its own result, or the layout around what it makes of the content."""

    def continuation() -> Any:
        result = content._recursively_apply(
            action, inner_depth, copy(depth_context), lateral_context, options
        )
        if options["return_array"]:
            return make(result, layout._parameters if options["keep_parameters"] else None)
        return None

    result = action(
        layout,
        depth=depth,
        depth_context=depth_context,
        lateral_context=lateral_context,
        continuation=continuation,
        backend=layout._backend,
        options=options,
    )
    if result is not None and not isinstance(result, Content):
        raise AssertionError(result)
    return continuation() if result is None else result


def listoffsetarray_recursively_apply(original: Method) -> Method:
    """`ListOffsetArray._recursively_apply`: offsets that start at 0 are not shifted to 0."""

    def _recursively_apply(
        self: Any, action: Any, depth: int, depth_context: Any, lateral_context: Any, options: Any
    ) -> Any:
        offsets = self._offsets
        if type(self._backend.nplike) is not CudaArrays or offsets[0] != 0:
            return original(self, action, depth, depth_context, lateral_context, options)

        def make(content: Any, parameters: Any) -> Any:
            return ListOffsetArray(offsets, content, parameters=parameters)

        content = self._content[: offsets[-1]]
        return _applied(
            self, content, depth + 1, make, action, depth, depth_context, lateral_context, options
        )

    return _recursively_apply


NOTHING = 2**63 - 1


@op
def no_span(acc, segment):
    acc[0] = NOTHING
    acc[1] = -1


@op
def include_element(acc, segment, position, index):
    value = index[position]
    if value >= 0:
        if value < acc[0]:
            acc[0] = value
        if value > acc[1]:
            acc[1] = value


@op
def include_span(acc, other, segment):
    if other[0] < acc[0]:
        acc[0] = other[0]
    if other[1] > acc[1]:
        acc[1] = other[1]


@op
def store_span(acc, segment, span):
    span[0] = acc[0]
    span[1] = acc[1]


@op
def without_first(i, out, index, first):
    value = index[i]
    out[i] = value - first if value >= 0 else -1


def indexedoptionarray_recursively_apply(original: Method) -> Method:
    """`IndexedOptionArray._recursively_apply`: the least and the greatest index in one wait."""

    def _recursively_apply(
        self: Any, action: Any, depth: int, depth_context: Any, lateral_context: Any, options: Any
    ) -> Any:
        nplike = self._backend.nplike
        index, content = self._index, self._content
        if type(nplike) is not CudaArrays or not _is_on_device(index.data) or index.length == 0:
            return original(self, action, depth, depth_context, lateral_context, options)
        first, last = _span(index.data, nplike)
        if first > 0 and last >= 0:
            shifted = nplike.empty(index.length, dtype=index.dtype)
            transform(without_first, index.length, shifted, index.data, first)
            index = Index(shifted, nplike=nplike)
        if last >= 0:
            content = content[first : last + 1]
        simplified = options["return_array"] and options["return_simplified"]
        form = IndexedOptionArray.simplified if simplified else IndexedOptionArray

        def make(content: Any, parameters: Any) -> Any:
            return form(index, content, parameters=parameters)

        return _applied(
            self, content, depth, make, action, depth, depth_context, lateral_context, options
        )

    return _recursively_apply


def _span(index: Any, nplike: Any) -> list[int]:
    """The least and the greatest of the numbers that are not negative; the greatest is -1 without any."""
    span = nplike.empty(2, dtype=np.int64)
    find_span(index, nplike.asarray([0, index.shape[0]]), span)
    return errorflag.read_items(span, (0, 1))


def find_span(index: Any, whole: Any, span: Any) -> None:
    """As `_span`, to an array of two; `whole` are the offsets of one segment, the index."""
    segmented_reduce(
        whole,
        index.shape[0],
        dtype="int64",
        width=2,
        start=(no_span,),
        step=(include_element, index),
        merge=(include_span,),
        finish=(store_span, span),
    )


# Slices by masks


@op
def store_local(segment, position, local, out, mask, ranks):
    if mask[position]:
        out[ranks[position]] = local


def normalise_item_bool_to_int(original: Method) -> Method:
    """Of a mask of lists, where in its list every true element is: one wait, for their number."""

    def _normalise_item_bool_to_int(item: Any, backend: Any) -> Any:
        content: Any = getattr(item, "_content", None)
        if not (
            isinstance(item, ListOffsetArray)
            and isinstance(content, NumpyArray)
            and type(item._backend.nplike) is CudaArrays
            and content._data.dtype == np.bool_
            and _is_on_device(content._data)
            and _is_on_device(item._offsets._data)
            and item._offsets[0] == 0
            and int(item._offsets[-1]) <= content._data.shape[0]
        ):
            return original(item, backend)
        nplike = item._backend.nplike
        offsets, mask, n = item._offsets._data, content._data, int(item._offsets[-1])
        ranks = nplike.empty(n + 1, dtype=np.int64)
        offsets_from((is_nonzero, mask), n, ranks)
        nextoffsets = Index64(gather(ranks, offsets), nplike=nplike)
        local = nplike.empty(nextoffsets[-1], dtype=np.int64)
        segmented_transform(offsets, n, store_local, local, mask, ranks)
        return ListOffsetArray(nextoffsets, NumpyArray(local, backend=item._backend))

    return _normalise_item_bool_to_int


# Where errors surface


def to_nplike(original: Method) -> Method:
    """awkward's `to_nplike`, whose copies to the host carry the error word along."""

    def to_nplike(array: Any, nplike: Any, *, from_nplike: Any = None) -> Any:
        if Cupy.is_own_array(array) and type(array) is not VirtualNDArray and not isinstance(nplike, Cupy):
            if nplike.known_data:
                return nplike.asarray(to_host(array))
        return original(array, nplike, from_nplike=from_nplike)

    return to_nplike


def checked(original: Method) -> Method:
    """A function that shows values, which must not be the garbage of a failed kernel."""

    def call(*args: Any, **kwargs: Any) -> Any:
        errorflag.check()
        return original(*args, **kwargs)

    return call


def cause_of(original: Method) -> Method:
    """`ErrorContext.decorate_exception`: what a failed kernel has led to on the host gives way to its error."""

    def decorate_exception(self: Any, cls: type, exception: Exception) -> Exception:
        if not isinstance(exception, errorflag.DeviceValueError):
            try:
                errorflag.check()
            except errorflag.DeviceValueError as cause:
                return cause
        found: Exception = original(self, cls, exception)
        return found

    return decorate_exception


# awkward's Python


def to_layout(original: Method) -> Method:
    """`ak.to_layout` of a number, for which awkward builds an array even if it then passes the number on."""

    def _impl(
        obj: Any,
        allow_record: bool,
        allow_unknown: bool,
        none_policy: str,
        regulararray: bool,
        use_from_iter: bool,
        primitive_policy: str,
        string_policy: str,
    ) -> Any:
        if primitive_policy in ("pass-through", "promote"):
            kind = type(obj)
            if kind is float or kind is bool or (kind is int and -(2**63) <= obj < 2**63):
                return obj if primitive_policy == "pass-through" else NumpyArray(np.array([obj]))
        return original(
            obj,
            allow_record,
            allow_unknown,
            none_policy,
            regulararray,
            use_from_iter,
            primitive_policy,
            string_policy,
        )

    return _impl


ASKED_OFTEN = (Backend, Jax, MaterializableArray, PlaceholderArray, TypeTracerArray, VirtualNDArray)
"""Classes that awkward's `isinstance` calls are about, a hundred times in an operation. They derive from
`typing.Protocol`, whose metaclass answers in Python; they are none, nor has any registered subclasses."""


class NominalMeta(type(VirtualNDArray)):  # type: ignore[misc]
    """Their metaclass but for `isinstance`, which is that of other classes."""

    __instancecheck__ = type.__instancecheck__


# All of it


def _replacements() -> Iterator[tuple[Any, str, Callable[[Any], Any]]]:
    """Owner, name, and a function of what is there that returns what takes its place."""
    yield Index, "__init__", index_init
    yield Index, "__getitem__", index_getitem
    yield Index, "__setitem__", index_setitem
    yield Index, "to64", index_to64
    yield Content, "_getitem", content_getitem
    yield ListOffsetArray, "__init__", listoffsetarray_init
    yield ListOffsetArray, "_carry", listoffsetarray_carry
    yield NumpyArray, "_carry", numpyarray_carry
    yield NumpyArray, "_getitem_at", numpyarray_getitem_at
    yield NumpyArray, "_getitem_next", numpyarray_getitem_next
    yield ListOffsetArray, "_recursively_apply", listoffsetarray_recursively_apply
    yield IndexedOptionArray, "_recursively_apply", indexedoptionarray_recursively_apply
    yield RecordArray, "_carry", recordarray_carry
    yield RegularArray, "_carry", regulararray_carry
    yield RegularArray, "_getitem_next", regulararray_getitem_next
    yield RegularArray, "_broadcast_tooffsets64", regulararray_broadcast_tooffsets64
    yield ListArray, "_broadcast_tooffsets64", listarray_broadcast_tooffsets64
    yield UnionArray, "simplified", unionarray_simplified
    yield ak._slicing, "_normalise_item_bool_to_int", normalise_item_bool_to_int
    for module in (ak._slicing, ak._connect.numpy, ak.index, ak.contents.content, ak.contents.numpyarray):
        yield module, "to_nplike", to_nplike
    for name in ("highlevel_array_show_rows", "prettyprint_valuestr"):
        yield ak.highlevel, name, checked
    for owner in (Content, ak.record.Record):
        yield owner, "to_list", checked
    yield ErrorContext, "decorate_exception", cause_of
    yield awkward.operations.ak_to_layout, "_impl", to_layout
    for asked in ASKED_OFTEN:
        if type(asked) is type(VirtualNDArray):
            yield asked, "__class__", lambda _: NominalMeta


@contextmanager
def installed() -> Iterator[None]:
    """Inside, awkward's CUDA arrays use this layer."""
    global _ndarray
    nplike = Cupy.instance()
    _ndarray = nplike._module.ndarray
    replacements = []
    for owner, name, replace in _replacements():
        defined = vars(owner).get(name)
        theirs = defined if isinstance(defined, classmethod) else getattr(owner, name)
        replacements.append((owner, name, theirs, replace))
    nplike.__class__ = CudaArrays
    for owner, name, theirs, replace in replacements:
        setattr(owner, name, replace(theirs))
    try:
        yield
    finally:
        nplike.__class__ = Cupy
        _ndarray = None
        for owner, name, theirs, _ in replacements:
            setattr(owner, name, theirs)
