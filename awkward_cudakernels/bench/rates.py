"""How near primitives come to the bandwidth of a copy, by the device's own clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from awkward_cudakernels.bench import kernels, sides, timing
from awkward_cudakernels.bench.settings import Settings
from primitives import op, transform

__all__ = ["CASES", "COPY", "Case", "check", "measure", "prepare", "rows", "sizes"]

COPY = "copy"
LEAST = 200_000


@dataclass(frozen=True)
class Case:
    """A call on `Inputs`, and the bytes that it must move.

    Attributes:
        name: of the row.
        counted: how the bytes are counted: n lists, m elements.
        make: the call and its bytes.
    """

    name: str
    counted: str
    make: Callable[[kernels.Inputs], tuple[Callable[[], object], int]]


def _copy(s: kernels.Inputs) -> tuple[Callable[[], object], int]:
    out = s.xp.empty_like(s.values)
    return lambda: s.xp.copyto(out, s.values), 16 * s.m


@op
def repeat_eight_times(i, out, x):
    out[i] = x[i >> 3]


def _write(s: kernels.Inputs) -> tuple[Callable[[], object], int]:
    from awkward_cudakernels.arraylayer.elementwise import fill_value

    out = s.xp.empty_like(s.values)
    return lambda: transform(fill_value, s.m, out, 20.0), 8 * s.m


def _write_eight(s: kernels.Inputs) -> tuple[Callable[[], object], int]:
    out = s.xp.empty_like(s.values)
    return lambda: transform(repeat_eight_times, s.m, out, s.values), 8 * s.m + (s.m + 7) // 8 * 8


def _of_kernel(family: str) -> Callable[[kernels.Inputs], tuple[Callable[[], object], int]]:
    def make(s: kernels.Inputs) -> tuple[Callable[[], object], int]:
        from awkward_cudakernels import registry

        case = kernels.BY_FAMILY[family]
        function, arguments = registry()[case.key[0]], case.arguments(s)
        return lambda: function(*arguments), case.nbytes(s.n, s.m)

    return make


def _comparison(s: kernels.Inputs) -> tuple[Callable[[], object], int]:
    from awkward_cudakernels.arraylayer.elementwise import FUNCTIONS

    out, greater = s.empty(s.m, np.bool_), FUNCTIONS["greater"].ops[True, False]
    return lambda: transform(greater, s.m, out, s.values, 20.0), 9 * s.m


def _comparison_of_array_module(s: kernels.Inputs) -> tuple[Callable[[], object], int]:
    out = s.empty(s.m, np.bool_)
    return lambda: s.xp.greater(s.values, 20.0, out=out), 9 * s.m


def _sum_of(
    lengths: Callable[[kernels.Inputs], Any],
) -> Callable[[kernels.Inputs], tuple[Callable[[], object], int]]:
    def make(s: kernels.Inputs) -> tuple[Callable[[], object], int]:
        from awkward_cudakernels.kernels.reducers import reduce_sum

        counts = np.asarray(lengths(s), np.int64)
        host = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=host[1:])
        segments, elements = len(counts), int(host[-1])
        offsets, out = s.xp.asarray(host), s.empty(segments, np.float64)
        values = s.values[:elements]
        return lambda: reduce_sum(out, values, offsets, segments), 8 * elements + 16 * segments

    return make


def _equal(length: int) -> Callable[[kernels.Inputs], Any]:
    return lambda s: np.full(max(1, s.m // length), min(length, s.m))


def _skewed(s: kernels.Inputs) -> Any:
    half = s.m // 2
    return np.r_[np.full(half // MEAN, MEAN), s.m - half]


MEAN = 3

CASES = (
    Case(COPY, "16 m", _copy),
    Case("write", "8 m", _write),
    Case("write 8 for each read", "9 m", _write_eight),
    Case("map (next_at)", "24 n", _of_kernel("ListArray_getitem_next_at")),
    Case("comparison (values > 20)", "9 m", _comparison),
    Case("the same by CuPy", "9 m", _comparison_of_array_module),
    Case("scan (compact_offsets)", "24 n", _of_kernel("ListArray_compact_offsets")),
    Case("segmented map (localindex)", "8 m + 8 n", _of_kernel("ListArray_localindex")),
    Case("segmented sum, mean 3", "8 m + 16 n", _of_kernel("reduce_sum")),
    Case("segmented sum, all 100", "8 m + 16 m/100", _sum_of(_equal(100))),
    Case("segmented sum, all 10,000", "8 m + 16 m/10,000", _sum_of(_equal(10_000))),
    Case("segmented sum, 4 segments", "8 m", _sum_of(lambda s: np.full(4, s.m // 4))),
    Case("segmented sum, one has half", "8 m + 16 m/6", _sum_of(_skewed)),
    Case("argsort, mean 3", "16 m + 8 n", _of_kernel("argsort")),
    Case("sort, mean 3", "16 m + 8 n", _of_kernel("sort")),
)

_BY_NAME = {case.name: case for case in CASES}


def rows(settings: Settings) -> list[str]:
    """The names of all cases."""
    return [case.name for case in CASES]


def sizes(settings: Settings) -> tuple[int, ...]:
    """Those of the numbers of lists at which bandwidth can matter."""
    return tuple(size for size in settings.lists if size >= LEAST) or settings.lists[-1:]


def prepare(side: sides.Side, lists: int) -> kernels.Inputs:
    """The arrays of all cases."""
    return kernels.Inputs(lists, side.backend)


def check(side: sides.Side, row: str, inputs: kernels.Inputs) -> dict[str, Any]:
    """Nothing: `kernels` and the tests check results."""
    return {}


def measure(side: sides.Side, row: str, inputs: kernels.Inputs, seconds: float) -> dict[str, Any]:
    """Device time of a call, and bytes per second."""
    call, nbytes = _BY_NAME[row].make(inputs)
    us = timing.device_us(call, seconds)
    return {"us": us, "bytes": nbytes, "gb_s": nbytes / us / 1e3}
