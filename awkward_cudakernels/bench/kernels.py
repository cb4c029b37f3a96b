"""Single kernels, called as awkward calls them: ``backend[key](*args)``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from awkward_cudakernels.bench import sides, timing
from awkward_cudakernels.bench.sample import MEAN, Sample
from awkward_cudakernels.bench.settings import Settings

__all__ = ["BY_FAMILY", "KERNELS", "Case", "Inputs", "check", "measure", "prepare", "rows", "sizes"]


class Inputs:
    """Arrays of a sample in one place, and empty arrays beside them.

    Attributes:
        n: lists.
        m: elements.
        offsets, starts, stops: int64 positions of the lists.
        values: float64 elements.
    """

    def __init__(self, lists: int, backend: str) -> None:
        self.xp: Any = np
        if backend == "cuda":
            import cupy

            self.xp = cupy
        sample = Sample(lists)
        xp = self.xp
        self.n = lists
        self.m = len(sample.content)
        self.offsets = xp.asarray(sample.offsets)
        self.starts = xp.asarray(sample.offsets[:-1].copy())
        self.stops = xp.asarray(sample.offsets[1:].copy())
        self.nonempty = xp.asarray(np.arange(lists + 1) * MEAN)
        self.values = xp.asarray(sample.content)
        self.mask = (self.values > 20).astype(np.int8)
        self.index = xp.where(self.values > 20, xp.arange(self.m), -1)
        self.selected = int((self.values > 20).sum())

    def empty(self, size: int, dtype: Any = np.int64) -> Any:
        """Where a kernel writes."""
        return self.xp.empty(size, dtype)


@dataclass(frozen=True)
class Case:
    """One kernel.

    Attributes:
        family: its name without ``awkward_``.
        types: the NumPy types of its key.
        arguments: made of `Inputs`.
        outputs: the positions of its outputs among them.
        nbytes: what it must move, of the numbers of lists and elements.
    """

    family: str
    types: tuple[Any, ...]
    arguments: Callable[[Inputs], tuple[Any, ...]]
    outputs: tuple[int, ...]
    nbytes: Callable[[int, int], int]

    @property
    def key(self) -> tuple[Any, ...]:
        """As awkward names it."""
        return (f"awkward_{self.family}", *self.types)


_I, _F = np.int64, np.float64

KERNELS = (
    Case(
        "ListArray_getitem_next_at",
        (_I, _I, _I),
        lambda s: (s.empty(s.n), s.nonempty[:-1].copy(), s.nonempty[1:].copy(), s.n, 0),
        (0,),
        lambda n, m: 24 * n,
    ),
    Case(
        "RegularArray_getitem_next_at",
        (_I,),
        lambda s: (s.empty(s.n), 1, s.n, MEAN),
        (0,),
        lambda n, m: 8 * n,
    ),
    Case(
        "ListArray_validity",
        (_I, _I),
        lambda s: (s.starts, s.stops, s.n, s.m),
        (),
        lambda n, m: 16 * n,
    ),
    Case("localindex", (_I,), lambda s: (s.empty(s.n), s.n), (0,), lambda n, m: 8 * n),
    Case(
        "ListArray_localindex",
        (_I, _I),
        lambda s: (s.empty(s.m), s.offsets, s.n),
        (0,),
        lambda n, m: 8 * m + 8 * n,
    ),
    Case(
        "ListOffsetArray_reduce_local_nextparents_64",
        (_I, _I),
        lambda s: (s.empty(s.m), s.offsets, s.n, s.m),
        (0,),
        lambda n, m: 8 * m + 8 * n,
    ),
    Case(
        "ListArray_compact_offsets",
        (_I, _I, _I),
        lambda s: (s.empty(s.n + 1), s.starts, s.stops, s.n),
        (0,),
        lambda n, m: 24 * n,
    ),
    Case(
        "ListArray_broadcast_tooffsets",
        (_I, _I, _I, _I),
        lambda s: (s.empty(s.m), s.offsets, s.n + 1, s.starts, s.stops, s.m),
        (0,),
        lambda n, m: 8 * m + 24 * n,
    ),
    Case(
        "ListOffsetArray_rpad_and_clip_axis1",
        (_I, _I),
        lambda s: (s.empty(MEAN * s.n), s.offsets, s.n, MEAN),
        (0,),
        lambda n, m: 8 * MEAN * n + 8 * n,
    ),
    Case(
        "ListArray_combinations_length",
        (_I, _I, _I, _I),
        lambda s: (s.empty(1), s.empty(s.n + 1), 2, False, s.starts, s.stops, s.n),
        (0, 1),
        lambda n, m: 24 * n,
    ),
    Case(
        "IndexedArray_numnull",
        (_I, _I),
        lambda s: (s.empty(1), s.index, s.m),
        (0,),
        lambda n, m: 8 * m,
    ),
    Case(
        "IndexedArray_getitem_nextcarry_outindex",
        (_I, _I, _I),
        lambda s: (s.empty(s.selected), s.empty(s.m), s.index, s.m, s.m),
        (0, 1),
        lambda n, m: 16 * m,
    ),
    Case(
        "ByteMaskedArray_getitem_nextcarry_outindex",
        (_I, _I, np.int8),
        lambda s: (s.empty(s.selected), s.empty(s.m), s.mask, s.m, True),
        (0, 1),
        lambda n, m: 9 * m,
    ),
    Case(
        "reduce_sum",
        (_F, _F, _I),
        lambda s: (s.empty(s.n, _F), s.values, s.offsets, s.n),
        (0,),
        lambda n, m: 8 * m + 16 * n,
    ),
    Case(
        "reduce_max",
        (_F, _F, _I),
        lambda s: (s.empty(s.n, _F), s.values, s.offsets, s.n, -np.inf),
        (0,),
        lambda n, m: 8 * m + 16 * n,
    ),
    Case(
        "reduce_argmax",
        (_I, _F, _I, _I),
        lambda s: (s.empty(s.n), s.values, s.offsets, s.starts, s.n),
        (0,),
        lambda n, m: 8 * m + 16 * n,
    ),
    Case(
        "sort",
        (_F, _F, _I),
        lambda s: (s.empty(s.m, _F), s.values, s.m, s.offsets, s.n + 1, True, True),
        (0,),
        lambda n, m: 16 * m + 8 * n,
    ),
    Case(
        "argsort",
        (_I, _F, _I),
        lambda s: (s.empty(s.m), s.values, s.m, s.offsets, s.n + 1, True, True),
        (0,),
        lambda n, m: 16 * m + 8 * n,
    ),
)

BY_FAMILY = {case.family: case for case in KERNELS}


def rows(settings: Settings) -> list[str]:
    """The names of all cases."""
    return [case.family for case in KERNELS]


def sizes(settings: Settings) -> tuple[int, ...]:
    """The numbers of lists."""
    return settings.lists


def prepare(side: sides.Side, lists: int) -> Inputs:
    """The arrays of all cases."""
    return Inputs(lists, side.backend)


def _call(side: sides.Side, case: Case, arguments: tuple[Any, ...]) -> Callable[[], None]:
    table, key = side.kernel_table(), case.key

    def call() -> None:
        error = table[key](*arguments)
        if error is not None and error.str is not None:
            raise ValueError(error.str.decode())

    return call


def check(side: sides.Side, row: str, inputs: Inputs) -> dict[str, Any]:
    """First call, and whether the outputs are those of awkward's CPU kernel."""
    case = BY_FAMILY[row]
    arguments = case.arguments(inputs)
    call = _call(side, case, arguments)
    clock = sides.Clock()
    call()
    side.finish()
    result: dict[str, Any] = {"first_ms": clock.ms()}
    if side.is_stock_cpu:
        return result
    host = case.arguments(Inputs(inputs.n, "cpu"))
    with side.stock():
        stock = sides.Side("cpu", device=False)
        _call(stock, case, host)()
    for position in case.outputs:
        found = arguments[position]
        found = found if isinstance(found, np.ndarray) else found.get()
        if not np.allclose(found, host[position], rtol=1e-9, atol=1e-12, equal_nan=True):
            result["wrong"] = f"output {position} is not that of awkward's CPU kernel"
    return result


def measure(side: sides.Side, row: str, inputs: Inputs, seconds: float) -> dict[str, Any]:
    """Host time of a call, and time per call until the last of many has finished."""
    case = BY_FAMILY[row]
    call = _call(side, case, case.arguments(inputs))
    result: dict[str, Any] = {"bytes": case.nbytes(inputs.n, inputs.m)}
    if side.backend == "cuda":
        result["host_us"] = timing.host_us(call, side.wait, side.finish, seconds / 2)
    result["us"] = timing.per_call_us(call, side.wait, side.finish, seconds / 2)
    return result
