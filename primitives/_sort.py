"""Segmented sorting: `segmented_argsort` by any comparison, `segmented_sort` of values."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _radix
from ._check import array_argument, length_argument
from ._op import op
from ._run import run, scratch
from ._segmented import _ragged
from ._template import TOGETHER, Slot, Template
from ._transform import transform

_CHUNK = 32  # the longest segment that needs no merging, as in device/segmented_argsort.cuh
_TILE = 2048  # elements per block, likewise

_ARGSORT = Template(
    "segmented_argsort",
    slots=(Slot(("int64", "int64", "T*"), 0),),
    parameters=(
        ("segments", "int64"),
        ("offsets", "OFFSET*"),
        ("limit", "int64"),
        ("out", "int64*"),
        ("spare", "int64*"),
        ("state", "uint64"),
        ("capacity", "int64"),
    ),
    host="""
less = local(int8)
absolute = {ABSOLUTE}
for segment in range(segments):
    start = int64(offsets[segment])
    length = min(int64(offsets[segment + 1]), limit) - start
    shift = 0 if absolute else start
    # Runs of 32 by insertion, then merging from one array to the other, as often as needed.
    for run in range(0, length, 32):
        for i in range(run, min(run + 32, length)):
            at = i
            while at > run:
                packed = op0(start + i, shift + out[start + at - 1], less ARGS0)
                if packed != 0:
                    word[0] = base | uint64(packed - 1)
                    return
                if not less[0]:
                    break
                out[start + at] = out[start + at - 1]
                at -= 1
            out[start + at] = start + i - shift
    width = 32
    while width < length:
        for pair in range(0, length, 2 * width):
            middle = min(pair + width, length)
            end = min(pair + 2 * width, length)
            left = pair
            right = middle
            for at in range(pair, end):
                take_right = left >= middle
                if not take_right and right < end:
                    packed = op0(shift + out[start + right], shift + out[start + left], less ARGS0)
                    if packed != 0:
                        word[0] = base | uint64(packed - 1)
                        return
                    take_right = less[0] != 0
                if take_right:
                    spare[start + at] = out[start + right]
                    right += 1
                else:
                    spare[start + at] = out[start + left]
                    left += 1
        for at in range(start, start + length):
            out[at] = spare[at]
        width *= 2
""",
    kernels=("kernel", "merge"),
    state_bytes=lambda _: 24,
)


def segmented_argsort(
    offsets: Any,
    out: Any,
    less: tuple[Any, ...],
    *,
    absolute: bool = False,
    elements: int | None = None,
    segments: int | None = None,
) -> None:
    """The stable order of every segment's elements, by a comparison of your own.

    For every segment, ``out[offsets[s] : offsets[s + 1]]`` receives the positions of its elements
    within the segment, in order.

    Args:
        offsets: ascending integers, shape ``(segments + 1,)``.
        out: int64, as long as the last offset.
        less: ``(less_op, *args)``; ``less_op(left, right, result, *args)`` sets ``result[0]`` to
            whether the element at position `left` goes before the one at `right`; the positions count
            over all segments. It must be a strict weak order.
        absolute: whether the positions in `out` count over all segments.
        elements: where elements end, by default ``len(out)``; what is beyond is not sorted.
        segments: number of segments, by default ``len(offsets) - 1``.

    Raises:
        TypeError: `offsets` or `out` has another dtype, or arrays are in different places.
        ValueError: `elements` is negative or longer than `out` or, of `order_of`, the values.

    Two launches (one for up to 32 elements) and scratch memory as large as `out`; never synchronizes.
    O(n) for short segments, O(n log n) for long ones. With `order_of` and long segments on average, a
    radix sort takes its place: three launches, two calls of CUB, and 32 bytes of scratch memory per element.

    Example:
        >>> import numpy as np
        >>> from primitives import op, segmented_argsort
        >>> @op
        ... def nearer(left, right, result, x, y):
        ...     result[0] = x[left] ** 2 + y[left] ** 2 < x[right] ** 2 + y[right] ** 2
        >>> x, y = np.array([3.0, 0.0, 1.0, 5.0]), np.array([0.0, 1.0, 1.0, 5.0])
        >>> order = np.empty(4, np.int64)
        >>> segmented_argsort(np.array([0, 3, 4]), order, (nearer, x, y))
        >>> order
        array([1, 2, 0, 0])
    """
    offsets, segments, _ = _ragged(offsets, segments)
    if elements is not None:
        elements = length_argument("elements", elements)
    out = array_argument("out", out, dtypes="lq", size=elements, written=True)
    if elements is None:
        elements = int(out.shape[0])
    if elements == 0 or segments == 0:
        return
    if not isinstance(less, tuple) or not less:
        raise TypeError(f"argument 'less' must be a tuple of an op and its arguments, not {less!r}")
    if less[0] in (_less, _greater):
        values = array_argument("values", less[1], size=elements)
        if _radix.pays(values, elements, segments):
            _radix.radix_argsort(
                offsets,
                out,
                values,
                ascending=less[0] is _less,
                absolute=absolute,
                elements=elements,
                segments=segments,
            )
            return
    long = elements > _CHUNK
    spare = scratch(out, elements if long else 0, np.int64)
    variant = (("OFFSET", offsets.dtype.char), ("T", "b"), ("ABSOLUTE", int(absolute)))
    grid = ((elements + _TILE - 1) // _TILE, TOGETHER if long else 0)
    capacity = elements // _CHUNK + 1 if long else 0
    parameters = (segments, offsets, elements, out, spare, 0, capacity)
    run(_ARGSORT, variant, segments, grid, parameters, (less,))


@op
def _less(left, right, result, values):
    # NaN goes first, as in awkward's kernels.
    a = values[left]
    b = values[right]
    result[0] = b == b and (a != a or a < b)


@op
def _greater(left, right, result, values):
    a = values[left]
    b = values[right]
    result[0] = b == b and (a != a or a > b)


@op
def _gather(i, out, values, order, offsets, segments):
    if offsets[0] <= i < offsets[segments]:
        out[i] = values[order[i]]


def order_of(values: Any, ascending: bool = True) -> tuple[Any, ...]:
    """The `less` of `segmented_argsort` for an array of numbers; NaN goes first in both orders.

    Args:
        values: numbers, as many as are sorted.
        ascending: the order.

    Example:
        >>> import numpy as np
        >>> from primitives import order_of, segmented_argsort
        >>> order = np.empty(4, np.int64)
        >>> values = np.array([3.0, 1.0, 2.0, 5.0])
        >>> segmented_argsort(np.array([0, 3, 4]), order, order_of(values, ascending=False))
        >>> order
        array([0, 2, 1, 0])
    """
    return (_less if ascending else _greater, values)


def segmented_sort(
    offsets: Any,
    values: Any,
    out: Any,
    *,
    ascending: bool = True,
    elements: int | None = None,
    segments: int | None = None,
) -> None:
    """The values of every segment in order; equal ones keep theirs, NaN goes first in both orders.

    Args:
        offsets: ascending integers, shape ``(segments + 1,)``.
        values: numbers, as many as the last offset.
        out: receives them; not the same memory as `values`.
        ascending: the order.
        elements: where elements end, by default ``len(values)``.
        segments: number of segments, by default ``len(offsets) - 1``.

    Raises:
        TypeError: an argument is no array, has another dtype, or arrays are in different places.
        ValueError: `values` or `out` is shorter than `elements`, or `elements` or `segments` is negative.

    Three launches and scratch memory of 16 bytes per element; many elements in long segments are sorted by
    radix, in four launches and two calls of CUB, with 40 bytes and CUB's own. Never synchronizes.

    Example:
        >>> import numpy as np
        >>> from primitives import segmented_sort
        >>> out = np.empty(4)
        >>> segmented_sort(np.array([0, 3, 4]), np.array([3.0, 1.0, 2.0, 5.0]), out)
        >>> out
        array([1., 2., 3., 5.])
    """
    if elements is not None:
        elements = length_argument("elements", elements)
    values = array_argument("values", values, dtypes="?bBhHiIlLqQfd", size=elements)
    if elements is None:
        elements = int(values.shape[0])
    out = array_argument("out", out, size=elements, written=True)
    order = scratch(values, elements, np.int64)
    less = order_of(values, ascending)
    offsets, segments, _ = _ragged(offsets, segments)
    segmented_argsort(offsets, order, less, absolute=True, elements=elements, segments=segments)
    if segments:
        transform(_gather, elements, out, values, order, offsets, segments)


