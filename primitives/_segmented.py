"""Primitives over ragged segments: `segmented_transform`, `segmented_reduce`, `segment_ids`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._check import INTEGERS, LARGEST, array_argument, length_argument
from ._op import op
from ._run import run
from ._template import MANY, SHARING_BLOCKS, Slot, Template

_LEAST = 512  # elements that are worth a block
_PIECE = 8192  # the longest segment that one warp reduces, as in device/segmented_reduce.cuh
_GROUP_MEAN = 24  # mean length from which every segment has its own warp
_MAX_WIDTH = 8  # values in an accumulator
_VARIANTS = {char: (("OFFSET", char),) for char in INTEGERS}
ACCUMULATED = "?bBhHiIlLqQfdFD"
_NO_BOUND = 2**62  # elements, where the host knows no bound

_SEGMENTED_TRANSFORM = Template(
    "segmented_transform",
    slots=(Slot(("int64", "int64", "int64"), 0),),
    parameters=(("segments", "int64"), ("offsets", "OFFSET*"), ("capacity", "int64")),
    host="""
origin = int64(offsets[0])
stop = min(int64(offsets[segments]), origin + capacity)
for segment in range(segments):
    begin = int64(offsets[segment])
    for position in range(max(begin, origin), min(int64(offsets[segment + 1]), stop)):
        packed = op0(segment, position, position - begin ARGS0)
        if packed != 0:
            word[0] = base | uint64(packed - 1)
            return
""",
    restrict=True,
)

_SEGMENTED_REDUCE = Template(
    "segmented_reduce",
    slots=(
        Slot(("T*", "int64"), 1),
        Slot(("T*", "int64", "int64"), 2),
        Slot(("T*", "T*", "int64"), 2),
        Slot(("T*", "int64"), 1),
    ),
    parameters=(
        ("segments", "int64"),
        ("offsets", "OFFSET*"),
        ("state", "uint64"),
        ("capacity", "int64"),
    ),
    # Pieces as on the device, so that merging is the same code on both.
    host="""
acc = local({T})
other = local({T})
for segment in range(segments):
    begin = int64(offsets[segment])
    end = int64(offsets[segment + 1])
    packed = op0(acc, segment ARGS0)
    for position in range(begin, min(end, begin + 8192)):
        if packed == 0:
            packed = op1(acc, segment, position ARGS1)
    for piece in range(begin + 8192, end, 8192):
        if packed == 0:
            packed = op0(other, segment ARGS0)
        for position in range(piece, min(end, piece + 8192)):
            if packed == 0:
                packed = op1(other, segment, position ARGS1)
        if packed == 0:
            packed = op2(acc, other, segment ARGS2)
    if packed == 0:
        packed = op3(acc, segment ARGS3)
    if packed != 0:
        word[0] = base | uint64(packed - 1)
        return
""",
    kernels=("kernel", "pieces"),
    state_bytes=lambda variant: 44 + np.dtype(variant["T"]).itemsize * int(variant["WIDTH"]),
)


def _ragged(offsets: Any, segments: int | None) -> tuple[Any, int, tuple[tuple[str, Any], ...]]:
    """Offsets as an array of NumPy or CuPy, the number of segments, and the variant of the offsets' type."""
    try:
        variant = _VARIANTS[offsets.dtype.char]
        size = offsets.size
        fine = size > 0 and offsets.ndim == 1
    except (AttributeError, KeyError):
        fine = False
    if not fine:
        offsets = array_argument("offsets", offsets, dtypes=INTEGERS, size=0 if segments == 0 else 1)
        variant = _VARIANTS[offsets.dtype.char]
        size = offsets.size
    if segments is None:
        segments = size - 1
    elif type(segments) is not int or not 0 <= segments < size:
        segments = length_argument("segments", segments)
        if segments and segments >= size:
            raise ValueError(f"argument 'segments' is {segments}, but 'offsets' has {size} elements")
    return offsets, segments, variant


def segmented_transform(
    offsets: Any, elements: int | None, op: Any, *args: Any, segments: int | None = None
) -> None:
    """Calls an op for every element of ragged segments, balanced whatever their lengths are.

    ``op(segment, position, local, *args)`` is called for every ``position`` in
    ``range(offsets[segment], offsets[segment + 1])``; ``local`` is ``position - offsets[segment]``.

    Args:
        offsets: ascending integers, shape ``(segments + 1,)``; they need not start at 0.
        elements: an upper bound on ``offsets[-1] - offsets[0]`` that the host knows, such as the
            length of the output; elements beyond it are not visited. None if there is none: then a
            fixed number of blocks shares them.
        op: made by `primitives.op`.
        args: what the op takes after that, as of `transform`.
        segments: number of segments, by default ``len(offsets) - 1``.

    Raises:
        TypeError: `offsets` is no integer array, or arrays are in different places.
        ValueError: `elements` or `segments` is negative, `segments` more than there are, or an array is not
            contiguous.

    One launch; never synchronizes.

    Example:
        >>> import numpy as np
        >>> from primitives import op, segmented_transform
        >>> @op
        ... def copy_list(segment, position, local, out, starts, values):
        ...     out[position] = values[starts[segment] + local]
        >>> out = np.empty(5, np.int64)
        >>> values = np.array([0, 10, 20, 30, 40])
        >>> segmented_transform(np.array([0, 3, 3, 5]), 5, copy_list, out, np.array([2, 9, 0]), values)
        >>> out
        array([20, 30, 40,  0, 10])
    """
    offsets, segments, variant = _ragged(offsets, segments)
    if elements is None:
        elements, grid = _NO_BOUND, SHARING_BLOCKS
    else:
        if type(elements) is not int or not 0 <= elements <= LARGEST:
            elements = length_argument("elements", elements)
        grid = min((elements + _LEAST - 1) // _LEAST, SHARING_BLOCKS)
    if grid == 0 or segments == 0:
        return
    run(_SEGMENTED_TRANSFORM, variant, segments, grid, (segments, offsets, elements), ((op, *args),))


def segmented_reduce(
    offsets: Any,
    elements: int,
    *,
    dtype: Any,
    start: tuple[Any, ...],
    step: tuple[Any, ...],
    merge: tuple[Any, ...],
    finish: tuple[Any, ...],
    width: int = 1,
    segments: int | None = None,
) -> None:
    """Reduces every segment with ops of your own.

    An accumulator is a small array of `width` values of `dtype`. The four ops, each given as
    ``(op, *args)``:

    - ``start(acc, segment, *args)`` sets it to the identity;
    - ``step(acc, segment, position, *args)`` adds one element;
    - ``merge(acc, other, segment, *args)`` adds another accumulator; it must be associative and
      commutative, for the order in which parts of long segments meet is not the elements' order;
    - ``finish(acc, segment, *args)`` writes the result.

    Args:
        offsets: ascending integers, shape ``(segments + 1,)``; they need not start at 0.
        elements: number of elements, as far as the host knows (an upper bound will do): it decides
            how the work is spread.
        dtype: element type of the accumulators: of integers, float32, float64 or complex numbers.
        width: number of values in an accumulator, at most 8.
        segments: number of segments, by default ``len(offsets) - 1``.

    Raises:
        TypeError: `offsets` is no integer array, `dtype` cannot be accumulated, or arrays are in different places.
        ValueError: `elements` or `segments` is negative, `segments` more than there are, `width` not from 1 to 8,
            or an array is not contiguous.

    One launch, two if a segment could have more than 8,192 elements; never synchronizes.

    Example:
        >>> import numpy as np
        >>> from primitives import op, segmented_reduce
        >>> @op
        ... def start(acc, segment):
        ...     acc[0] = 0.0
        >>> @op
        ... def step(acc, segment, position, x):
        ...     acc[0] += x[position]
        >>> @op
        ... def merge(acc, other, segment):
        ...     acc[0] += other[0]
        >>> @op
        ... def finish(acc, segment, out):
        ...     out[segment] = acc[0]
        >>> x, sums = np.array([1.0, 2.0, 3.0, 4.0]), np.empty(3)
        >>> segmented_reduce(
        ...     np.array([0, 3, 3, 4]),
        ...     4,
        ...     dtype="float64",
        ...     start=(start,),
        ...     step=(step, x),
        ...     merge=(merge,),
        ...     finish=(finish, sums),
        ... )
        >>> sums
        array([6., 0., 4.])
    """
    offsets, segments, of_offsets = _ragged(offsets, segments)
    if type(elements) is not int or not 0 <= elements <= LARGEST:
        elements = length_argument("elements", elements)
    width = length_argument("width", width)
    if not 1 <= width <= _MAX_WIDTH:
        raise ValueError(f"argument 'width' must be between 1 and {_MAX_WIDTH}, it is {width}")
    try:
        char = _CHARS[dtype]
    except (KeyError, TypeError):
        char = _char_of(dtype)
    if segments == 0:
        return
    group = 32 if elements >= _GROUP_MEAN * segments else 1
    capacity = 2 * (elements // _PIECE) if elements > _PIECE else 0
    threads = segments * group
    blocks = (threads + 255) // 256 if threads < MANY else (threads + 1023) // 1024
    grid: Any = (blocks, min(capacity, SHARING_BLOCKS))
    variant = (
        *of_offsets,
        ("T", char),
        ("WIDTH", width),
        ("GROUP", group),
    )
    parameters = (segments, offsets, 0, capacity)
    run(_SEGMENTED_REDUCE, variant, segments, grid, parameters, (start, step, merge, finish))


_CHARS: dict[Any, str] = {}
"""The dtypes that accumulators had, as the caller gave them, and their characters."""


def _char_of(dtype: Any) -> str:
    try:
        found = None if dtype is None else np.dtype(dtype)
    except TypeError:
        found = None
    if found is None or found.char not in ACCUMULATED or not found.isnative:
        raise TypeError(f"argument 'dtype' is {dtype!r}, which segmented_reduce cannot accumulate")
    _CHARS[dtype] = found.char
    return found.char


@op
def _store_segment(segment, position, local, out):
    out[position] = segment


def segment_ids(offsets: Any, out: Any) -> None:
    """For every element, the number of its segment: ``out[position] = segment``.

    Args:
        offsets: ascending integers, shape ``(segments + 1,)``.
        out: integers, as long as the last offset.

    Raises:
        TypeError: `offsets` or `out` is no integer array, or they are in different places.
        ValueError: `out` is read-only, or an array is not contiguous.

    One launch; never synchronizes.

    Example:
        >>> import numpy as np
        >>> from primitives import segment_ids
        >>> out = np.empty(5, np.int64)
        >>> segment_ids(np.array([0, 3, 3, 5]), out)
        >>> out
        array([0, 0, 0, 2, 2])
    """
    out = array_argument("out", out, dtypes=INTEGERS, written=True)
    segmented_transform(offsets, out.shape[0], _store_segment, out)
