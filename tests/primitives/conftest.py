"""Both executors, by the module whose arrays go in."""

from __future__ import annotations

import numpy as np
import pytest

import errorflag


@pytest.fixture(params=["host", pytest.param("device", marks=pytest.mark.gpu)])
def xp(request):
    """NumPy for the host executor, CuPy for the device executor; leaves no error behind."""
    if request.param == "host":
        module = np
    else:
        import cupy

        module = cupy
    yield module
    try:
        errorflag.synchronize()
    except errorflag.DeviceValueError as error:
        pytest.fail(f"the test left an error behind: {error}")


@pytest.fixture
def to_numpy():
    """An array of either module as NumPy's."""
    return lambda array: array if isinstance(array, np.ndarray) else array.get()
