"""The operations of the benchmark, however they are run: on several streams, in several threads, eagerly, ahead of the
device."""

from __future__ import annotations

import functools
import threading
from contextlib import nullcontext

import pytest
import waits

import awkward_cudakernels
import errorflag
from awkward_cudakernels.bench.operations import BY_NAME, OPERATIONS, difference, on_host
from awkward_cudakernels.bench.sample import Sample

pytestmark = pytest.mark.gpu

LISTS = 2000
THREADS = 6


@functools.cache
def on_cpu():
    return Sample(LISTS)


@functools.cache
def expected(name):
    operation = BY_NAME[name]
    return on_host(operation.function(*(on_cpu().get(each) for each in operation.inputs)))


@pytest.fixture(scope="module")
def sample():
    """Arrays on the device, that are there before anything else is launched."""
    import cupy

    awkward_cudakernels.register()
    sample = Sample(LISTS, "cuda")
    for operation in OPERATIONS:
        for name in operation.inputs:
            sample.get(name)
        expected(operation.name)
    cupy.cuda.Device().synchronize()
    yield sample
    awkward_cudakernels.unregister()


def call(sample, name):
    operation = BY_NAME[name]
    return operation.function(*(sample.get(each) for each in operation.inputs))


@pytest.mark.parametrize("mode", ["default stream", "stream", "eager"])
@pytest.mark.parametrize("name", BY_NAME)
def test_alone(sample, name, mode):
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True) if mode == "stream" else nullcontext()
    with stream, errorflag.eager() if mode == "eager" else nullcontext():
        assert difference(on_host(call(sample, name)), expected(name)) is None


@pytest.mark.parametrize("streams", [1, THREADS])
def test_in_several_threads(sample, streams):
    """All operations in every thread, each in an order of its own; and now and then one that fails."""
    import cupy

    available = [cupy.cuda.Stream(non_blocking=True) for _ in range(streams)]
    names = list(BY_NAME)
    problems = []

    def work(number):
        try:
            with available[number % streams]:
                for name in names[7 * number :] + names[: 7 * number]:
                    found = difference(on_host(call(sample, name)), expected(name))
                    if found is not None:
                        problems.append(f"{name}: {found}")
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_errors_of_several_threads_on_streams_of_their_own(sample):
    import awkward as ak
    import cupy

    bad = ak.to_backend(ak.Array([[1, 2, 3], [], [4]]), "cuda")
    cupy.cuda.Device().synchronize()
    caught = []

    def work():
        with cupy.cuda.Stream(non_blocking=True):
            for _ in range(50):
                with pytest.raises(ValueError, match="index out of range in compiled CUDA code") as error:
                    bad[:, 0].to_list()
                caught.append(error.value.index)
                assert ak.num(bad).to_list() == [3, 0, 1]

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert caught == [1] * 50 * THREADS


@pytest.mark.parametrize("name", waits.without())
def test_what_needs_no_length_does_not_wait(sample, name, held_stream):
    for _ in range(2):  # compiles, reads the ends of the arguments, takes memory
        call(sample, name)
    errorflag.synchronize()
    with held_stream():
        call(sample, name)
