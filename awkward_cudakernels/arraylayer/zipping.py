"""`ak.zip` and `ak.mask` of arrays that fit as they are: without awkward's broadcasting, which comes to the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import awkward as ak
import numpy as np
from awkward.contents import ByteMaskedArray, ListOffsetArray, NumpyArray, RecordArray
from awkward.index import Index8

from .arrays import CudaArrays
from .device import Method, context_of, has_named_axis, is_index64, is_plain, is_within
from .indexes import are_equal


def mask(original: Method) -> Method:
    """`ak.mask` by truth values for all elements, or by lists of those for lists: no launch, if they share offsets."""

    def _impl(array: Any, mask: Any, valid_when: Any, highlevel: bool, behavior: Any, attrs: Any) -> Any:
        if are_unnamed((array, mask), attrs):
            found = _masked(array._layout, mask._layout, valid_when)
            if found is not None:
                return context_of((array, mask), behavior, attrs).wrap(found, highlevel=highlevel)
        return original(array, mask, valid_when, highlevel, behavior, attrs)

    return _impl


def zip(original: Method) -> Method:
    """`ak.zip` of numbers, of lists of them, or of anything with `depth_limit=1`: no launch, if they share offsets."""

    def _impl(
        arrays: Any, depth_limit: Any, parameters: Any, with_name: Any, right_broadcast: Any,
        optiontype_outside_record: Any, highlevel: bool, behavior: Any, attrs: Any,
    ) -> Any:  # fmt: skip
        values = list(arrays.values()) if isinstance(arrays, Mapping) else arrays
        if (
            type(values) in (list, tuple)
            and len(values) > 0
            and not right_broadcast
            and not optiontype_outside_record
            and are_unnamed(values, attrs)
        ):
            fields = list(arrays) if isinstance(arrays, Mapping) else None
            named = parameters if with_name is None else {**(parameters or {}), "__record__": with_name}
            found = _zipped([value._layout for value in values], depth_limit, fields, named)
            if found is not None:
                return context_of(values, behavior, attrs).wrap(found, highlevel=highlevel)
        return original(
            arrays, depth_limit, parameters, with_name, right_broadcast, optiontype_outside_record,
            highlevel, behavior, attrs,
        )  # fmt: skip

    return _impl


def are_unnamed(values: Any, attrs: Any) -> bool:
    """Whether they are arrays whose axes have no names, nor the result's."""
    return all(isinstance(value, ak.Array) and not has_named_axis(value, attrs) for value in values)


def fit(layouts: list[Any]) -> bool:
    """Whether they are as long as one another, and on the device."""
    backend, n = layouts[0]._backend, layouts[0].length
    return type(backend.nplike) is CudaArrays and all(x._backend is backend and x.length == n for x in layouts)


def as_sliced(content: Any) -> Any:
    """All of a layout, as a slice: awkward's broadcasting takes one, in which bits become bytes."""
    return content._getitem_range(0, content.length)


def contents_of_same_lists(layouts: list[Any]) -> list[Any] | None:
    """Those of lists without parameters that have equal offsets, from 0 on: as long as these say. Else None."""
    offsets, nplike = layouts[0]._offsets, layouts[0]._backend.nplike
    if not (
        is_index64(offsets._data)
        and offsets[0] == 0
        and all(not lists._parameters and is_within(lists) for lists in layouts)
        and all(are_equal(lists._offsets, offsets, nplike) for lists in layouts[1:])
    ):
        return None
    n = int(offsets[-1])
    return [x if x.length == n else x[:n] for x in (lists._content for lists in layouts)]


def _masked(content: Any, by: Any, valid_when: Any) -> Any:
    """The layout of the result; None if awkward must broadcast, or say what is wrong."""
    if not fit([content, by]):
        return None
    if type(by) is not ListOffsetArray:
        return _of_truths(content, by, valid_when)
    if type(content) is not ListOffsetArray or not _are_truths(by._content):
        return None
    found = contents_of_same_lists([content, by])
    options = None if found is None else _of_truths(found[0], found[1], valid_when)
    return None if options is None else ListOffsetArray(content._offsets, options)


def _are_truths(by: Any) -> bool:
    return is_plain(by) and by._data.dtype == np.bool_ and not by._parameters


def _of_truths(content: Any, by: Any, valid_when: Any) -> Any:
    if not _are_truths(by) or (type(content) is NumpyArray and content._data.ndim != 1):
        return None
    return ByteMaskedArray.simplified(Index8(by._data.view(np.int8)), as_sliced(content), valid_when=valid_when)


def _zipped(layouts: list[Any], depth_limit: Any, fields: Any, parameters: Any) -> Any:
    """The layout of the result; None if awkward must broadcast, or say what is wrong."""
    if not fit(layouts) or not (depth_limit is None or depth_limit in (1, 2)):
        return None
    first = layouts[0]
    if min(layout.purelist_depth for layout in layouts) < 1:
        return None  # unions, in which awkward counts otherwise
    if depth_limit == 1 or all(map(is_plain, layouts)):
        return RecordArray(list(map(as_sliced, layouts)), fields, parameters=parameters, backend=first._backend)
    if not all(type(lists) is ListOffsetArray and is_plain(lists._content) for lists in layouts):
        return None
    found = contents_of_same_lists(layouts)
    if found is None:
        return None
    records = RecordArray(found, fields, parameters=parameters, backend=first._backend)
    return ListOffsetArray(first._offsets, records)
