"""How much of the installed awkward's kernels is on primitives, measured from the registry."""

from __future__ import annotations

from collections import Counter
from importlib.metadata import version
from typing import Any

from . import _dispatch, signatures
from ._registry import registry


def status() -> dict[str, Any]:
    """The state of the migration, as it is now and in this process.

    Returns:
        ``{"awkward": version,
        "families": {"total", "primitives", "legacy_cu", "missing"}``, by the implementation in force,
        ``"specializations": {"total", "implemented"}, "missing": [...],
        "raw": {"available", "in_force"}``, the raw kernels: two of them are of older releases of awkward,
        and not among its families,
        ``"migration": [{"history", "families", "specializations", "primitives", "raw_available",
        "raw_in_force", "missing"}]``, the families by how awkward 2.14 runs them on CUDA,
        ``"implementations": {family: "primitives", "legacy_cu" or "missing"}}``.
    """
    families = signatures.families()
    functions, raw, in_force = registry(), _dispatch.raw_kernels(), _dispatch.in_force()
    implementations = {
        name: "legacy_cu" if name in in_force else "primitives" if name in functions else "missing"
        for name in sorted({*families, *functions, *raw})
    }
    counts = Counter(implementations[name] for name in families)
    missing = sorted(name for name in families if implementations[name] == "missing")
    return {
        "awkward": version("awkward"),
        "families": {
            "total": len(families),
            "primitives": counts["primitives"],
            "legacy_cu": counts["legacy_cu"],
            "missing": len(missing),
        },
        "specializations": {
            "total": sum(len(f.specializations) for f in families.values()),
            "implemented": sum(len(f.specializations) for name, f in families.items() if name not in missing),
        },
        "missing": missing,
        "unlike": sorted(line for lines in signatures.unlike_installed().values() for line in lines),
        "raw": {"available": len(raw), "in_force": len(in_force)},
        "migration": _migration(implementations),
        "implementations": implementations,
    }


def _migration(implementations: dict[str, str]) -> list[dict[str, Any]]:
    """One row for each way in which awkward ran its families on CUDA, and one for older families."""
    raw, families = _dispatch.raw_kernels(), signatures.families()
    rows: dict[str, dict[str, Any]] = {}
    for name, implementation in implementations.items():
        family = families.get(name)
        history = "of older releases" if family is None else family.history
        row = rows.setdefault(
            history,
            {
                "history": history,
                "families": 0,
                "specializations": 0,
                "primitives": 0,
                "raw_available": 0,
                "raw_in_force": 0,
                "missing": 0,
            },
        )
        row["families"] += 1
        row["specializations"] += 1 if family is None else len(family.specializations)
        row["raw_available"] += name in raw
        row[{"legacy_cu": "raw_in_force"}.get(implementation, implementation)] += 1
    return sorted(rows.values(), key=lambda row: (row["history"] == "of older releases", row["history"]))
