"""What one call keeps the host busy for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from awkward_cudakernels.bench import kernels, sides, timing
from awkward_cudakernels.bench.settings import Settings

__all__ = ["check", "measure", "prepare", "rows", "sizes"]

LISTS = 10_000
"""Enough for many blocks, few enough that the device is done before the host comes with the next."""

MAP = "ListArray_getitem_next_at"

_RAW = """
extern "C" __global__ void next_at(long long* tocarry, const long long* starts, const long long* stops,
                                   long long n, long long at) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) {
        const long long length = stops[i] - starts[i];
        tocarry[i] = starts[i] + (at < 0 ? at + length : at);
    }
}"""


def _raw_kernel(s: kernels.Inputs) -> Callable[[], object]:
    import cupy

    kernel = cupy.RawKernel(_RAW, "next_at")
    out, grid = s.empty(s.n), ((s.n + 255) // 256,)
    return lambda: kernel(grid, (256,), (out, s.starts, s.stops, s.n, 0))


def _transform(s: kernels.Inputs) -> Callable[[], object]:
    from awkward_cudakernels.kernels.listarray import next_at
    from primitives import transform

    out, starts, stops = s.empty(s.n), s.nonempty[:-1].copy(), s.nonempty[1:].copy()
    return lambda: transform(next_at, s.n, out, starts, stops, 0)


def _scan(s: kernels.Inputs) -> Callable[[], object]:
    from awkward_cudakernels.kernels.listarray import list_length
    from primitives import offsets_from

    out = s.empty(s.n + 1)
    return lambda: offsets_from((list_length, s.starts, s.stops), s.n, out)


def _segmented_transform(s: kernels.Inputs) -> Callable[[], object]:
    from primitives import segment_ids

    out = s.empty(s.m)
    return lambda: segment_ids(s.offsets, out)


def _segmented_reduce(s: kernels.Inputs) -> Callable[[], object]:
    from awkward_cudakernels.kernels.reducers import reduce_sum

    out = s.empty(s.n, np.float64)
    return lambda: reduce_sum(out, s.values, s.offsets, s.n)


def _segmented_argsort(s: kernels.Inputs) -> Callable[[], object]:
    from primitives import order_of, segmented_argsort

    out, less = s.empty(s.m), order_of(s.values)
    return lambda: segmented_argsort(s.offsets, out, less)


def _kernel(s: kernels.Inputs) -> Callable[[], object]:
    from awkward._backends.cupy import CupyBackend

    case = kernels.BY_FAMILY[MAP]
    table, key, arguments = CupyBackend.instance(), case.key, case.arguments(s)
    return lambda: table[key](*arguments)


def _synchronize(s: kernels.Inputs) -> Callable[[], object]:
    import errorflag

    _transform(s)()  # lest there be no kernel to ask about
    return errorflag.synchronize


def _read(s: kernels.Inputs) -> Callable[[], object]:
    import errorflag

    one = s.offsets[-1:].copy()
    return lambda: errorflag.read(one)


def _read_items(s: kernels.Inputs) -> Callable[[], object]:
    import errorflag

    return lambda: errorflag.read_items(s.offsets, (s.n,))


def _item(s: kernels.Inputs) -> Callable[[], object]:
    return lambda: s.offsets[-1].item()


def _any(s: kernels.Inputs) -> Callable[[], object]:
    return lambda: bool(s.xp.any(s.mask))


def _empty(s: kernels.Inputs) -> Callable[[], object]:
    return lambda: s.empty(1)


CASES: dict[str, Callable[[kernels.Inputs], Callable[[], object]]] = {
    "CuPy RawKernel, the map's 5 arguments": _raw_kernel,
    "primitives.transform, the same map": _transform,
    "primitives.offsets_from (a scan)": _scan,
    "primitives.segment_ids (segmented_transform)": _segmented_transform,
    "reduce_sum (segmented_reduce)": _segmented_reduce,
    "primitives.segmented_argsort": _segmented_argsort,
    "backend[key](*args), the same map": _kernel,
    "errorflag.synchronize": _synchronize,
    "errorflag.read, one int64": _read,
    "errorflag.read_items, one int64": _read_items,
    "CuPy x[-1].item()": _item,
    "bool(cupy.any(x))": _any,
    "cupy.empty(1)": _empty,
}


def rows(settings: Settings) -> list[str]:
    """The names of all cases."""
    return list(CASES)


def sizes(settings: Settings) -> tuple[int, ...]:
    """One size, for the host's time does not depend on it."""
    return (LISTS,)


def prepare(side: sides.Side, lists: int) -> kernels.Inputs:
    """The arrays of all cases."""
    return kernels.Inputs(lists, side.backend)


def check(side: sides.Side, row: str, inputs: kernels.Inputs) -> dict[str, Any]:
    """Nothing: `kernels` and the tests check results."""
    return {}


def measure(side: sides.Side, row: str, inputs: kernels.Inputs, seconds: float) -> dict[str, Any]:
    """Host time of a call."""
    call = CASES[row](inputs)
    return {"host_us": timing.host_us(call, side.wait, side.finish, 2 * seconds)}
