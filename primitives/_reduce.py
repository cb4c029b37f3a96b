"""`reduce`: one number from a range."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._check import LARGEST, array_argument, length_argument
from ._run import run
from ._scan import PARAMETERS, TOTALS, VALUE, VALUES, variant_of
from ._template import SHARING_BLOCKS, Template

_TILE = 2048  # indexes that a block takes at a time, as in device/reduce.cuh

_REDUCE = Template(
    "reduce",
    slots=(VALUE,),
    parameters=PARAMETERS,
    host=VALUES
    + """
    before = {COMBINE}(before, value[0])
total[0] = before
""",
    state_bytes=lambda variant: np.dtype(variant["T"]).itemsize,
)


def reduce(
    n: int, value: tuple[Any, ...], total: Any, *, combine: str = "add", dtype: str = "int64"
) -> None:
    """The combination of the values that an op gives to the indexes of a range: a sum, a count, a maximum.

    For each ``i`` in ``range(n)``, ``value_op(i, value, *value_args)`` sets ``value[0]``, which starts
    as the identity of `combine`. What comes before each index, too, is a `scan`.

    Args:
        n: number of indexes; with 0, `total` receives the identity (0, or the last value of the type).
        value: ``(value_op, *value_args)``.
        total: an array of one element of `dtype`, which receives the combination; it stays on the device.
        combine: ``"add"``, ``"maximum"`` or ``"minimum"``, of which NaN is the result if it is among the values.
        dtype: the type of the values: ``"int64"``, ``"uint64"`` or ``"float64"``. Sums of floats are
            the same every time.

    Raises:
        TypeError: an argument is neither array nor number, or arrays are in different places.
        ValueError: `n` is negative, an array is not contiguous, or `combine` or `dtype` is unknown.

    Errors of the op are reported through `errorflag`. One launch; never synchronizes.

    Example:
        >>> import numpy as np
        >>> from primitives import op, reduce
        >>> @op
        ... def is_large(i, count, x, limit):
        ...     count[0] = x[i] > limit
        >>> total = np.zeros(1, np.int64)
        >>> reduce(4, (is_large, np.array([5.0, 1.0, 7.0, 2.0]), 4), total)
        >>> total
        array([2])
    """
    variant = variant_of("reduce", combine, dtype)
    total = array_argument("total", total, dtypes=TOTALS[dtype], size=1, written=True)
    if type(n) is not int or not 0 <= n <= LARGEST:
        n = length_argument("n", n)
    blocks = max(1, min((n + _TILE - 1) // _TILE, SHARING_BLOCKS))
    run(_REDUCE, variant, n, blocks, (n, total, 0, blocks), (value,))
