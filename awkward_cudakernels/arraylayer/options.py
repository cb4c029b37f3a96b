"""Options of numbers: filled, left out of their lists and reduced, without an index of what is there."""

from __future__ import annotations

from functools import cache
from typing import Any

import awkward as ak
import numpy as np
from awkward import _reducers
from awkward.contents import (
    ByteMaskedArray,
    IndexedOptionArray,
    ListOffsetArray,
    NumpyArray,
    RegularArray,
)
from awkward.index import Index8

from primitives import DeviceFunction, Op, device_function, op, transform

from .._registry import call_as
from ..kernels.bytemaskedarray import is_valid, valid
from ..kernels.indexedarray import is_some
from ..kernels.reducers import (
    beats,
    extremum_of_lists,
    finish_any,
    finish_value,
    multiply_lists,
    sum_lists,
    wide,
)
from .arrays import copy_element
from .carries import OF_OPTION, as_one, can_be_one, room_for_both
from .device import Method, context_of, filled_with, is_index64, is_on_device, is_plain, room_for
from .keeping import (
    NONZERO,
    NOT_NEGATIVE,
    ZERO,
    bits_and_offsets,
    kept_indexed_value,
    kept_value,
)
from .slices import fits


@op
def value_or_fill(i, out, mask, valid_when, x, fill):
    if valid(mask, i, valid_when):
        out[i] = x[i]
    else:  # not one expression: with a number of another type in it, uint64 would become float64
        out[i] = fill[0]


@op(errors=("index out of range",))
def indexed_value_or_fill(i, out, index, x, n, fill):
    j = index[i]
    if j < 0:
        out[i] = fill[0]
        return 0
    copy_element(out, i, x, j, n)
    if j >= n:
        return 1, j


def bytemaskedarray_fill_none(original: Method) -> Method:
    """`ByteMaskedArray._fill_none`: one launch."""

    def _fill_none(self: Any, value: Any) -> Any:
        content, mask = self._content, self._mask._data
        if not (is_on_device(mask) and _can_be_filled(content, value)):
            return original(self, value)
        out = room_for_both(content, value, self.length)
        transform(value_or_fill, self.length, out, mask, int(self._valid_when), content._data, value._data)
        return as_one(content, value, out, self._parameters)

    return _fill_none


def indexedoptionarray_fill_none(original: Method) -> Method:
    """`IndexedOptionArray._fill_none`: one launch."""

    def _fill_none(self: Any, value: Any) -> Any:
        content, index = self._content, self._index._data
        if not (is_index64(index) and _can_be_filled(content, value)):
            return original(self, value)
        out = room_for_both(content, value, self.length)
        call_as(
            OF_OPTION, transform,
            indexed_value_or_fill, self.length, out, index, content._data, content.length, value._data,
        )  # fmt: skip
        return as_one(content, value, out, self._parameters)

    return _fill_none


def _can_be_filled(content: Any, value: Any) -> bool:
    """Whether numbers and what fills the gaps between them become one array of numbers."""
    return (
        is_plain(content)
        and is_plain(value)
        and value.length == 1
        and can_be_one(content, value, mergebool=True)
    )


def drop_none(original: Method) -> Method:
    """`ak.drop_none` of lists of options of numbers: straight to the innermost lists.

    awkward looks at what is missing once for the elements and again for the offsets.
    """

    def _impl(array: Any, axis: Any, highlevel: bool, behavior: Any, attrs: Any) -> Any:
        layout = array.layout if isinstance(array, ak.Array) else array
        depth = _depth_of_option(layout)
        if depth == 0 or not (axis is None or (type(axis) is int and axis in (depth, -1))):
            return original(array, axis, highlevel, behavior, attrs)
        return context_of((array,), behavior, attrs).wrap(_without_nones(layout), highlevel=highlevel)

    return _impl


def _depth_of_option(layout: Any) -> int:
    """How deep in lists, and in nothing else, an option of numbers is; 0 if that is not what a layout is."""
    depth = 0
    while type(layout) is ListOffsetArray:
        layout, depth = layout._content, depth + 1
    return 0 if _validity(layout) is None else depth


def _without_nones(lists: Any) -> Any:
    if type(lists._content) is ListOffsetArray:
        return lists.copy(content=_without_nones(lists._content))
    if lists._offsets[0] != 0:
        lists = lists.to_ListOffsetArray64(True)
    return lists._drop_none()


def listoffsetarray_drop_none(original: Method) -> Method:
    """`ListOffsetArray._drop_none`: three launches and one wait, as for a mask of lists."""

    def _drop_none(self: Any) -> Any:
        option, offsets = self._content, self._offsets
        validity = _validity(option)
        if validity is None or not fits(offsets, validity[1]):
            return original(self)
        content, n = option._content, int(offsets[-1])
        by, of_bytes = validity[1], type(option) is ByteMaskedArray
        rule = (NONZERO if option._valid_when else ZERO) if of_bytes else NOT_NEGATIVE
        bits, nextoffsets = bits_and_offsets(by, rule, offsets)
        out = room_for(content, int(nextoffsets[-1]))
        if of_bytes:
            transform(kept_value, n, out, bits, content._data)
        else:
            call_as(
                OF_OPTION, transform,
                kept_indexed_value, n, out, bits, by, content._data, content.length,
            )  # fmt: skip
        return ListOffsetArray(nextoffsets, filled_with(content, out))

    return _drop_none


def _validity(option: Any) -> tuple[Any, ...] | None:
    """What says which elements of an option of numbers are valid: an op, and its array first; None of all else."""
    kind = type(option)
    if kind is ByteMaskedArray and is_plain(option._content) and is_on_device(option._mask._data):
        return is_valid, option._mask._data, int(option._valid_when)
    if kind is IndexedOptionArray and is_plain(option._content) and is_index64(option._index._data):
        return is_some, option._index._data
    return None


# Reductions, by accumulators as in `kernels.reducers`. In the place of a missing value a step includes one that changes
# nothing, so that the values are loaded without waiting for the mask. `position` and `largest` are of use to extrema.


@device_function
def add(acc, value, position, largest):
    acc[0] += value


@device_function
def multiply(acc, value, position, largest):
    acc[0] *= value


@device_function
def count_nonzero(acc, value, position, largest):
    acc[0] += value != 0


@device_function
def count_zero(acc, value, position, largest):
    acc[0] += value == 0


@device_function
def keep_better(acc, value, position, largest):
    if beats(value, acc[0], largest):
        acc[0] = value
        acc[1] = position


@cache
def _of_valid(include: DeviceFunction) -> Op:
    @op
    def of_valid(acc, segment, position, x, neutral, largest, mask, valid_when):
        value = x[position]
        include(acc, value if valid(mask, position, valid_when) else neutral, position, largest)

    return of_valid


@cache
def _of_some(include: DeviceFunction) -> Op:
    @op(errors=("index out of range",))
    def of_some(acc, segment, position, x, n, largest, index):
        j = index[position]
        if j >= n:
            return 1, j
        if j >= 0:
            include(acc, x[j], position, largest)

    return of_some


@op
def count_valid(acc, segment, position, mask, valid_when):
    acc[0] += valid(mask, position, valid_when)


@op
def count_some(acc, segment, position, index):
    acc[0] += index[position] >= 0


@op
def finish_none(acc, segment, out):
    out[segment] = acc[0] == 0


def _step(
    validity: tuple[Any, ...], x: Any, include: DeviceFunction, neutral: Any, largest: bool = False
) -> tuple[Any, ...]:
    is_kept, *given = validity
    if is_kept is is_valid:
        return _of_valid(include), x, neutral, int(largest), *given
    return _of_some(include), x, x.shape[0], int(largest), *given


def _count(validity: tuple[Any, ...]) -> tuple[Any, ...]:
    is_kept, *given = validity
    return count_valid if is_kept is is_valid else count_some, *given


def write_reduction(
    name: str, out: Any, validity: tuple[Any, ...], x: Any, offsets: Any, lists: int, identity: Any = None
) -> None:
    """Reduces the valid elements of lists: one launch, two for long lists.

    Args:
        name: of awkward's reducer; ``"none"`` is whether there is no valid element.
        out: one result for every list, of `result_dtype`.
        validity: as of `_validity`.
        x: the option's content.
        offsets: of the lists.
        lists: their number.
        identity: what extrema have to beat, in the type of `out`.
    """
    where = out, offsets, lists, validity[1].shape[0]
    if name == "count":
        sum_lists(*where, _count(validity))
    elif name == "none":
        sum_lists(*where, _count(validity), "int64", (finish_none, out))
    elif name == "sum":
        sum_lists(*where, _step(validity, x, add, 0))
    elif name == "prod":
        multiply_lists(*where, _step(validity, x, multiply, 1))
    elif name == "count_nonzero":
        sum_lists(*where, _step(validity, x, count_nonzero, 0))
    elif name == "any":
        sum_lists(*where, _step(validity, x, count_nonzero, 0), "int64", (finish_any, out))
    elif name == "all":
        sum_lists(*where, _step(validity, x, count_zero, 1), "int64", (finish_none, out))
    else:
        largest = name == "max"
        step = _step(validity, x, keep_better, identity.item(), largest)
        extremum_of_lists(*where[1:], wide(out.dtype), identity, step, largest, (finish_value, out))


REDUCED = "?ilfd"
"""The dtypes of content that most reductions are of: those of others are left to awkward."""
REDUCERS = {
    _reducers.Count, _reducers.Sum, _reducers.Prod, _reducers.CountNonzero, _reducers.Any, _reducers.All,
    _reducers.Max, _reducers.Min,
}  # fmt: skip
"""awkward's reducers whose results are no positions, as these classes define them."""


def result_dtype(name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of awkward's reduction of one of `REDUCED`."""
    if name in ("any", "all"):
        return np.dtype(bool)
    if name in ("max", "min") or (name in ("sum", "prod") and dtype.kind == "f"):
        return dtype
    return np.dtype(np.int64)


def reduce_next(original: Method) -> Method:
    """`ByteMaskedArray._reduce_next` and `IndexedOptionArray._reduce_next`: one launch and no wait, or two.

    The second one, of `ak.max` and `ak.min`, is for which lists have no valid element.
    """

    def _reduce_next(
        self: Any, reducer: Any, negaxis: Any, starts: Any, shifts: Any, offsets: Any, outlength: Any,
        mask: Any, keepdims: Any, behavior: Any,
    ) -> Any:  # fmt: skip
        validity = _validity(self)
        if (
            type(reducer) in REDUCERS
            and negaxis == 1
            and validity is not None
            and self._content._data.dtype.char in REDUCED
            and is_index64(offsets._data)
        ):
            found = _reduced(self, validity, reducer, offsets._data, outlength, mask)
            if found is not None:
                return RegularArray(found, 1, self.length) if keepdims else found
        return original(self, reducer, negaxis, starts, shifts, offsets, outlength, mask, keepdims, behavior)

    return _reduce_next


def _reduced(option: Any, validity: Any, reducer: Any, offsets: Any, lists: int, mask: bool) -> Any:
    name, x, backend = reducer.name, option._content._data, option._backend
    if x.dtype == np.bool_:
        name = {"max": "any", "min": "all"}.get(name, name)
    dtype, identity = result_dtype(name, x.dtype), None
    if name == "sum" and reducer._dtype is not None:
        dtype = reducer._dtype
    if name in ("max", "min"):
        identity = reducer._identity_for(dtype)
        if dtype.kind == "i" and type(identity) is not int:
            return None
        identity = dtype.type(identity)
    out = backend.nplike.empty(lists, dtype=dtype)
    call_as(OF_OPTION, write_reduction, name, out, validity, x, offsets, lists, identity)
    found: Any = NumpyArray(out, backend=backend)
    if mask:
        none = backend.nplike.empty(lists, dtype=np.int8)
        write_reduction("none", none, validity, x, offsets, lists)
        found = ByteMaskedArray(Index8(none, nplike=backend.nplike), found, False)
    return found
