"""Channels: the error word of one stream, and the calls whose outcome is not known yet."""

from __future__ import annotations

import itertools
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ._errors import Call, DeviceValueError, add_note

if TYPE_CHECKING:
    import cupy

NO_ERROR = 0xFFFF_FFFF_FFFF_FFFF
RING = 0xF000
"""Invocation numbers are 16 bits, and those of pending launches must differ: they go round below this."""
GRAPHS = range(RING, 0xFFFF)
"""Invocation numbers of launches in CUDA graphs, which stay theirs."""
CHECK_EVERY = 1024
"""Launches between two looks at whether the pending list can be shortened."""
HIGH_WATER = RING - 2 * CHECK_EVERY
LONG_AGO = 16 * CHECK_EVERY
"""Launches by other threads in which a thread surely makes the one that it has registered."""
SMALL = 4096
SLOTS = SMALL // 16
"""Bytes that are read back through a buffer that stays."""
PER_THREAD_STREAM = 2

Decorate = Callable[[DeviceValueError], object]


class Named(Protocol):
    """What a launch belongs to: a `Call`, or an object with its two attributes."""

    @property
    def name(self) -> str: ...
    @property
    def decorate(self) -> Decorate | None: ...


Record = tuple[int, Named, tuple[str, ...], int, int]
"""A launch: its number, what it belongs to, the messages of its op, its number of elements, its thread."""
Covered = dict[int, int]
"""What a wait covers: for every thread the number below which all its launches had been made when the wait began."""


def _message(errors: tuple[str, ...], word: int) -> str:
    """What the code of a word stands for; an op of the user's can return any."""
    code = word & 0xFF
    return errors[code] if code < len(errors) else f"error {code + 1}, for which there is no message,"


class Channel:
    """The error word of one stream of execution, and its pending launches. Thread-safe.

    The base class keeps the word in host memory, for kernels that run on the host.

    Launches are numbered; the 16 low bits of the number are in the word. `open` takes no lock:
    drawing a number and appending a record are single steps of the interpreter, and a record carries
    its number, so that two threads may append in either order. Between `open` and the launch itself other
    threads may wait for the channel, and must not forget the record then: a thread's last record is
    kept until that thread goes on.

    Example:
        >>> from errorflag import Call, Channel, DeviceValueError
        >>> channel = Channel()
        >>> base = channel.open(Call("my kernel"), ("too small", "too large"), length=10)
        >>> channel.word[0] = base | (7 << 8) | 1  # what a kernel does: element 7, the second message
        >>> channel.synchronize()
        Traceback (most recent call last):
        errorflag.DeviceValueError: too large in compiled CUDA code (my kernel)
        at element 7 of 10
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.word: Any = np.full(1, NO_ERROR, np.uint64)
        self.word_pointer: int = self.word.ctypes.data
        self.attempt = np.zeros(1, np.int64)
        """Host kernels leave here the value that the failed element was looking up."""
        self.attempt_pointer: int = self.attempt.ctypes.data
        self.pending: deque[Record] = deque()
        self._numbers: Iterator[int] = itertools.count(1)
        self._latest: Covered = {}  # the number of each thread's last launch
        self._dropped_calls = 0  # calls since the last drain that are not pending any more
        self._last_dropped: Named | None = None
        self._later_calls = 0  # calls after one that has failed, whose records are not kept

    def open(self, call: Named, errors: tuple[str, ...], length: int) -> int:
        """Registers a launch; returns its `base`, to be given to the kernel.

        Args:
            call: what the launch belongs to; launches of one `Call` are one call.
            errors: the messages that the kernel's codes stand for.
            length: number of elements, for the error's notes.
        """
        number = next(self._numbers)
        if not number % CHECK_EVERY:
            self._shorten(number)
        thread = get_ident()
        self._latest[thread] = number
        self.pending.append((number, call, errors, length, thread))
        return (number % RING) << 48

    def is_uncertain(self) -> bool:
        """Whether a launch may have failed that the host has not seen the end of. One without messages cannot."""
        return any(errors for _, _, errors, _, _ in list(self.pending))

    def _shorten(self, number: int) -> None:
        # Host kernels have finished when their call returns: the word says all there is to know.
        word = int(self.word[0])
        with self.lock:
            if word == NO_ERROR:
                self._drop(self._covered(number))
                return
            last: Named | None = None
            while self.pending and self.pending[-1][0] % RING != word >> 48:
                call = self.pending.pop()[1]
                if call is not last or not isinstance(call, Call):
                    self._later_calls += 1
                last = call

    def _covered(self, until: int) -> Covered:
        """What a wait that begins now covers, given a number that was drawn just now."""
        latest, me = self._latest, get_ident()
        if not latest or (len(latest) == 1 and me in latest):
            return {me: until}
        covered = latest.copy()
        for thread in covered.keys() - sys._current_frames().keys():  # those that have ended
            covered[thread] = latest[thread] = until
        covered = {thread: max(number, until - LONG_AGO) for thread, number in covered.items()}
        covered[me] = until
        return covered

    def _drop(self, covered: Covered) -> None:
        """Forgets launches: they ended without an error."""
        pending, end = self.pending, max(covered.values())
        position = 0
        while position < len(pending) and pending[position][0] < end:
            number, call, _, _, thread = pending[position]
            if number >= covered.get(thread, 0):
                position += 1
                continue
            del pending[position]
            if call is not self._last_dropped or not isinstance(call, Call):
                self._dropped_calls += 1
            self._last_dropped = call

    def _drain(self, covered: Covered) -> None:
        self._drop(covered)
        self._dropped_calls = self._later_calls = 0
        self._last_dropped = None

    def _error(self, word: int) -> tuple[DeviceValueError, Decorate | None]:
        """The error that a word stands for, and what adds its call's notes."""
        index = (word >> 8) & 0xFF_FFFF_FFFF
        calls = self._dropped_calls
        last = self._last_dropped
        found: tuple[int, Record] | None = None
        for record in list(self.pending):
            if record[1] is not last or not isinstance(last, Call):
                calls += 1
            last = record[1]
            if found is None and record[0] % RING == word >> 48:
                found = calls - 1, record
        if found is None:
            raise RuntimeError(f"errorflag: the word {word:#018x} belongs to no pending launch")
        invocation, (_, call, errors, length, _) = found
        exception = DeviceValueError(call.name, _message(errors, word), index, invocation)
        later = calls - 1 - invocation + self._later_calls
        add_note(
            exception,
            f"at element {index} of {length}"
            + (f", {later} {'call' if later == 1 else 'calls'} before the last one" if later else ""),
        )
        return exception, call.decorate

    def settle(self, covered: Covered) -> None:
        """After a wait: forgets the launches that it covered, or raises their error."""
        with self.lock:
            word = self._look()
            if word == NO_ERROR:
                self._drain(covered)
                return
            try:
                exception, decorate = self._error(word)
            finally:  # also if no launch is known that can have failed so: the stream works on
                self._reset()
                self._drain(covered)
        if decorate is not None:
            decorate(exception)  # which may read arrays, so not before the channel works again
        raise exception

    def _look(self) -> int:
        """The word, which the launches that have been waited for may have lowered."""
        return int(self.word[0])

    def _reset(self) -> None:
        self.word[0] = NO_ERROR

    def synchronize(self) -> None:
        """Waits for every launch of the channel; raises the error if one has failed."""
        self.settle(self._covered(next(self._numbers)))


class GraphLaunches:
    """The launches that a graph has captured, whose errors can be told until they are released."""

    def __init__(self, records: dict[int, Record]) -> None:
        self._records = records
        self.numbers: list[int] = []

    def add(self, call: Named, errors: tuple[str, ...], length: int) -> int:
        """Registers a launch; returns its number, above those of all captured launches of the stream."""
        number = max(self._records, default=RING - 1) + 1
        if number not in GRAPHS:
            raise RuntimeError(
                f"errorflag: the graphs of one stream can hold {len(GRAPHS)} launches in all; release those of a "
                "graph that is not launched any more"
            )
        self._records[number] = (number, call, errors, length, get_ident())
        self.numbers.append(number)
        return number

    def release(self) -> None:
        """Forgets them, once the graph will not be launched any more and its last launch has been waited for."""
        while self.numbers:
            del self._records[self.numbers.pop()]


class _Small:
    """A page-locked buffer of one thread, seen as 16-byte slots of any dtype."""

    def __init__(self, memory: Any) -> None:
        self.bytes = np.frombuffer(memory, np.uint8, SMALL)
        self.address: int = self.bytes.ctypes.data
        self.words = self.bytes.view(np.uint64)
        self._views: dict[Any, np.ndarray] = {}

    def view(self, dtype: Any) -> np.ndarray:
        """The first element of every slot."""
        found = self._views.get(dtype)
        if found is None:
            found = self._views[dtype] = self.bytes.view(dtype)[:: 16 // dtype.itemsize]
        return found


class DeviceChannel(Channel):
    """The channel of one CUDA stream."""

    def __init__(self, device: int, stream: int) -> None:
        import cupy

        super().__init__()
        self._runtime = cupy.cuda.runtime
        self._alloc_pinned = cupy.cuda.alloc_pinned_memory
        self.device = device
        self.stream = stream
        self._checkpoint: Covered | None = None  # what the copy under way covers
        self._failed = False
        self._cupy_device = cupy.cuda.Device(device)
        self._several = cupy.cuda.runtime.getDeviceCount() > 1
        with self._cupy_device:
            self.word = cupy.cuda.Memory(
                16
            )  # not from a pool, whose memory another stream may still write to
            self._mirror = np.frombuffer(self._alloc_pinned(8), np.uint64, 1)
            self._event = cupy.cuda.Event(disable_timing=True)
            self.word_pointer = int(self.word.ptr)
            # A kernel that lowers the word sets the first of these, which it finds by the second, behind the word.
            self._told = np.frombuffer(self._alloc_pinned(16), np.uint64, 2)
            address = self._told[1] = self._told.ctypes.data
            self._runtime.memcpyAsync(self.word_pointer + 8, address + 8, 8, 1, stream)
            self._reset()
        self._buffers = threading.local()
        self._graph_records: dict[int, Record] = {}
        self.scratch: dict[Any, Any] = {}
        """Device memory that kernels of this stream share; for whoever launches on it."""

    def open(self, call: Named, errors: tuple[str, ...], length: int) -> int:
        """As `Channel.open`; the base as the signed integer that launch interfaces take."""
        number = next(self._numbers)
        if not number % CHECK_EVERY:
            self._shorten(number)
        thread = get_ident()
        self._latest[thread] = number
        self.pending.append((number, call, errors, length, thread))
        low = number % RING
        return (low - 0x1_0000 if low >= 0x8000 else low) << 48

    def is_uncertain(self) -> bool:
        """As `Channel.is_uncertain`; nobody knows how often a graph has been launched."""
        return bool(self._graph_records) or super().is_uncertain()

    @contextmanager
    def graph(self) -> Iterator[GraphLaunches]:
        """Inside, launches keep their numbers and records until they are released: see `graph`."""
        launches = GraphLaunches(self._graph_records)

        def open(call: Named, errors: tuple[str, ...], length: int) -> int:
            return (launches.add(call, errors, length) - 0x1_0000) << 48

        outer = vars(self).get("open")
        self.open = open  # type: ignore[method-assign]
        try:
            yield launches
        finally:
            if outer is None:
                del self.open
            else:
                self.open = outer  # type: ignore[method-assign]

    def _reset(self) -> None:
        self._told[0] = (
            0  # before the word: but for a graph's replay (`_look`), no kernel can set it in between
        )
        self._runtime.memsetAsync(self.word_pointer, 0xFF, 8, self.stream)
        if self._failed:
            self._failed = False
            me = get_ident()
            self._kept.extend(record for record in self.pending if record[4] != me)
            self._numbers, self.pending = itertools.count(self._resume), self._kept

    def _drain(self, covered: Covered) -> None:
        super()._drain(covered)
        self._checkpoint = None

    def _shorten(self, number: int) -> None:
        """Bounds the pending list without blocking: a copy of the word, looked at later."""
        if not self.lock.acquire(blocking=False):
            return
        try:
            if self._failed or self._runtime.streamIsCapturing(self.stream):
                return
            if self._checkpoint is not None:
                if self.pending and number - self.pending[0][0] >= HIGH_WATER:
                    self._event.synchronize()
                elif not self._event.done:
                    return
                if int(self._mirror[0]) != NO_ERROR:
                    self._freeze(number)
                    return
                self._drop(self._checkpoint)
            self._checkpoint = self._covered(number)
            self._runtime.memcpyAsync(self._mirror.ctypes.data, self.word_pointer, 8, 2, self.stream)
            self._record_event()
        finally:
            self.lock.release()

    def _record_event(self) -> None:
        self._runtime.eventRecord(self._event.ptr, self.stream)

    def _freeze(self, number: int) -> None:
        """An error is known, and not raised yet: nothing launched until then can run.

        The records that may name it are kept; later launches need none, and share one number: but for those that
        threads are about to make just when the error is raised.
        """
        self._failed = True
        self._told[0] = 1  # also if a kernel lowers the word by itself
        self._kept, self.pending = self.pending, deque(maxlen=SLOTS)
        self._resume = number + 3
        failed = int(self._mirror[0]) >> 48
        shared = next(n for n in (number + 1, number + 2) if n % RING != failed)
        self._numbers = itertools.repeat(shared)

    def _error(self, word: int) -> tuple[DeviceValueError, Decorate | None]:
        number = word >> 48
        if number in self._graph_records:
            _, call, errors, length, _ = self._graph_records[number]
            index = (word >> 8) & 0xFF_FFFF_FFFF
            exception = DeviceValueError(call.name, _message(errors, word), index, number - RING)
            add_note(exception, f"at element {index} of {length}, in a CUDA graph")
            return exception, call.decorate
        if self._failed:
            self.pending, recent = self._kept, self.pending
            try:
                return super()._error(word)
            finally:
                self.pending = recent
        return super()._error(word)

    def _look(self) -> int:
        if not self._told.item(0):
            return NO_ERROR
        word = self._copied_word()
        if word == NO_ERROR:  # a graph was replayed just when it was reset
            self._told[0] = 0
            word = self._copied_word()
        return word

    def _copied_word(self) -> int:
        small = self._small()
        self._runtime.memcpyAsync(small.address, self.word_pointer, 8, 2, self.stream)
        self._runtime.streamSynchronize(self.stream)
        return small.words.item(0)

    def read(self, *arrays: Any) -> list[Any]:
        """Copies device arrays to the host in one wait, which tells of errors, too.

        Args:
            arrays: contiguous CuPy arrays of this channel's device.

        Returns:
            NumPy arrays of the same shapes and dtypes.

        Raises:
            DeviceValueError: if a launch of the channel has failed.
        """
        if self._elsewhere():
            with self._cupy_device:
                return self.read(*arrays)
        for array in arrays:
            _check_array(array, self.device)
        sizes = [array.nbytes for array in arrays]
        ends = list(itertools.accumulate(((size + 15) & ~15 for size in sizes), initial=0))
        buffer = self._pinned(ends[-1])
        base = buffer.ctypes.data
        copy, stream = self._runtime.memcpyAsync, self.stream
        covered = self._covered(next(self._numbers))
        for array, start, size in zip(arrays, ends, sizes, strict=False):
            if size:
                copy(base + start, array.data.ptr, size, 2, stream)
        self._runtime.streamSynchronize(stream)
        results = [
            buffer[start : start + size].view(array.dtype).reshape(array.shape).copy()
            for array, start, size in zip(arrays, ends, sizes, strict=False)
        ]
        if self.pending or self._told.item(0):
            self.settle(covered)
        return results

    def items(self, array: Any, positions: Sequence[int]) -> list[Any]:
        """Single elements of a device array as Python numbers, in one wait; the short form of `read`.

        Args:
            array: a contiguous CuPy array of this channel's device.
            positions: non-negative positions in it, at most 256.

        Raises:
            DeviceValueError: if a launch of the channel has failed.
        """
        if self._elsewhere():
            with self._cupy_device:
                return self.items(array, positions)
        if not array._c_contiguous:
            _check_array(array, self.device)
        small = self._small()
        dtype = array.dtype
        size = dtype.itemsize
        to, start = small.address, array.data.ptr
        copy, stream = self._runtime.memcpyAsync, self.stream
        covered = self._covered(next(self._numbers))
        last = array.size - 1
        if len(positions) > SLOTS:
            raise ValueError(f"argument 'positions' has {len(positions)} elements; it must have at most {SLOTS}")
        for position in positions:
            if not 0 <= position <= last:
                raise IndexError(f"argument 'positions' has {position}; the array has {array.size} elements")
            copy(to, start + position * size, size, 2, stream)
            to += 16
        self._runtime.streamSynchronize(stream)
        found = small.view(dtype)[: len(positions)].tolist()
        if self.pending or self._told.item(0):
            self.settle(covered)
        return found

    def _small(self) -> _Small:
        kept: _Small | None = getattr(self._buffers, "small", None)
        if kept is None:
            kept = self._buffers.small = _Small(self._alloc_pinned(SMALL))
        return kept

    def _pinned(self, nbytes: int) -> np.ndarray:
        """A page-locked host buffer of this thread: a small one is kept, large ones come and go."""
        if nbytes > SMALL:
            return np.frombuffer(self._alloc_pinned(nbytes), np.uint8, nbytes)
        return self._small().bytes

    def settle_finished(self) -> None:
        """As `synchronize`, once the device has finished: the stream need not exist any more."""
        import cupy

        stream, self.stream = self.stream, 0
        try:
            with cupy.cuda.Device(self.device):
                self.settle(self._covered(next(self._numbers)))
        except DeviceValueError:
            self._runtime.streamSynchronize(0)  # which resets the word; others do not wait for it
            raise
        finally:
            self.stream = stream

    def _elsewhere(self) -> bool:
        """Whether another device is current: the null stream means that one's."""
        return self._several and self._runtime.getDevice() != self.device

    def synchronize(self) -> None:
        if self._elsewhere():
            with self._cupy_device:
                self.synchronize()
            return
        covered = self._covered(next(self._numbers))
        self._runtime.streamSynchronize(self.stream)
        if self.pending or self._told.item(0):
            self.settle(covered)


_channels: dict[tuple[int, int, int], DeviceChannel] = {}
_channels_lock = threading.Lock()


class _HostChannels(threading.local):
    def __init__(self) -> None:
        self.channel = Channel()


_host = _HostChannels()


def host_channel() -> Channel:
    """The channel of kernels that this thread runs on the host.

    Example:
        >>> import errorflag
        >>> errorflag.host_channel().synchronize()
    """
    return _host.channel


def channel(device: int, stream: int) -> DeviceChannel:
    """The channel of a CUDA stream, made on first use.

    Args:
        device: CUDA device number.
        stream: the stream's handle, as in ``cupy.cuda.Stream.ptr``.

    Example:
        >>> import cupy, errorflag                                  # doctest: +SKIP
        >>> stream = cupy.cuda.get_current_stream()                 # doctest: +SKIP
        >>> channel = errorflag.channel(0, stream.ptr)              # doctest: +SKIP
        >>> base = channel.open(errorflag.Call("my kernel"), ("too large",), length=n)  # doctest: +SKIP
        >>> kernel(grid, block, (np.uint64(channel.word_pointer), np.int64(base), x))  # doctest: +SKIP
    """
    key = (device, stream, threading.get_ident() if stream == PER_THREAD_STREAM else 0)
    found = _channels.get(key)
    if found is None:
        with _channels_lock:
            found = _channels.get(key)
            if found is None:
                found = _channels[key] = DeviceChannel(device, stream)
    return found


def _current_device_channel() -> DeviceChannel | None:
    """The current CUDA stream's channel, if something was launched on any stream in this process."""
    if not _channels:
        return None
    import cupy

    return channel(cupy.cuda.runtime.getDevice(), cupy.cuda.get_current_stream().ptr)


def synchronize(stream: cupy.cuda.Stream | None = None) -> None:
    """Waits for a stream and raises the error that its kernels have reported, if any.

    Args:
        stream: a CuPy stream; by default the current one. Kernels that this thread ran on the host
            are checked too.

    Raises:
        DeviceValueError: the earliest failing call, in it the lowest element. The stream and all arrays
            made before stay usable.

    Example:
        >>> import numpy as np
        >>> import errorflag
        >>> from primitives import op, transform
        >>> @op(errors=("division by zero",))
        ... def divide(i, out, a, b):
        ...     if b[i] == 0:
        ...         return 1
        ...     out[i] = a[i] / b[i]
        >>> out = np.zeros(3)
        >>> transform(divide, 3, out, np.ones(3), np.array([1.0, 0.0, 4.0]))
        >>> errorflag.synchronize()
        Traceback (most recent call last):
        errorflag.DeviceValueError: division by zero in compiled CUDA code (divide)
        at element 1 of 3
        >>> errorflag.synchronize()  # raised once
    """
    host_channel().synchronize()
    if stream is None:
        found = _current_device_channel()
    else:
        device = stream.device_id if stream.device_id >= 0 else None
        if device is None:
            import cupy

            device = cupy.cuda.runtime.getDevice()
        found = channel(device, stream.ptr)
    if found is not None:
        found.synchronize()


def drain() -> list[DeviceValueError]:
    """Waits for all devices and takes the errors that are pending on any stream; raises none.

    For what cannot know the streams, such as a test harness: it looks at those that do not exist
    any more, too. Of kernels on the host it takes those of this thread.

    Returns:
        The errors: at most one for each stream.

    Example:
        >>> import errorflag
        >>> errorflag.drain()
        []
    """
    errors: list[DeviceValueError] = []
    with _channels_lock:
        found = [one for one in _channels.values() if one.pending or one._graph_records]
    if found:
        import cupy

        for device in {one.device for one in found}:
            cupy.cuda.Device(device).synchronize()
    for one in (host_channel(), *found):
        try:
            if isinstance(one, DeviceChannel):
                one.settle_finished()
            else:
                one.synchronize()
        except DeviceValueError as error:
            errors.append(error)
    return errors


def graph() -> AbstractContextManager[GraphLaunches]:
    """For launches on the current CUDA stream that a graph captures: their errors can be told in every replay.

    A captured launch runs again whenever the graph does, long after other launches have been checked
    and forgotten. Calls inside this context get numbers and records that stay theirs; an error in a
    replay is raised by the next wait for the stream, as ever (its `invocation` counts the captured
    launches of the stream). Launch the graph on the stream that captured it. Memory and compiled
    kernels must exist before the capture: make the same calls once without it.

    The graphs of one stream can hold 4,095 launches in all, and while there are any, `check` always waits, for
    nobody knows when a graph has been launched. What the context yields has a method `release()`, for when the graph
    is not launched any more.

    Raises:
        RuntimeError: by a launch inside, if the stream's graphs would hold too many.

    Example:
        >>> with stream:                                            # doctest: +SKIP
        ...     pipeline()
        ...     stream.begin_capture()
        ...     with errorflag.graph():
        ...         pipeline()
        ...     captured = stream.end_capture()
        ...     captured.launch(stream)
        ...     errorflag.synchronize()
    """
    import cupy

    stream = cupy.cuda.get_current_stream()
    return channel(cupy.cuda.runtime.getDevice(), stream.ptr).graph()


def check() -> None:
    """As `synchronize` of the current stream, but waits only if a launch on it can have failed since the last wait.

    One whose op has no messages cannot. For what hands out values that the host has not read.

    Raises:
        DeviceValueError: the earliest failing call, in it the lowest element.

    Example:
        >>> import errorflag
        >>> errorflag.check()
    """
    for found in (host_channel(), _current_device_channel()):
        if found is not None and found.is_uncertain():
            found.synchronize()


def read(*arrays: Any) -> list[Any]:
    """Copies arrays to the host in one wait of the current stream, which tells of errors, too.

    Args:
        arrays: contiguous CuPy arrays of one device, or NumPy arrays, which come back as they are.

    Returns:
        NumPy arrays of the same shapes and dtypes.

    Raises:
        DeviceValueError: if a launch on the device's current stream has failed.
        TypeError: an argument is no array, or arrays are in different places.
        ValueError: an array is not contiguous.

    Example:
        >>> import numpy as np
        >>> import errorflag
        >>> total, sums = errorflag.read(np.array([6]), np.array([1.0, 5.0]))
        >>> sums.tolist()
        [1.0, 5.0]
    """
    if all(isinstance(array, np.ndarray) for array in arrays):
        host_channel().synchronize()
        return [np.asarray(array) for array in arrays]
    return _channel_of(next(array for array in arrays if not isinstance(array, np.ndarray))).read(*arrays)


def pending_calls() -> int:
    """Number of launches on all channels whose outcome the host has not seen yet.

    Example:
        >>> import errorflag
        >>> errorflag.synchronize()
        >>> errorflag.pending_calls()
        0
    """
    return len(host_channel().pending) + sum(len(found.pending) for found in list(_channels.values()))


def read_items(array: Any, positions: Sequence[int]) -> list[Any]:
    """Single elements of an array as Python numbers, in one wait of the current stream.

    Args:
        array: a contiguous CuPy array, or a NumPy array.
        positions: non-negative positions in it, in C order if it has several dimensions; at most 256.

    Raises:
        DeviceValueError: if a launch on the array's device, in its current stream, has failed.
        IndexError: a position is not in the array.
        TypeError: it is no array.
        ValueError: the array is not contiguous, or there are too many positions.

    Example:
        >>> import numpy as np
        >>> import errorflag
        >>> offsets = np.array([3, 5, 5, 9])
        >>> errorflag.read_items(offsets, [0, 3])
        [3, 9]
    """
    if isinstance(array, np.ndarray):
        host_channel().synchronize()
        if any(not 0 <= position < array.size for position in positions):
            raise IndexError(f"argument 'positions' is {list(positions)}; the array has {array.size} elements")
        return array.reshape(-1)[list(positions)].tolist()
    return _channel_of(array).items(array, positions)


def _channel_of(array: Any) -> DeviceChannel:
    """The channel of the current stream of the device that a CuPy array is on."""
    import cupy

    if not isinstance(array, cupy.ndarray):
        raise TypeError(f"errorflag reads arrays of CuPy and NumPy, not a {type(array).__name__}")
    device = array.data.device_id
    return channel(device, cupy.cuda.get_current_stream(device).ptr)


def _check_array(array: Any, device: int) -> None:
    import cupy

    if not isinstance(array, cupy.ndarray) or array.data.device_id != device:
        raise TypeError(f"errorflag reads arrays of one place: this one is of CUDA device {device}, another is not")
    if not array._c_contiguous:
        raise ValueError("errorflag reads contiguous arrays: copy it first")
