"""What all tests share: skipping those that this machine cannot run, and saying why."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for marker, why_not in (("gpu", _why_no_gpu), ("compile", _why_no_compilers)):
        marked = [item for item in items if item.get_closest_marker(marker)]
        # CuPy takes a second to import: not for a run without such tests.
        reason = why_not() if marked else None
        if reason is not None:
            for item in marked:
                item.add_marker(pytest.mark.skip(reason=reason))


def _why_no_gpu() -> str | None:
    try:
        import cupy
    except ImportError:
        return "needs a GPU, and CuPy is not installed"
    try:
        return None if cupy.cuda.runtime.getDeviceCount() else "needs a GPU, and CuPy sees none"
    except cupy.cuda.runtime.CUDARuntimeError as err:
        return f"needs a GPU, and CuPy sees none ({err})"


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
