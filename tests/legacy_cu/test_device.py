"""The raw kernels on a GPU: against awkward's compiled ones, and against those on the primitives."""

import harness
import numpy as np
import pytest
from raw import OLDER, SPECIALIZATIONS

import awkward_cudakernels
import errorflag
import legacy_cu
from awkward_cudakernels import _gate_inputs, gate, kernel_for, legacy, registry

pytestmark = pytest.mark.gpu

PARAMETERS = [pytest.param(x, id=str(x)) for x in SPECIALIZATIONS]


@pytest.fixture(autouse=True)
def drained():
    """No call of an earlier test is pending."""
    errorflag.synchronize()


@pytest.mark.parametrize("specialization", PARAMETERS)
def test_against_the_compiled_kernel(specialization):
    with legacy(specialization.family):
        kernel = kernel_for(specialization.key, "device")
        assert kernel._impl is awkward_cudakernels._dispatch.raw_kernels()[specialization.family]
        assert list(harness.all_problems(specialization, "device")) == []


@pytest.mark.parametrize("specialization", PARAMETERS)
def test_against_the_primitives(specialization):
    """The same error at the same element, or the same elements where the compiled kernel writes any."""
    for case in harness.cases(specialization):
        found = []
        for families in ((), (specialization.family,)):
            arguments = case.make(harness.POISONS[0], "device")
            with legacy(*families):
                kernel = kernel_for(specialization.key, "device")
                error = harness._device_error(kernel, arguments, specialization)
            found.append((error, harness._outputs(arguments)))
        (error, outputs), (raw_error, raw_outputs) = found
        assert raw_error == error, case
        if error is None:
            for label, written in case.expected.written.items():
                assert np.array_equal(raw_outputs[label][written], outputs[label][written]), (case, label)


def parents_of(n, outlength, seed):
    """Sorted numbers below `outlength`, some of which do not occur."""
    rng = np.random.default_rng(seed)
    present = rng.permutation(outlength)[: max(outlength // 2, 1)]
    return np.sort(rng.choice(present, n)).astype(np.int64)


@pytest.mark.parametrize(("n", "outlength"), [(0, 1), (1, 1), (2, 7), (257, 300), (70001, 7), (3000, 9)])
@pytest.mark.parametrize("name", OLDER)
def test_older_families(name, n, outlength):
    import cupy

    parents = cupy.asarray(parents_of(n, outlength, n + outlength))
    found = []
    for kernel in (registry()[name], legacy_cu.kernels()[name]):
        out = cupy.full(outlength + 2, -7)
        kernel(out, parents, n, *((outlength,) if "outoffsets" in name else ()))
        errorflag.synchronize()
        found.append(out.tolist())
    assert found[0] == found[1]


def validity(starts, stops, lencontent):
    import cupy

    arrays = (cupy.asarray(np.array(x, np.int64)) for x in (starts, stops))
    legacy_cu.kernels()["awkward_ListArray_validity"](*arrays, len(starts), lencontent)


def test_an_error_of_a_call_outside_awkward():
    validity([0, 3, 4], [3, 3, 9], 5)
    validity([0], [1], 5)
    with pytest.raises(errorflag.DeviceValueError) as caught:
        errorflag.synchronize()
    error = caught.value
    assert str(error) == "stop[i] > len(content) in compiled CUDA code (awkward_ListArray_validity)"
    assert (error.kernel, error.index, error.invocation) == ("awkward_ListArray_validity", 2, 0)
    errorflag.synchronize()


def test_eager():
    with errorflag.eager(), pytest.raises(errorflag.DeviceValueError):
        validity([1], [0], 5)


def test_nothing_runs_after_an_error():
    import cupy

    out = cupy.full(3, -7)
    validity([1], [0], 5)
    legacy_cu.kernels()["awkward_IndexedArray_fill_count"](out, 0, 3, 0)
    with pytest.raises(errorflag.DeviceValueError):
        errorflag.synchronize()
    assert out.tolist() == [-7, -7, -7]
    legacy_cu.kernels()["awkward_IndexedArray_fill_count"](out, 0, 3, 0)
    assert out.tolist() == [0, 1, 2]


def test_streams_have_errors_of_their_own():
    import cupy

    first, second = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    with first:
        validity([1], [0], 5)
    with second:
        validity([0], [1], 5)
    errorflag.synchronize(second)
    with pytest.raises(errorflag.DeviceValueError):
        errorflag.synchronize(first)


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_an_index_in_memory_is_not_waited_for(dtype):
    import cupy

    family = "awkward_ListArray_getitem_next_at"
    starts, stops = cupy.asarray(np.array([0, 5])), cupy.asarray(np.array([3, 9]))
    out, at = cupy.zeros(2, np.int64), cupy.asarray(np.array(-1, dtype))
    with legacy(family):
        kernel = kernel_for((family, np.int64, np.int64, np.int64), "device")
        assert not gate._waits(lambda: kernel(out, starts, stops, 2, at))
    errorflag.synchronize()
    assert out.tolist() == [2, 8]


def test_another_number_in_memory_is_read():
    import cupy

    family = "awkward_ListArray_getitem_next_range"
    starts, stops = cupy.asarray(np.array([0, 5])), cupy.asarray(np.array([3, 9]))
    offsets, carry, one = cupy.zeros(3, np.int64), cupy.zeros(5, np.int64), cupy.asarray(np.array(1))
    with legacy(family):
        kernel = kernel_for((family, *[np.int64] * 4), "device")
        kernel(offsets, carry, starts, stops, 2, one, 2**63 - 1, 1)
    errorflag.synchronize()
    assert carry.tolist() == [1, 2, 6, 7, 8]


def test_an_array_that_is_not_contiguous():
    import cupy

    out = cupy.zeros(6, np.int64)[::2]
    with pytest.raises(ValueError, match="contiguous"):
        legacy_cu.kernels()["awkward_IndexedArray_fill_count"](out, 0, 3, 0)


@pytest.mark.parametrize("family", legacy_cu.kernels())
def test_nothing_waits(family):
    inputs = _gate_inputs.make(family, 1_000)
    kernel = legacy_cu.kernels()[family]

    def call():
        inputs.restore()
        kernel(*inputs.arguments)

    assert not gate._waits(call)
    errorflag.synchronize()


def test_compiled_code_is_kept_on_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("AWKWARD_CUDAKERNELS_CACHE", str(tmp_path))
    source = awkward_cudakernels._dispatch.raw_kernels()["awkward_IndexedArray_fill_count"].source
    inputs = _gate_inputs.make(source.name, 10)
    fresh = [legacy_cu.Family(source.name, legacy_cu.kernels()[source.name].function, {}) for _ in "12"]
    fresh[0](*inputs.arguments)
    (entry,) = (tmp_path / "legacy_cu").iterdir()
    written = entry.stat().st_mtime_ns
    fresh[1](*inputs.arguments)
    assert [x.stat().st_mtime_ns for x in (tmp_path / "legacy_cu").iterdir()] == [written]


def test_awkward_operations_are_the_same():
    import awkward as ak

    array = ak.Array([[1.5, 2.5, 3.5], [], [4.5], [5.5, 6.5]] * 50)
    picked = ak.Array([[0, -1], [], [0], [1]] * 50)
    operations = (
        lambda x, p: x[ak.num(x) > 0][:, 0],
        lambda x, p: x[:, 1:],
        lambda x, p: x[p],
        lambda x, p: ak.pad_none(x, 2),
        lambda x, p: ak.drop_none(ak.pad_none(x, 2)),
        lambda x, p: ak.argmax(x, axis=1),
        lambda x, p: ak.sum(x, axis=0),
        lambda x, p: ak.to_regular(ak.pad_none(x, 3, clip=True)),
        lambda x, p: ak.concatenate([x, p], axis=1),
    )
    awkward_cudakernels.register("cuda")
    try:
        device = [ak.to_backend(x, "cuda") for x in (array, picked)]
        for number, operation in enumerate(operations):
            with legacy("all"):
                found = ak.to_list(operation(*device))
            assert found == ak.to_list(operation(array, picked)), number
        with legacy("all"), pytest.raises(ValueError, match="index out of range in compiled CUDA code"):
            ak.to_list(device[0][:, 0])
    finally:
        awkward_cudakernels.unregister()
