import sys
from pathlib import Path

import pytest

# The harness and its generators are modules of this folder.
sys.path.insert(0, str(Path(__file__).parent))


def _has_device() -> bool:
    try:
        import cupy

        return cupy.cuda.runtime.getDeviceCount() > 0
    except Exception:
        return False


def pytest_collection_modifyitems(items):
    marked = [x for x in items if x.get_closest_marker("gpu") is not None]
    if marked and not _has_device():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="no CuPy with a CUDA device"))
