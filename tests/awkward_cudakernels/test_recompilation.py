"""Nothing is compiled because a length or a value has changed.

Reductions of lists that are short on average and of longer ones are two kernels; the lengths here do not
cross that line, which a program does once.
"""

import numpy as np
import pytest

import awkward_cudakernels
from awkward_cudakernels.bench.operations import OPERATIONS
from awkward_cudakernels.bench.sample import Sample
from primitives import _run

LENGTHS = [int(n) for n in np.geomspace(150, 5000, 21)]

BACKENDS = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.fixture(scope="module")
def samples():
    """Of each length, on the CPU: their values differ too."""
    return [Sample(n) for n in LENGTHS]


def arguments(sample, operation, backend):
    import awkward as ak

    found = [sample.get(name) for name in operation.inputs]
    if backend == "cpu":
        return found
    import cupy

    return [cupy.asarray(x) if isinstance(x, np.ndarray) else ak.to_backend(x, backend) for x in found]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_nothing_is_compiled_after_the_first_call(operation, backend, samples, monkeypatch):
    calls = [arguments(sample, operation, backend) for sample in samples]
    compiled = []

    def compile(build, place):
        compiled.append(build.template.name)
        return original(build, place)

    original = _run._compile
    awkward_cudakernels.register(backend)
    try:
        operation.function(*calls[0])
        monkeypatch.setattr(_run, "_compile", compile)
        for call in calls[1:]:
            operation.function(*call)
        awkward_cudakernels.synchronize_cuda()
    finally:
        awkward_cudakernels.unregister(backend)
    assert compiled == []


def test_a_compilation_would_be_seen(monkeypatch):
    from primitives import op, transform

    compiled = []
    original = _run._compile
    monkeypatch.setattr(
        _run, "_compile", lambda build, place: compiled.append(build.template.name) or original(build, place)
    )

    @op
    def set_to(i, out, value):
        out[i] = value

    for dtype in ("int64", "int64", "float64"):
        transform(set_to, 3, np.empty(3, dtype), 1)
    assert compiled == ["transform", "transform"]
