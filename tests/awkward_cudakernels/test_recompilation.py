"""Nothing is compiled because a length or a value has changed.

Reductions of lists that are short on average and of longer ones are two kernels; the lengths here do not
cross that line, which a program does once.
"""

import awkward as ak
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


BY_A_NUMBER = {
    "a * k": lambda a, k: a * (k + 0.5),
    "k - a": lambda a, k: k - a,
    "a > k": lambda a, k: a > k,
    "a[a > k]": lambda a, k: a[a > k],
    "a[:, :k]": lambda a, k: a[:, :k],
    "a[:, k:]": lambda a, k: a[:, k:],
    "a[:, -k:]": lambda a, k: a[:, -k - 1 :],
    "a[:, ::k]": lambda a, k: a[:, :: k + 2],
    "a[k:]": lambda a, k: ak.sum(a[k:], axis=1),
    "a[num > k][:, k]": lambda a, k: a[ak.num(a) > k % 3][:, k % 3],
    "ak.pad_none": lambda a, k: ak.pad_none(a, k),
    "ak.pad_none clip": lambda a, k: ak.pad_none(a, k, clip=True),
    "ak.fill_none": lambda a, k: ak.fill_none(ak.pad_none(a, 3), k + 0.25),
    "ak.where": lambda a, k: ak.where(a > k, a, k + 0.5),
    "ak.full_like": lambda a, k: ak.full_like(a, k),
    "ak.unflatten": lambda a, k: ak.unflatten(ak.flatten(a)[: 12 * k], 12),
    "ak.var": lambda a, k: ak.var(a, axis=1, ddof=k),
    "ak.max initial": lambda a, k: ak.max(a, axis=1, initial=k),
    "ak.isclose": lambda a, k: ak.isclose(a, k + 0.5),
    "ak.nan_to_num": lambda a, k: ak.nan_to_num(a, nan=k + 0.5),
    "ak.local_index": lambda a, k: ak.local_index(a) == k,
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("operation", BY_A_NUMBER)
def test_nothing_is_compiled_for_another_number(operation, backend, samples, monkeypatch):
    array = ak.to_backend(samples[5].get("a"), backend)
    compiled = []

    def compile(build, place):
        compiled.append(build.template.name)
        return original(build, place)

    original = _run._compile
    awkward_cudakernels.register(backend)
    try:
        BY_A_NUMBER[operation](array, 1)
        monkeypatch.setattr(_run, "_compile", compile)
        for number in range(2, 22):
            BY_A_NUMBER[operation](array, number)
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
