import contextlib
import importlib
import sys
from pathlib import Path

import pytest

# The harness and its generators are modules of this folder.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(params=["pretended", pytest.param("device", marks=pytest.mark.gpu)])
def cupy(request):
    """CuPy, or without a GPU what pretends to be it, with the backend registered."""
    import pretended_cupy

    import awkward_cudakernels
    import errorflag
    from awkward_cudakernels import environment

    with contextlib.ExitStack() as stack:
        if request.param == "pretended":
            if environment.why_no_cuda() is None:
                pytest.skip("the same runs on the GPU")
            stack.enter_context(pretended_cupy.instead())
        awkward_cudakernels.register()
        stack.callback(awkward_cudakernels.unregister)
        stack.callback(errorflag.synchronize)
        yield importlib.import_module("cupy")
