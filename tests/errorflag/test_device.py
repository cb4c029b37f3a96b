"""What only a device can show: determinism, streams, lateness, and that the host never waits."""

import itertools
import threading
import time

import numpy as np
import pytest

import errorflag
from errorflag import DeviceValueError, _channel
from primitives import (
    exclusive_scan,
    inclusive_scan,
    offsets_from,
    op,
    order_of,
    reduce,
    run_boundaries,
    searchsorted,
    segment_ids,
    segmented_argsort,
    segmented_reduce,
    segmented_sort,
    select,
    synchronize,
    transform,
)

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def drained():
    """No call of an earlier test is pending."""
    synchronize()


@op(errors=("negative", "zero"))
def check(i, out, x):
    if x[i] < 0:
        return 1
    if x[i] == 0:
        return 2
    out[i] = x[i]


def arrays(bad=None, n=10):
    import cupy

    x = np.ones(n)
    if bad is not None:
        x[bad] = -1
    return cupy.full(n, -7.0), cupy.asarray(x)


@op
def infallible(i, out, x):
    out[i] = x[i]


def test_a_check_waits_only_for_launches_that_can_fail(monkeypatch):
    waited = []
    wait = _channel.DeviceChannel.synchronize
    monkeypatch.setattr(_channel.DeviceChannel, "synchronize", lambda self: (waited.append(self), wait(self)))
    transform(infallible, 10, *arrays())
    errorflag.check()
    assert waited == []
    transform(check, 10, *arrays())
    transform(infallible, 10, *arrays())
    errorflag.check()
    errorflag.check()
    assert len(waited) == 1
    transform(check, 10, *arrays(bad=7))
    transform(infallible, 10, *arrays())
    with pytest.raises(DeviceValueError, match="negative") as caught:
        errorflag.check()
    assert caught.value.index == 7


def test_the_lower_of_two_errors_in_1000_runs():
    import cupy

    n = 300_000
    host = np.ones(n)
    host[[299_999, 70_001]] = 0, -1
    x, out = cupy.asarray(host), cupy.empty(n)
    for _ in range(1000):
        transform(check, n, out, x)
        with pytest.raises(DeviceValueError) as caught:
            synchronize()
        assert (caught.value.index, caught.value.message) == (70_001, "negative")


def test_the_third_of_five_calls_is_reported_and_the_others_leave_their_outputs():
    outs = []
    for number in range(5):
        out, x = arrays(bad=4 if number == 2 else None)
        transform(check, 10, out, x)
        outs.append(out)
    with pytest.raises(DeviceValueError) as caught:
        synchronize()
    assert (caught.value.invocation, caught.value.index) == (2, 4)
    assert outs[0].get().tolist() == outs[1].get().tolist() == [1.0] * 10
    assert outs[3].get().tolist() == outs[4].get().tolist() == [-7.0] * 10


def test_nothing_of_any_primitive_runs_after_an_error():
    import cupy

    inputs = cupy.arange(5000)
    offsets = cupy.arange(0, 5001, 5)
    outs = [cupy.full(5001, -7) for _ in range(6)]
    transform(check, 10, *arrays(bad=0))
    inclusive_scan(inputs, outs[0])
    offsets_from((_one, inputs), 5000, outs[1])
    select((_one, inputs), 5000, outs[2])
    run_boundaries(inputs, outs[3])
    segment_ids(offsets, outs[4])
    searchsorted(inputs, inputs, outs[5])
    with pytest.raises(DeviceValueError):
        synchronize()
    for out in outs:
        assert out.get().tolist() == [-7] * 5001
    inclusive_scan(inputs, outs[0])
    assert np.array_equal(outs[0].get()[:5000], np.cumsum(np.arange(5000)))


@op
def _one(i, count, x):
    count[0] = 1


def test_a_thread_may_begin_with_a_launch():
    import cupy

    out, x = arrays()
    transform(check, 10, out, x)
    out[:] = -1
    cupy.cuda.get_current_stream().synchronize()
    failures = []

    def work():
        try:
            transform(check, 10, out, x)
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not failures
    assert out.get().tolist() == x.get().tolist()


def test_two_streams_raise_separately():
    import cupy

    first, second = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    (out1, x1), (out2, x2) = arrays(bad=1), arrays(bad=2)
    cupy.cuda.Device().synchronize()
    with first:
        transform(check, 10, out1, x1)
    with second:
        transform(check, 10, out2, x2)
    synchronize()
    for stream, index in ((second, 2), (first, 1)):
        with pytest.raises(DeviceValueError) as caught:
            synchronize(stream)
        assert caught.value.index == index
    synchronize(first)
    synchronize(second)


def test_200_000_calls_keep_the_list_bounded_and_never_block():
    out, x = arrays()
    most = 0
    for _ in range(200_000):
        transform(check, 10, out, x)
        most = max(most, errorflag.pending_calls())
    assert most < 65_536
    out, x = arrays(bad=3)
    transform(check, 10, out, x)
    with pytest.raises(DeviceValueError) as caught:
        synchronize()
    assert caught.value.index == 3
    assert caught.value.invocation == 200_000
    assert errorflag.pending_calls() == 0


def test_an_error_long_ago_is_still_the_one_that_is_reported():
    transform(check, 10, *arrays(bad=7))
    out, x = arrays()
    for _ in range(150_000):
        transform(check, 10, out, x)
    assert errorflag.pending_calls() < 65_536
    with pytest.raises(DeviceValueError) as caught:
        synchronize()
    assert (caught.value.index, caught.value.invocation) == (7, 0)
    assert out.get().tolist() == [-7.0] * 10
    transform(check, 10, out, x)
    synchronize()
    assert out.get().tolist() == [1.0] * 10


def test_eight_threads_on_eight_streams():
    import cupy

    caught = {}

    def work(number):
        with cupy.cuda.Stream(non_blocking=True) as stream:
            out, x = arrays()
            for _ in range(3000):
                transform(check, 10, out, x)
            transform(check, 10, *arrays(bad=number))
            try:
                synchronize(stream)
            except DeviceValueError as error:
                caught[number] = (error.index, error.invocation)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert caught == {number: (number, 3000) for number in range(8)}


def test_eight_threads_on_one_stream():
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    out, x = arrays(n=1000)
    cupy.cuda.Device().synchronize()

    def work():
        with stream:
            for _ in range(2000):
                transform(check, 1000, out, x)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    synchronize(stream)
    with stream:
        transform(check, 10, *arrays(bad=5))
    with pytest.raises(DeviceValueError) as caught:
        synchronize(stream)
    assert caught.value.index == 5


def test_eager():
    with errorflag.eager(), pytest.raises(DeviceValueError):
        transform(check, 10, *arrays(bad=2))


def test_read_brings_values_and_the_error_in_one_wait():
    import cupy

    a, b = cupy.arange(5, dtype=np.int8), cupy.arange(3.0)
    got = errorflag.read(a, b, cupy.zeros(0))
    assert got[0].tolist() == [0, 1, 2, 3, 4] and got[0].dtype == np.int8
    assert got[1].tolist() == [0, 1, 2] and got[2].shape == (0,)
    big = cupy.arange(100_000)
    assert np.array_equal(errorflag.read(big)[0], np.arange(100_000))
    transform(check, 10, *arrays(bad=2))
    with pytest.raises(DeviceValueError):
        errorflag.read(a)
    assert errorflag.read(b)[0].tolist() == [0, 1, 2]


class Counted:
    """CUDA's runtime, with the bytes of every copy noted."""

    def __init__(self, runtime):
        self.runtime = runtime
        self.copies = []

    def __getattr__(self, name):
        return getattr(self.runtime, name)

    def memcpyAsync(self, to, source, size, kind, stream):
        self.copies.append(size)
        self.runtime.memcpyAsync(to, source, size, kind, stream)


def test_a_wait_copies_nothing_and_a_length_is_one_copy(monkeypatch):
    import cupy

    x = cupy.arange(3)
    channel = errorflag.channel(x.device.id, cupy.cuda.get_current_stream().ptr)
    counted = Counted(channel._runtime)
    monkeypatch.setattr(channel, "_runtime", counted)
    monkeypatch.setattr(channel, "_numbers", itertools.count(1))  # every 1,024th launch looks by itself
    transform(check, 10, *arrays())
    synchronize()
    assert counted.copies == []
    assert errorflag.read_items(x, [2]) == [2]
    assert counted.copies == [8]
    transform(check, 10, *arrays(bad=2))
    with pytest.raises(DeviceValueError, match="negative"):
        errorflag.read_items(x, [0, 1])
    assert counted.copies == [8, 8, 8, 8]  # two numbers, then the word, which a kernel has lowered
    synchronize()
    assert counted.copies == [8, 8, 8, 8]


def test_a_host_that_is_told_of_nothing_looks_once():
    """A graph that is replayed while the word is reset can tell of an error that is gone."""
    import cupy

    channel = errorflag.channel(0, cupy.cuda.get_current_stream().ptr)
    channel._told[0] = 1
    synchronize()
    assert channel._told[0] == 0


SPIN = r"""
extern "C" __global__ void spin(volatile int* flag, long long limit) {
  long long start = clock64();
  while (!*flag && clock64() - start < limit) {}
}
"""


@pytest.mark.parametrize("pending_error", [False, True])
def test_no_primitive_waits_for_the_device(pending_error):
    """Each is called while the stream is held by a kernel that ends only when the host says so."""
    import cupy

    n = 200_000
    x, out = cupy.arange(n), cupy.zeros(n + 1, np.int64)
    offsets, values = cupy.arange(0, n + 1, 4), cupy.ones(n)
    whole, sorted_values = cupy.asarray([0, n]), cupy.zeros(n)
    total = cupy.zeros(1, np.int64)
    sums = cupy.zeros(len(offsets) - 1)
    good_out, good_x = arrays(n=n)
    calls = {
        "transform": lambda: transform(check, n, good_out, good_x),
        "inclusive_scan": lambda: inclusive_scan(x, out),
        "exclusive_scan": lambda: exclusive_scan(x, out),
        "reduce": lambda: reduce(n, (_one, x), total),
        "segmented_argsort": lambda: segmented_argsort(offsets, out, order_of(values), elements=n),
        "segmented_argsort by radix": lambda: segmented_argsort(whole, out, order_of(values), elements=n),
        "segmented_sort": lambda: segmented_sort(offsets, values, sorted_values),
        "offsets_from": lambda: offsets_from((_one, x), n, out),
        "select": lambda: select((_one, x), n, out, total=total),
        "run_boundaries": lambda: run_boundaries(x, out, total=total),
        "segment_ids": lambda: segment_ids(offsets, out),
        "searchsorted": lambda: searchsorted(x, x, out),
        "segmented_reduce": lambda: segmented_reduce(
            offsets,
            n,
            dtype="float64",
            start=(_start,),
            step=(_step, values),
            merge=(_merge,),
            finish=(_finish, sums),
        ),
    }
    for call in calls.values():
        call()
    synchronize()
    spin = cupy.RawKernel(SPIN, "spin")
    flag = np.frombuffer(cupy.cuda.alloc_pinned_memory(4), np.int32, 1)
    pointer = np.uint64(flag.ctypes.data)
    flag[0] = 1
    spin((1,), (1,), (pointer, np.int64(1)))
    bad = arrays(bad=1)
    stream = cupy.cuda.get_current_stream()
    stream.synchronize()
    for name, call in calls.items():
        if pending_error:
            transform(check, 10, *bad)
        flag[0] = 0
        spin((1,), (1,), (pointer, np.int64(20_000_000_000)))
        started = time.perf_counter()
        call()
        took = time.perf_counter() - started
        held = not stream.done
        flag[0] = 1
        assert held, f"{name} returned only after the stream was free ({took:.3f} s)"
        if pending_error:
            with pytest.raises(DeviceValueError):
                synchronize()
        else:
            synchronize()


@op
def _start(acc, segment):
    acc[0] = 0.0


@op
def _step(acc, segment, position, x):
    acc[0] += x[position]


@op
def _merge(acc, other, segment):
    acc[0] += other[0]


@op
def _finish(acc, segment, out):
    out[segment] = acc[0]


def test_a_raw_kernel_reports_through_the_header():
    import cupy

    source = (
        errorflag.header().replace("#pragma once", "")
        + r"""
extern "C" __global__ void root(unsigned long long* word, unsigned long long base, const double* x,
                                double* out, int n) {
  if (errorflag_skip(word, base)) return;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (x[i] < 0) errorflag_report(word, base, i, 0);
  else out[i] = sqrt(x[i]);
}
"""
    )
    kernel = cupy.RawKernel(source, "root")
    x, out = cupy.asarray([4.0, 9.0, -1.0, -2.0]), cupy.zeros(4)
    channel = errorflag.channel(x.device.id, cupy.cuda.get_current_stream().ptr)
    base = channel.open(errorflag.Call("root"), ("negative radicand",), 4)
    kernel((1,), (32,), (np.uint64(channel.word_pointer), np.int64(base), x, out, np.int32(4)))
    with pytest.raises(DeviceValueError) as caught:
        synchronize()
    assert (caught.value.message, caught.value.index) == ("negative radicand", 2)
    assert out.get().tolist() == [2, 3, 0, 0]


def test_a_graph_replays_and_its_errors_are_told_every_time():
    import cupy

    n = 5000
    with cupy.cuda.Stream(non_blocking=True) as stream:
        x, out = cupy.ones(n), cupy.zeros(n)
        counts, offsets = cupy.ones(n, np.int64), cupy.zeros(n + 1, np.int64)
        order = cupy.zeros(n, np.int64)

        def pipeline():
            transform(check, n, out, x)
            offsets_from((_count, counts), n, offsets)
            segmented_argsort(offsets, order, order_of(x))

        pipeline()
        synchronize()
        stream.begin_capture()
        with errorflag.graph():
            pipeline()
        graph = stream.end_capture()
        for repetition in range(3):
            counts.fill(repetition + 2)
            graph.launch(stream)
            synchronize()
            assert int(offsets[-1]) == n * (repetition + 2)
        counts.fill(1)
        for bad in (4000, 7):
            x[bad] = -1
            out.fill(-7)
            for _ in range(70_000 if bad == 7 else 1):  # other launches come and go
                transform(_count_op, 1, counts)
            graph.launch(stream)
            with pytest.raises(DeviceValueError) as caught:
                synchronize()
            assert (caught.value.kernel, caught.value.index) == ("check", bad)
            x[bad] = 1
            graph.launch(stream)
            synchronize()
            assert bool((out == 1).all())


@op
def _count(i, count, x):
    count[0] = x[i]


@op
def _count_op(i, counts):
    counts[i] = 1


def test_drain_takes_the_errors_of_all_streams_and_of_those_that_are_gone():
    import cupy

    kept = cupy.cuda.Stream(non_blocking=True)
    for stream, bad in ((kept, 2), (cupy.cuda.Stream(non_blocking=True), 5)):
        with stream:
            transform(check, 10, *arrays(bad=bad))
        stream.synchronize()
    del stream
    transform(check, 10, *arrays(bad=8))
    assert sorted(error.index for error in errorflag.drain()) == [2, 5, 8]
    assert errorflag.drain() == []
    with kept:
        out, x = arrays()
        transform(check, 10, out, x)
        synchronize()
        assert out.get().tolist() == [1.0] * 10


@pytest.mark.gpus(2)
def test_two_devices():
    import cupy

    with cupy.cuda.Device(1):
        bad, good = arrays(bad=6), arrays()
    transform(check, 10, *bad)  # runs where its arrays are, whatever the current device is
    transform(check, 10, *arrays(bad=3))
    with pytest.raises(DeviceValueError) as caught:
        synchronize()
    assert caught.value.index == 3
    with cupy.cuda.Device(1):
        with pytest.raises(DeviceValueError) as caught:
            synchronize()
        assert caught.value.index == 6
    with pytest.raises(TypeError, match="all arrays of a call must be in one place"):
        transform(check, 10, arrays()[0], good[1])


def test_a_graph_in_a_graph_keeps_the_numbers_of_the_outer_one():
    import cupy

    channel = errorflag.channel(0, cupy.cuda.get_current_stream().ptr)
    before = len(channel._graph_records)
    with errorflag.graph() as outer:
        with errorflag.graph() as inner:
            transform(infallible, 10, *arrays())
        transform(infallible, 10, *arrays())
        assert len(channel._graph_records) == before + 2
    transform(infallible, 10, *arrays())
    assert len(channel._graph_records) == before + 2
    synchronize()
    inner.release()
    outer.release()
    assert len(channel._graph_records) == before


def test_launches_of_graphs_are_released():
    import cupy

    n = 100
    with cupy.cuda.Stream(non_blocking=True) as stream:
        channel = errorflag.channel(0, stream.ptr)
        x, out = cupy.ones(n), cupy.zeros(n)
        transform(check, n, out, x)
        synchronize()
        for repetition in range(50):
            stream.begin_capture()
            with errorflag.graph() as launches:
                for _ in range(100):
                    transform(check, n, out, x)
            graph = stream.end_capture()
            assert channel.is_uncertain()
            x[7] = -1 if repetition == 49 else 1
            graph.launch(stream)
            if repetition < 49:
                synchronize()
                launches.release()
                assert not channel.is_uncertain()
        with pytest.raises(DeviceValueError) as caught:
            synchronize()
        assert (caught.value.kernel, caught.value.index, caught.value.invocation) == ("check", 7, 0)
        launches.release()
        launches.release()  # of nothing


def test_graphs_hold_so_many_launches():
    import cupy

    with cupy.cuda.Stream(non_blocking=True) as stream:
        channel = errorflag.channel(0, stream.ptr)
        with errorflag.graph() as launches:
            for _ in range(4095 - len(channel._graph_records)):
                channel.open(errorflag.Call("f"), (), 1)
            with pytest.raises(RuntimeError, match=r"4095 launches in all; release"):
                channel.open(errorflag.Call("f"), (), 1)
        launches.release()
        assert not channel._graph_records


def test_memory_of_scans_stays_for_threads_that_are_about_to_launch():
    import cupy

    with cupy.cuda.Stream(non_blocking=True) as stream:
        channel = errorflag.channel(0, stream.ptr)
        channel.scratch.clear()  # of an earlier stream at this address
        inclusive_scan(cupy.ones(10, np.int8), cupy.zeros(10, np.int64))
        ((key, small),) = channel.scratch.items()
        n = 10_000_000
        out = cupy.zeros(n, np.int64)
        inclusive_scan(cupy.ones(n, np.int8), out)
        assert channel.scratch[key][0] > small[0]
        assert channel.scratch[key][2] is small
        assert int(out[-1]) == n
        synchronize()


def test_threads_that_wait_while_others_launch_and_fail():
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    good, bad = arrays(n=1000), arrays(n=1000, bad=7)
    cupy.cuda.Device().synchronize()
    caught = []

    def work(number):
        with stream:
            for turn in range(500):
                transform(check, 1000, *(bad if (turn + number) % 5 == 0 else good))
                if turn % 3 == 0:
                    try:
                        synchronize()
                    except Exception as error:
                        caught.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        synchronize(stream)  # what was launched last
    except DeviceValueError as error:
        caught.append(error)
    assert caught
    assert {type(error) for error in caught} == {DeviceValueError}  # never one that belongs to no launch
    assert {(error.kernel, error.index) for error in caught} == {("check", 7)}
    assert errorflag.pending_calls() == 0
