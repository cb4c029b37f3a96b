"""`transform`: an op over a range of indexes."""

from __future__ import annotations

from typing import Any

from ._check import LARGEST, length_argument
from ._op import Op
from ._run import run
from ._template import MANY, Slot, Template

_TRANSFORM = Template(
    "transform",
    slots=(Slot(("int64",), 0),),
    parameters=(("n", "int64"),),
    host="""
for i in range(n):
    packed = op0(i ARGS0)
    if packed != 0:
        word[0] = base | uint64(packed - 1)
        return
""",
    kernels=("kernel", "turns"),
    restrict=True,
)


def transform(op: Op, n: int, *args: Any) -> None:
    """Calls ``op(i, *args)`` for every ``i`` in ``range(n)``, in no particular order on the device.

    Args:
        op: made by `primitives.op`.
        n: number of indexes; 0 does nothing.
        args: what the op takes after the index: contiguous arrays, all CuPy's on one device or all NumPy's, and
            numbers. Of an array of several dimensions an op sees the elements in C order. One array can be two of
            them, but what the op writes to it as one, it must not read as the other.

    Raises:
        TypeError: an argument is neither array nor number, or arrays are in different places.
        ValueError: `n` is negative, an array is not contiguous, or a number does not fit into 64 bits.

    The op's errors are reported through `errorflag`. One launch; never synchronizes.

    Example:
        >>> import numpy as np
        >>> from primitives import op, transform
        >>> @op
        ... def scale(i, out, x, factor):
        ...     out[i] = factor * x[i]
        >>> out = np.empty(3)
        >>> transform(scale, 3, out, np.array([1.0, 2.0, 3.0]), 10)
        >>> out
        array([10., 20., 30.])
    """
    if type(n) is not int or not 0 < n <= LARGEST:
        n = length_argument("n", n)
        if n == 0:
            return
    grid = (n + 255) // 256 if n < MANY else (0, (n + 1023) // 1024)
    run(_TRANSFORM, (), n, grid, (n,), ((op, *args),))
