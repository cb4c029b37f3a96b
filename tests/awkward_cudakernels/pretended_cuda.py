"""A pytest plugin: the CUDA backend is registered, over a pretended CuPy, while tests run.

What it does to awkward's arrays on the CPU must be nothing: awkward's own tests pass with
``PYTHONPATH=tests/awkward_cudakernels python -m pytest -p pretended_cuda PATH/TO/awkward/tests``.
"""

import pretended_cupy

import awkward_cudakernels

_instead = pretended_cupy.instead()
_instead.__enter__()
awkward_cudakernels.register("cuda")
