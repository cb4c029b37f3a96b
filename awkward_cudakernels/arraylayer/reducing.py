"""Lists are reduced and sorted straight; which of them are empty, and have no extremum, is written with the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import awkward as ak
import numpy as np
from awkward import _reducers
from awkward.contents import ByteMaskedArray, IndexedOptionArray, ListOffsetArray, NumpyArray, RegularArray
from awkward.index import Index8

from primitives import op

from ..kernels.reducers import BEATEN, extremum, position_of_extremum, wide
from . import totals
from .arrays import CudaArrays
from .device import Method, context_of, has_named_axis, is_index64, is_on_device, is_plain, is_within


@op
def finish_value_or_none(acc, segment, out, none, offsets):
    out[segment] = acc[0]
    none[segment] = offsets[segment + 1] <= offsets[segment]


@op
def finish_local_position_or_none(acc, segment, out, none, x, offsets, starts):
    position = position_of_extremum(acc, segment, x, offsets)
    out[segment] = position - starts[segment] if position >= 0 else -1
    none[segment] = offsets[segment + 1] <= offsets[segment]


VALUES = {_reducers.Max: True, _reducers.Min: False}
POSITIONS = {_reducers.ArgMax: True, _reducers.ArgMin: False}
"""awkward's reducers, as these classes define them, and whether they look for the largest element."""
REDUCED = "bBhHiIlLfd"
"""The dtypes whose extrema an accumulator of two numbers finds."""


def write_extremum(
    out: Any, none: Any, x: Any, offsets: Any, starts: Any, lists: int, largest: bool, start: Any
) -> None:
    """Extrema of lists, or their positions if `starts` are given: one launch, two for long lists.

    Args:
        out: one result for every list.
        none: receives 1 for a list that is empty.
        x: the elements.
        offsets: of the lists.
        starts: where each list starts, to count positions from; None for the extrema themselves.
        lists: their number.
        largest: whether the largest is looked for.
        start: what an element has to beat.
    """
    finish: tuple[Any, ...] = (finish_value_or_none, out, none, offsets)
    if starts is not None:
        finish = (finish_local_position_or_none, out, none, x, offsets, starts)
    extremum(x, offsets, lists, start, largest, finish)


def operation_with_initial(reducer: Any) -> Callable[[Method], Method]:
    """`ak.max` and `ak.min`, as `operation`."""

    def replace(original: Method) -> Method:
        def _impl(
            array: Any, axis: Any, keepdims: bool, initial: Any, mask_identity: bool, highlevel: bool,
            behavior: Any, attrs: Any,
        ) -> Any:  # fmt: skip
            if not _has_no_names(array, axis, attrs):
                return original(array, axis, keepdims, initial, mask_identity, highlevel, behavior, attrs)
            return _reduced(array, reducer(initial), axis, keepdims, mask_identity, highlevel, behavior, attrs)

        return _impl

    return replace


def operation(reducer: Any) -> Callable[[Method], Method]:
    """`ak.sum` and the like of an array whose axes have no names, without what awkward does for such."""

    def replace(original: Method) -> Method:
        def _impl(
            array: Any, axis: Any, keepdims: bool, mask_identity: bool, highlevel: bool, behavior: Any, attrs: Any,
            **options: Any,
        ) -> Any:  # fmt: skip
            if not _has_no_names(array, axis, attrs):
                return original(array, axis, keepdims, mask_identity, highlevel, behavior, attrs, **options)
            return _reduced(
                array, reducer(**options), axis, keepdims, mask_identity, highlevel, behavior, attrs
            )

        return _impl

    return replace


OPERATIONS: tuple[tuple[str, Callable[[Method], Method]], ...] = (
    ("all", operation(_reducers.All)),
    ("any", operation(_reducers.Any)),
    ("argmax", operation(_reducers.ArgMax)),
    ("argmin", operation(_reducers.ArgMin)),
    ("count", operation(_reducers.Count)),
    ("count_nonzero", operation(_reducers.CountNonzero)),
    ("max", operation_with_initial(_reducers.Max)),
    ("min", operation_with_initial(_reducers.Min)),
    ("prod", operation(_reducers.Prod)),
    ("sum", operation(_reducers.Sum)),
)
"""Names of operations, and what makes their implementations."""


def _has_no_names(array: Any, axis: Any, attrs: Any) -> bool:
    return (
        isinstance(array, ak.Array)
        and type(array._layout._backend.nplike) is CudaArrays
        and (axis is None or type(axis) is int)
        and not has_named_axis(array, attrs)
    )


def _reduced(
    array: Any, reducer: Any, axis: Any, keepdims: bool, mask: bool, highlevel: bool, behavior: Any, attrs: Any
) -> Any:
    context = context_of((array,), behavior, attrs)
    found = ak._do.reduce(array._layout, reducer, axis, mask, keepdims, context.behavior)
    return context.wrap(found, highlevel=highlevel, allow_other=True)


def reduce(original: Method) -> Method:
    """`ak._do.reduce` of all numbers, and along lists of numbers or of options of such: straight to these.

    awkward reduces an array of one list of them, of which it makes the offsets, and takes its only element.
    """

    def reduce(
        layout: Any, reducer: Any, axis: Any = -1, mask: Any = True, keepdims: Any = False, behavior: Any = None
    ) -> Any:
        if axis is None and not keepdims:
            found = totals.of_all(layout, reducer)
            if found is not None:
                return found
        content = _elements(layout, axis)
        if content is None:
            return original(layout, reducer, axis, mask, keepdims, behavior)
        reducer, offsets = layout._backend.prepare_reducer(reducer), layout._offsets
        starts = offsets if type(content) is NumpyArray else offsets[:-1]  # of which one each is looked at
        return content._reduce_next(
            reducer, 1, starts, None, offsets, layout.length, mask, keepdims, behavior
        )

    return reduce


def sort(original: Method) -> Method:
    """`ak._do.sort` along lists of numbers or of options of such: straight to these, as `reduce`."""

    def sort(layout: Any, axis: Any = -1, ascending: Any = True, stable: Any = False) -> Any:
        content = _elements(layout, axis)
        if content is None:
            return original(layout, axis, ascending, stable)
        offsets = layout._offsets
        found = content._sort_next(1, offsets[:-1], offsets, layout.length, ascending, stable)
        return ListOffsetArray(offsets, found, parameters=layout._parameters)

    return sort


def argsort(original: Method) -> Method:
    """`ak._do.argsort` along lists of numbers or of options of such: straight to these, as `reduce`."""

    def argsort(layout: Any, axis: Any = -1, ascending: Any = True, stable: Any = False) -> Any:
        content = _elements(layout, axis)
        if content is None:
            return original(layout, axis, ascending, stable)
        offsets = layout._offsets
        found = content._argsort_next(1, offsets[:-1], None, offsets, layout.length, ascending, stable)
        return ListOffsetArray(offsets, found, parameters=layout._parameters)

    return argsort


def _elements(layout: Any, axis: Any) -> Any:
    """What lists from offset 0 on have, if they are of numbers or of options of such, and the axis is theirs."""
    if not (
        type(layout) is ListOffsetArray
        and type(axis) is int
        and axis in (1, -1)
        and type(layout._backend.nplike) is CudaArrays
        and _is_of_numbers(layout._content)
        and is_index64(layout._offsets._data)
        and layout.length > 0
        and layout._offsets[0] == 0
        and is_within(layout)
    ):
        return None
    content, n = layout._content, layout._offsets[-1]
    return content if content.length == n else content[:n]


def _is_of_numbers(content: Any) -> bool:
    if type(content) in (ByteMaskedArray, IndexedOptionArray):
        content = content._content
    return (
        type(content) is NumpyArray
        and is_on_device(content._data)
        and content.parameter("__array__") is None
    )


def numpyarray_reduce_next(original: Method) -> Method:
    """`NumpyArray._reduce_next`: extrema in one launch instead of two, positions instead of three."""

    def _reduce_next(
        self: Any, reducer: Any, negaxis: Any, starts: Any, shifts: Any, offsets: Any, outlength: Any,
        mask: Any, keepdims: Any, behavior: Any,
    ) -> Any:  # fmt: skip
        nplike, kind = self._backend.nplike, type(reducer)
        of_values = kind in VALUES and reducer._initial is None
        if not (
            mask
            and (of_values or (kind in POSITIONS and shifts is None and is_on_device(starts._data)))
            and type(nplike) is CudaArrays
            and is_plain(self)
            and self._data.dtype.char in REDUCED
            and is_index64(offsets._data)
        ):
            return original(self, reducer, negaxis, starts, shifts, offsets, outlength, mask, keepdims, behavior)
        x = self._data
        out = nplike.empty(outlength, dtype=x.dtype if of_values else np.int64)
        none = nplike.empty(outlength, dtype=np.int8)
        if of_values:
            start = x.dtype.type(reducer._identity_for(x.dtype))
            write_extremum(out, none, x, offsets._data, None, outlength, VALUES[kind], start)
        else:
            largest = POSITIONS[kind]
            start = BEATEN[wide(x.dtype)][largest]
            write_extremum(out, none, x, offsets._data, starts._data, outlength, largest, start)
        found: Any = NumpyArray(out, backend=self._backend)
        found = ByteMaskedArray(Index8(none, nplike=nplike), found, False)
        return RegularArray(found, 1, self.length) if keepdims else found

    return _reduce_next
