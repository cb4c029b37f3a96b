"""Options of numbers: what fills them, written without an index of what is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from primitives import op, transform

from ..kernels.bytemaskedarray import valid
from .arrays import copy_element
from .carries import as_one, can_be_one, room_for_both
from .device import Method, is_on_device, is_plain


@op
def value_or_fill(i, out, mask, valid_when, x, fill):
    value = x[i]  # whether it is valid or not: the two loads need not wait for each other
    if valid(mask, i, valid_when):
        out[i] = value
    else:
        out[i] = fill[0]


@op
def indexed_value_or_fill(i, out, index, x, n, fill):
    j = index[i]
    if j >= 0:
        copy_element(out, i, x, j, n)
    else:
        out[i] = fill[0]


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
        if not (_is_index(index) and _can_be_filled(content, value)):
            return original(self, value)
        out = room_for_both(content, value, self.length)
        transform(indexed_value_or_fill, self.length, out, index, content._data, content.length, value._data)
        return as_one(content, value, out, self._parameters)

    return _fill_none


def _is_index(data: Any) -> bool:
    """Whether an index is one of 64 bits on the device, as most are; ops are compiled for no other."""
    return is_on_device(data) and data.dtype == np.int64


def _can_be_filled(content: Any, value: Any) -> bool:
    """Whether numbers and what fills the gaps between them become one array of numbers."""
    return (
        is_plain(content)
        and is_plain(value)
        and value.length == 1
        and can_be_one(content, value, mergebool=True)
    )
