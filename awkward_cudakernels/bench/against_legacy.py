"""``bench --against legacy``: kernels on the primitives and raw ones, with the gate's verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from awkward_cudakernels import _dispatch, gate
from awkward_cudakernels.bench.settings import Settings


def rows(settings: Settings, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """A row for each family and size, those of one family together; the verdict is in all of them."""
    sizes = tuple(n for n in settings.lists if n <= max(gate.SIZES)) or settings.lists
    for family in sorted(_dispatch.raw_kernels()):
        if not settings.wants(family):
            continue
        ...


def _row(row: gate.Row, verdict: gate.Verdict) -> dict[str, Any]:
    sides = {"primitives": asdict(row.primitives), "raw": asdict(row.raw)}
    columns = {
        f"{side}_{name}": sides[side][name]
        for name in ("host_us", "device_us", "first_cold_ms", "first_warm_ms", "recompilations", "synchronizations")
        for side in sides
    }
    return {"row": row.family, "lists": row.lists, **columns, "ratio": row.ratio, "verdict": str(verdict)}
