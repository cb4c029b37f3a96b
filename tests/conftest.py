"""What all tests share: skipping those that this machine cannot run, and saying why."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

# Installed, the plugin is loaded by its entry point, of the same name; this is for a plain checkout.
pytest_plugins = ["errorflag.pytest_plugin", "pytester"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("compile")]
    reason = _why_no_compilers() if marked else None
    if reason is not None:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=reason))


def _why_no_compilers() -> str | None:
    for module in ("numba_cuda", "cuda.core", "cuda.pathfinder"):
        try:
            found = importlib.util.find_spec(module)
        except ImportError:
            found = None
        if found is None:
            return f"needs the CUDA compilers of the extra cu12 or cu13: {module} is not installed"
    return None


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of the sample files."""
    return Path(__file__).parent / "data"
