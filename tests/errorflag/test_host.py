"""The semantics of a channel, on the host executor's channel, which every machine has."""

import pickle
import queue
import sys
import threading
import time

import numpy as np
import pytest

import errorflag
from errorflag import NO_ERROR, Channel, DeviceValueError
from primitives import op, synchronize, transform


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
    x = np.ones(n)
    if bad is not None:
        x[bad] = -1
    return np.full(n, -7.0), x


@op
def infallible(i, out, x):
    out[i] = x[i]


def test_a_check_waits_only_for_launches_that_can_fail():
    transform(infallible, 10, *arrays())
    errorflag.check()
    assert errorflag.pending_calls() == 1
    transform(check, 10, *arrays())
    transform(infallible, 10, *arrays())
    errorflag.check()
    assert errorflag.pending_calls() == 0
    transform(check, 10, *arrays(bad=7))
    transform(infallible, 10, *arrays())
    with pytest.raises(DeviceValueError, match="negative") as caught:
        errorflag.check()
    assert caught.value.index == 7
    errorflag.check()


def test_word_layout():
    channel = Channel()
    base = channel.open(errorflag.Call("f"), ("a", "b"), 10)
    assert base & 0xFFFF_FFFF_FFFF == 0
    with pytest.raises(DeviceValueError) as caught:
        channel.word[0] = base | (5 << 8) | 1
        channel.synchronize()
    assert (caught.value.kernel, caught.value.message, caught.value.index) == ("f", "b", 5)


def test_of_threads_that_wait_at_once_one_raises():
    class Slow(Channel):
        """Others come to the lock between the look at the word and its reset."""

        def _look(self):
            word = super()._look()
            time.sleep(0.05)
            return word

    channel = Slow()
    base = channel.open(errorflag.Call("f"), ("a",), 10)
    channel.word[0] = base | (5 << 8)
    raised = []

    def wait():
        try:
            channel.synchronize()
        except Exception as error:
            raised.append(error)

    threads = [threading.Thread(target=wait) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [type(error) for error in raised] == [DeviceValueError]


def test_the_third_of_five_calls_is_reported_and_the_others_leave_their_outputs():
    outs = []
    for number in range(5):
        out, x = arrays(bad=4 if number == 2 else None)
        transform(check, 10, out, x)
        outs.append(out)
    with pytest.raises(DeviceValueError) as caught:
        synchronize()
    assert (caught.value.invocation, caught.value.index) == (2, 4)
    assert outs[0].tolist() == outs[1].tolist() == [1.0] * 10
    assert outs[3].tolist() == outs[4].tolist() == [-7.0] * 10


def test_the_text_is_the_legacy_one_and_the_rest_is_in_notes():
    out, x = arrays(bad=3)
    transform(check, 10, out, x)
    transform(check, 10, *arrays())
    with pytest.raises(ValueError) as caught:
        synchronize()
    assert str(caught.value) == "negative in compiled CUDA code (check)"
    assert caught.value.__notes__ == ["at element 3 of 10, 1 call before the last one"]


def test_an_error_is_raised_once_and_work_goes_on():
    transform(check, 10, *arrays(bad=0))
    with pytest.raises(DeviceValueError):
        synchronize()
    synchronize()
    out, x = arrays()
    transform(check, 10, out, x)
    synchronize()
    assert out.tolist() == [1.0] * 10


def test_launches_of_one_call_share_its_name_and_place():
    transform(check, 10, *arrays())
    with errorflag.call("whole operation"):
        transform(check, 10, *arrays())
        with errorflag.call("inner name is not used"):
            transform(check, 10, *arrays(bad=2))
    with pytest.raises(DeviceValueError) as caught:
        synchronize()
    assert caught.value.kernel == "whole operation"
    assert caught.value.invocation == 1


def test_a_call_can_decorate_its_error():
    with errorflag.call("decorated", lambda error: error.__notes__.append("more")):
        transform(check, 10, *arrays(bad=2))
    with pytest.raises(DeviceValueError) as caught:
        synchronize()
    assert caught.value.__notes__[-1] == "more"


def test_eager_raises_at_the_call():
    with errorflag.eager():
        transform(check, 10, *arrays())
        with pytest.raises(DeviceValueError):
            transform(check, 10, *arrays(bad=2))
        assert errorflag.is_eager()
    assert not errorflag.is_eager()


def test_pending_list_is_bounded_without_synchronizing():
    synchronize()
    out, x = arrays()
    for _ in range(20_000):
        transform(check, 10, out, x)
        assert errorflag.pending_calls() <= 2048
    transform(check, 10, *arrays(bad=1))
    with pytest.raises(DeviceValueError) as caught:
        synchronize()
    assert caught.value.invocation == 20_000
    assert errorflag.pending_calls() == 0


def test_numbers_wrap_around_without_confusion():
    channel = Channel()
    call = errorflag.Call("f")
    for _ in range(70_000):
        base = channel.open(call, ("e",), 1)
    channel.word[0] = base
    with pytest.raises(DeviceValueError):
        channel.synchronize()
    assert int(channel.word[0]) == NO_ERROR


def test_threads_have_their_own_channels():
    caught = {}

    def work(number):
        for repetition in range(50):
            transform(check, 10, *arrays(bad=number if repetition == 49 else None))
        try:
            synchronize()
        except DeviceValueError as error:
            caught[number] = (error.index, error.invocation)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert caught == {number: (number, 49) for number in range(8)}
    synchronize()


def test_read_of_host_arrays_raises_too():
    out, x = arrays(bad=1)
    transform(check, 10, out, x)
    with pytest.raises(DeviceValueError):
        errorflag.read(out)
    assert errorflag.read(x)[0] is x


def test_the_exception_survives_pickling():
    error = DeviceValueError("kernel", "message", 3, 1)
    error.__notes__ = ["note"]
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.kernel, copy.message, copy.index, copy.invocation) == ("kernel", "message", 3, 1)
    assert copy.__notes__ == ["note"]


def test_header():
    assert (errorflag.header_path() / "errorflag.cuh").read_text() == errorflag.header()
    assert "errorflag_report" in errorflag.header()


def test_a_word_that_no_launch_can_have_written_is_told_once():
    for code, element in ((2, 5), (254, 0)):
        channel = Channel()
        base = channel.open(errorflag.Call("f"), ("a",), 10)
        channel.word[0] = base | (element << 8) | code
        with pytest.raises(DeviceValueError, match=f"^error {code + 1}, for which there is no message") as caught:
            channel.synchronize()
        assert caught.value.index == element
        channel.synchronize()
    channel = Channel()
    channel.word[0] = 5 << 48
    with pytest.raises(RuntimeError, match="belongs to no pending launch"):
        channel.synchronize()
    channel.synchronize()
    assert channel.word[0] == NO_ERROR


def test_what_is_launched_after_an_error_is_counted_and_not_kept():
    channel = Channel()
    base = channel.open(errorflag.Call("f"), ("a",), 10)
    channel.word[0] = base
    for _ in range(5000):
        channel.open(errorflag.Call("g"), (), 10)
    assert len(channel.pending) < 2000
    with pytest.raises(DeviceValueError) as caught:
        channel.synchronize()
    assert caught.value.kernel == "f"
    assert "5000 calls before the last one" in "".join(caught.value.__notes__)
    channel.open(errorflag.Call("h"), ("a",), 10)
    channel.synchronize()
    assert len(channel.pending) == 0


class Launcher:
    """A thread that registers a launch and then makes it, each when it is told to."""

    def __init__(self, channel):
        self.channel = channel
        self.jobs, self.done = queue.Queue(), queue.Queue()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        while (job := self.jobs.get()) is not None:
            job()
            self.done.put(None)

    def do(self, job):
        self.jobs.put(job)
        self.done.get()

    def register(self, name):
        def job():
            self.base = self.channel.open(errorflag.Call(name), ("a",), 10)

        self.do(job)

    def fail(self):
        self.channel.word[0] = self.base | (3 << 8)

    def end(self):
        self.jobs.put(None)
        self.thread.join()


@pytest.mark.parametrize("launches", [1, 1024, 1500, 5000])
def test_what_another_thread_has_only_registered_is_not_forgotten(launches):
    channel = Channel()
    other = Launcher(channel)
    other.register("mine")
    for _ in range(launches):
        channel.open(errorflag.Call("g"), ("b",), 10)
    channel.synchronize()
    assert channel.is_uncertain()
    assert len(channel.pending) == 1
    other.fail()
    with pytest.raises(DeviceValueError) as caught:
        channel.synchronize()
    assert caught.value.kernel == "mine"
    other.register("another")  # so the one before has been made
    other.do(channel.synchronize)
    assert len(channel.pending) == 0
    other.end()


def test_what_ended_threads_have_registered_is_forgotten():
    channel = Channel()
    other = Launcher(channel)
    other.register("mine")
    channel.synchronize()
    assert len(channel.pending) == 1
    other.end()
    channel.synchronize()
    assert len(channel.pending) == 0


def test_what_idle_threads_have_registered_is_forgotten_at_last():
    channel = Channel()
    other = Launcher(channel)
    other.register("mine")
    for _ in range(20):
        for _ in range(1000):
            channel.open(errorflag.Call("g"), ("b",), 10)
        channel.synchronize()
    assert len(channel.pending) == 0
    other.end()


def test_threads_that_wait_while_others_launch():
    channel = Channel()
    end = time.monotonic() + 1
    interval = sys.getswitchinterval()

    def launch():
        while time.monotonic() < end:
            base = channel.open(errorflag.Call("mine"), ("a",), 10)
            if channel.word[0] == NO_ERROR:
                channel.word[0] = base | (3 << 8)

    sys.setswitchinterval(1e-6)
    try:
        thread = threading.Thread(target=launch)
        thread.start()
        kernels = []
        while thread.is_alive():
            try:
                channel.synchronize()
            except DeviceValueError as error:
                kernels.append(error.kernel)
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert kernels and set(kernels) == {"mine"}
