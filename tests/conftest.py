"""What all tests share: skipping those that this machine cannot run, and saying why."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

# Installed, the plugin is loaded by its entry point, of the same name; this is for a plain checkout.
pytest_plugins = ["errorflag.pytest_plugin", "pytester"]


@pytest.hookimpl(trylast=True)  # when it is known which tests are left
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _slow_ones_first(items, getattr(config, "workerinput", {}).get("workercount", 1))
    marked = [item for item in items if item.get_closest_marker("compile")]
    reason = _why_no_compilers() if marked else None
    if reason is not None:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=reason))


def _slow_ones_first(items: list[pytest.Item], workers: int) -> None:
    """Puts one slow test at the head of each batch of tests that pytest-xdist gives its workers first."""
    slow = [item for item in items if item.get_closest_marker("slow")]
    others = [item for item in items if not item.get_closest_marker("slow")]
    batch = max(len(items) // (4 * workers), 2)
    items.clear()
    for number in range(0, len(others), batch - 1):
        items.extend(slow[:1])
        del slow[:1]
        items.extend(others[number : number + batch - 1])
    items.extend(slow)


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
