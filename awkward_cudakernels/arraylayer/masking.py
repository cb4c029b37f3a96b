"""`ak.mask`: options of what is masked, without awkward's broadcasting, which comes to the same."""

from __future__ import annotations

from typing import Any

import awkward as ak
import numpy as np
from awkward.contents import ByteMaskedArray, ListOffsetArray, NumpyArray
from awkward.index import Index8

from .arrays import CudaArrays
from .device import Method, context_of, has_named_axis, is_plain, is_within, span_of
from .ufuncs import are_same


def mask(original: Method) -> Method:
    """`ak.mask` by truth values for all elements, or by lists of those for lists: no launch, if they share offsets."""

    def _impl(array: Any, mask: Any, valid_when: Any, highlevel: bool, behavior: Any, attrs: Any) -> Any:
        if (
            isinstance(array, ak.Array)
            and isinstance(mask, ak.Array)
            and not (has_named_axis(array, attrs) or has_named_axis(mask))
        ):
            found = _masked(array._layout, mask._layout, valid_when)
            if found is not None:
                return context_of((array, mask), behavior, attrs).wrap(found, highlevel=highlevel)
        return original(array, mask, valid_when, highlevel, behavior, attrs)

    return _impl


def _masked(content: Any, by: Any, valid_when: Any) -> Any:
    """The layout of the result; None if awkward must broadcast, or say what is wrong."""
    backend = content._backend
    if backend is not by._backend or type(backend.nplike) is not CudaArrays or content.length != by.length:
        return None
    if type(by) is not ListOffsetArray:
        return _of_bytes(content, by, valid_when)
    if (
        type(content) is not ListOffsetArray
        or content._parameters
        or by._parameters
        or not (is_within(content) and is_within(by))
        or not _are_bytes(by._content)
    ):
        return None
    offsets = content._offsets
    if offsets.dtype != np.int64 or offsets[0] != 0 or not are_same(by._offsets, offsets, backend.nplike):
        return None
    _, n = span_of(content)
    inner, truths = (x if x.length == n else x[:n] for x in (content._content, by._content))
    options = _of_bytes(inner, truths, valid_when)
    return None if options is None else ListOffsetArray(offsets, options)


def _are_bytes(by: Any) -> bool:
    return is_plain(by) and by._data.dtype == np.bool_ and not by._parameters


def _of_bytes(content: Any, by: Any, valid_when: Any) -> Any:
    if not _are_bytes(by) or (type(content) is NumpyArray and content._data.ndim != 1):
        return None
    return ByteMaskedArray.simplified(Index8(by._data.view(np.int8)), content, valid_when=valid_when)
