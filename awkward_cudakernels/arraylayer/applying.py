"""Applying a function to every node: awkward cuts what no list and no index reaches off a content."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from awkward.contents import Content, IndexedOptionArray, ListOffsetArray
from awkward.index import Index

import errorflag
from primitives import op, segmented_reduce, transform

from .arrays import CudaArrays
from .device import Method, is_on_device, is_plain


def _applied(
    layout: Any,
    inner_depth: int,
    cut: Callable[[], tuple[Any, Callable[[Any, Any], Any]]],
    action: Any,
    depth: int,
    depth_context: Any,
    lateral_context: Any,
    options: Any,
) -> Any:
    """What an action makes of a layout: its own result, or the layout around what it makes of the content.

    `cut` gives the content, and what makes the layout around another one and parameters. An action that has a
    result of its own never needs it, and what it would have to read.
    """

    def continuation() -> Any:
        content, make = cut()
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

        def cut() -> Any:
            return self._content[: offsets[-1]], make

        return _applied(
            self, depth + 1, cut, action, depth, depth_context, lateral_context, options
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
    """`IndexedOptionArray._recursively_apply`: the least and the greatest index in one wait, if they matter."""

    def _recursively_apply(
        self: Any, action: Any, depth: int, depth_context: Any, lateral_context: Any, options: Any
    ) -> Any:
        nplike = self._backend.nplike
        if type(nplike) is not CudaArrays or not is_on_device(self._index.data) or self._index.length == 0:
            return original(self, action, depth, depth_context, lateral_context, options)

        def cut() -> Any:
            index, content = self._index, self._content
            if not is_plain(content):  # of numbers, it takes less to apply a function to those that are not reached
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

            return content, make

        return _applied(
            self, depth, cut, action, depth, depth_context, lateral_context, options
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
