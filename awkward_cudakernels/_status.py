"""How much of the installed awkward's kernels is on primitives, measured from the registry."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from . import signatures
from ._registry import registry


def status() -> dict[str, Any]:
    """The state of the migration.

    Returns:
        ``{"awkward", "families": {"total", "primitives", "legacy_cu", "missing"},
        "specializations": {"total", "implemented"}, "missing": [...]}``.
    """
    families = signatures.families()
    functions = registry()
    done = [name for name in families if name in functions]
    missing = sorted(set(families) - set(done))
    return {
        "awkward": version("awkward"),
        "families": {
            "total": len(families),
            "primitives": len(done),
            "legacy_cu": 0,
            "missing": len(missing),
        },
        "specializations": {
            "total": sum(len(f.specializations) for f in families.values()),
            "implemented": sum(len(families[name].specializations) for name in done),
        },
        "missing": missing,
    }
