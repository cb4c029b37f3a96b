"""``bench --against legacy``: kernels on the primitives and raw ones, with the gate's verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from awkward_cudakernels import _dispatch, gate
from awkward_cudakernels.bench.settings import Settings

__all__ = ["rows"]

NUMBERS = (
    "host_us",
    "device_us",
    "first_cold_ms",
    "first_warm_ms",
    "recompilations",
    "synchronizations",
)


def rows(settings: Settings, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """A row for each family and size. The verdict, which is on all sizes of a family, is in each."""
    sizes = tuple(n for n in settings.lists if n <= max(gate.SIZES)) or settings.lists
    families = [name for name in sorted(_dispatch.raw_kernels()) if settings.wants(name)]
    first = gate.first_calls(families, say) if families else {}
    for family in families:
        try:
            found = gate.measure(family, sizes, first, say)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            yield {"row": family, "lists": max(sizes), "error": reason}
            continue
        verdict = gate.verdict(found, sizes)
        for row in found:
            yield as_row(row, verdict)


def as_row(row: gate.Row, verdict: gate.Verdict) -> dict[str, Any]:
    """What the table shows of a family at one size."""
    sides = {"primitives": asdict(row.primitives), "raw": asdict(row.raw)}
    columns = {f"{side}_{name}": sides[side][name] for name in NUMBERS for side in sides}
    return {
        "row": row.family,
        "lists": row.lists,
        **columns,
        "ratio": row.ratio,
        "verdict": str(verdict),
    }
