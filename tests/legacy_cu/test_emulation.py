"""Every specialization of the raw kernels against awkward's compiled CPU kernel, with no GPU."""

import emulation
import harness
import numpy as np
import pytest
from raw import OLDER, SPECIALIZATIONS, types_of

import legacy_cu
import primitives

pytestmark = pytest.mark.skipif(emulation.COMPILER is None, reason="needs a C++ compiler")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("emulated")


def problems(case, launcher, family):
    """One line for each difference from the compiled kernel."""
    arguments = case.make(harness.POISONS[case.number % 2], "host")
    family.function(launcher, *arguments)
    error = launcher.error()
    lines = harness._untouched(arguments)
    lines += harness._compare_errors(case.expected.error, error, "device")
    if error is None and case.expected.error is None:
        lines += harness._compare_outputs(case, case.expected, harness._outputs(arguments))
    return [f"{case}: {line}" for line in lines]


@pytest.mark.parametrize("specialization", [pytest.param(x, id=str(x)) for x in SPECIALIZATIONS])
def test_against_the_compiled_kernel(specialization, folder):
    family = legacy_cu.kernels()[specialization.family]
    types = types_of(family, specialization)
    cases = harness.cases(specialization)
    assert cases
    lines = []
    for case in cases:
        for descending in (False, True):
            launcher = emulation.Launcher(family, types, folder, descending)
            lines += problems(case, launcher, family)
    assert lines == []


def parents_of(n, outlength, seed):
    """Sorted numbers below `outlength`, some of which do not occur."""
    rng = np.random.default_rng(seed)
    present = rng.permutation(outlength)[: max(outlength // 2, 1)]
    return np.sort(rng.choice(present, n)).astype(np.int64)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(("n", "outlength"), [(0, 1), (1, 1), (2, 7), (257, 300), (3000, 7)])
def test_older_families(n, outlength, descending, folder):
    parents = parents_of(n, outlength, n + outlength)
    outoffsets, nextstarts = (legacy_cu.kernels()[name] for name in OLDER)

    found = np.full(outlength + 2, -7)
    launcher = emulation.Launcher(outoffsets, {}, folder, descending)
    outoffsets.function(launcher, found, parents, n, outlength)
    counts = np.bincount(parents, minlength=outlength)
    assert found.tolist() == [0, *np.cumsum(counts), -7]

    found = np.full(outlength, -7)
    launcher = emulation.Launcher(nextstarts, {}, folder, descending)
    nextstarts.function(launcher, found, parents, n)
    expected = np.full(outlength, -7)
    present, first = np.unique(parents, return_index=True)
    expected[present] = first
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_an_index_in_memory(dtype, folder):
    """awkward's slices pass an array without dimensions, whose value stays on the device."""
    family = legacy_cu.kernels()["awkward_ListArray_getitem_next_at"]
    starts, stops, out = np.array([0, 5]), np.array([3, 9]), np.zeros(2, np.int64)
    launcher = emulation.Launcher(family, {"C": "q"}, folder, False)
    family.function(launcher, out, starts, stops, 2, np.array(-1, dtype))
    assert out.tolist() == [2, 8]
    assert launcher.error() is None
    family.function(launcher, out, starts, stops, 2, primitives.scalar_of(np.array(3, dtype)))
    assert launcher.error() == ("index out of range", 0, None)
