"""Channels: the error word of one stream, and the calls whose outcome is not known yet."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import Call, DeviceError, add_note

if TYPE_CHECKING:
    import cupy

NO_ERROR = 0xFFFF_FFFF_FFFF_FFFF
RING = 0x1_0000
"""Invocation numbers are 16 bits; the numbers of pending launches must differ."""
CHECK_EVERY = 1024
"""Launches between two looks at whether the pending list can be shortened."""
HIGH_WATER = RING - 2 * CHECK_EVERY
PER_THREAD_STREAM = 2

Record = tuple[Call, tuple[str, ...], int]
"""A launch: the call it belongs to, the messages of its op, its number of elements."""


class Channel:
    """The error word of one stream of execution, and its pending launches. Thread-safe.

    The base class keeps the word in host memory, for kernels that run on the host.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.word: Any = np.full(1, NO_ERROR, np.uint64)
        self.word_pointer: int = self.word.ctypes.data
        self.attempt = np.zeros(1, np.int64)
        """Host kernels leave here the value that the failed element was looking up."""
        self.attempt_pointer: int = self.attempt.ctypes.data
        self.pending: deque[Record] = deque()
        self._first = 0  # launch counter of pending[0]
        self._next = 0  # launch counter of the next launch
        self._calls = 0  # calls since the channel was last drained
        self._until_check = CHECK_EVERY

    def open(self, call: Call, errors: tuple[str, ...], length: int) -> int:
        """Registers a launch; returns its `base`, to be given to the kernel.

        Args:
            call: the call that the launch belongs to.
            errors: the messages that the kernel's codes stand for.
            length: number of elements, for the error's notes.
        """
        with self.lock:
            if call.ordinal < 0:
                call.ordinal = self._calls
                self._calls += 1
            number = self._next
            self._next = number + 1
            self.pending.append((call, errors, length))
            self._until_check -= 1
            if self._until_check <= 0:
                self._shorten()
            return (number & 0xFFFF) << 48

    def _shorten(self) -> None:
        # Host kernels have finished when their call returns: the word says all there is to know.
        self._until_check = CHECK_EVERY
        if int(self.word[0]) == NO_ERROR:
            self._drop(self._next - 1)

    def _drop(self, until: int) -> None:
        """Forgets the launches before counter `until`: they ended without an error."""
        while self._first < until:
            self.pending.popleft()
            self._first += 1

    def _drain(self) -> None:
        self.pending.clear()
        self._first = self._next
        self._calls = 0
        self._until_check = CHECK_EVERY

    def _error(self, word: int) -> DeviceError:
        number = word >> 48
        position = (number - self._first) & 0xFFFF
        call, errors, length = self.pending[position]
        index = (word >> 8) & 0xFF_FFFF_FFFF
        exception = DeviceError(call.name, errors[word & 0xFF], index, call.ordinal)
        add_note(
            exception,
            f"at element {index} of {length}, {self._calls - 1 - call.ordinal} calls before the last one",
        )
        if call.decorate is not None:
            call.decorate(exception)
        return exception

    def settle(self, word: int) -> None:
        """Drains the channel after a wait that read `word`; raises the error if there is one."""
        with self.lock:
            if word == NO_ERROR:
                self._drain()
                return
            exception = self._error(word)
            self._reset()
            self._drain()
        raise exception

    def _reset(self) -> None:
        self.word[0] = NO_ERROR

    def synchronize(self) -> None:
        """Waits for every launch of the channel; raises the error if one has failed."""
        self.settle(int(self.word[0]))


class DeviceChannel(Channel):
    """The channel of one CUDA stream."""

    def __init__(self, device: int, stream: int) -> None:
        import cupy

        super().__init__()
        self._cupy = cupy
        self.device = device
        self.stream: cupy.cuda.ExternalStream | Any = cupy.cuda.ExternalStream(stream, device)
        with cupy.cuda.Device(device):
            self.word = cupy.cuda.alloc(8)
            self._mirror = np.frombuffer(cupy.cuda.alloc_pinned_memory(8), np.uint64, 1)
            self._event = cupy.cuda.Event(disable_timing=True)
            self.word_pointer = int(self.word.ptr)
            self._reset()
        self._checkpoint: int | None = None  # launch counter that the copy under way covers
        self._failed = False
        self._buffers: dict[int, Any] = {}
        self.scratch: dict[Any, Any] = {}
        """Device memory that kernels of this stream share; for whoever launches on it."""

    def _reset(self) -> None:
        self._cupy.cuda.runtime.memsetAsync(self.word_pointer, 0xFF, 8, self.stream.ptr)

    def _copy_word(self) -> None:
        self._cupy.cuda.runtime.memcpyAsync(
            self._mirror.ctypes.data, self.word_pointer, 8, 2, self.stream.ptr
        )

    def _drain(self) -> None:
        super()._drain()
        self._checkpoint = None
        self._failed = False

    def _shorten(self) -> None:
        self._until_check = CHECK_EVERY
        if self._failed:
            # Nothing launched since can run: only the failed launch and what precedes it matter.
            self._forget_skipped()
            return
        if self._cupy.cuda.runtime.streamIsCapturing(self.stream.ptr):
            return
        if self._checkpoint is not None:
            if self._next - self._first >= HIGH_WATER:
                self._event.synchronize()
            elif not self._event.done:
                return
            word = int(self._mirror[0])
            if word != NO_ERROR:
                self._failed = True
                self._failed_at = self._first + (((word >> 48) - self._first) & 0xFFFF)
                self._forget_skipped()
                return
            self._drop(self._checkpoint)
        self._checkpoint = self._next - 1
        self._copy_word()
        self._event.record(self.stream)

    def _forget_skipped(self) -> None:
        while self._next - 1 > self._failed_at + 1:
            self.pending.pop()
            self._next -= 1

    def read(self, *arrays: Any) -> list[Any]:
        """Copies device arrays to the host in one wait, the error word along with them.

        Args:
            arrays: contiguous CuPy arrays of this channel's device.

        Returns:
            NumPy arrays of the same shapes and dtypes.

        Raises:
            DeviceError: if a launch of the channel has failed.
        """
        sizes = [array.nbytes for array in arrays]
        starts = np.cumsum([8, *((size + 15) // 16 * 16 for size in sizes)]).tolist()
        buffer = self._pinned(starts[-1])
        copy, stream = self._cupy.cuda.runtime.memcpyAsync, self.stream.ptr
        base = buffer.ctypes.data
        copy(base, self.word_pointer, 8, 2, stream)
        for array, start, size in zip(arrays, starts, sizes, strict=False):
            if size:
                copy(base + start, array.data.ptr, size, 2, stream)
        self.stream.synchronize()
        results = [
            buffer[start : start + size].view(array.dtype).reshape(array.shape).copy()
            for array, start, size in zip(arrays, starts, sizes, strict=False)
        ]
        self.settle(int(buffer[:8].view(np.uint64)[0]))
        return results

    def _pinned(self, nbytes: int) -> np.ndarray:
        """A page-locked host buffer of this thread: small ones are kept, large ones come and go."""
        if nbytes > 4096:
            memory = self._cupy.cuda.alloc_pinned_memory(nbytes)
            return np.frombuffer(memory, np.uint8, nbytes)
        thread = threading.get_ident()
        buffer = self._buffers.get(thread)
        if buffer is None:
            memory = self._cupy.cuda.alloc_pinned_memory(4096)
            buffer = self._buffers[thread] = np.frombuffer(memory, np.uint8, 4096)
        return buffer[:nbytes]

    def synchronize(self) -> None:
        self.read()


_channels: dict[tuple[int, int, int], DeviceChannel] = {}
_channels_lock = threading.Lock()


class _HostChannels(threading.local):
    def __init__(self) -> None:
        self.channel = Channel()


_host = _HostChannels()


def host_channel() -> Channel:
    """The channel of kernels that this thread runs on the host."""
    return _host.channel


def channel(device: int, stream: int) -> DeviceChannel:
    """The channel of a CUDA stream, made on first use.

    Args:
        device: CUDA device number.
        stream: the stream's handle, as in ``cupy.cuda.Stream.ptr``.
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
        DeviceError: the earliest failing call, in it the lowest element. The stream and all arrays
            made before stay usable.
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


def checkpoint(found: Channel) -> None:
    """In eager mode, called at the end of every call."""
    found.synchronize()


def read(*arrays: Any) -> list[Any]:
    """Copies arrays to the host in one wait of the current stream, the error word along with them.

    Args:
        arrays: contiguous CuPy arrays of the current device, or NumPy arrays, which come back as
            they are.

    Returns:
        NumPy arrays of the same shapes and dtypes.

    Raises:
        DeviceError: if a launch on the stream has failed.
    """
    if all(isinstance(array, np.ndarray) for array in arrays):
        host_channel().synchronize()
        return list(arrays)
    import cupy

    stream = cupy.cuda.get_current_stream()
    return channel(cupy.cuda.runtime.getDevice(), stream.ptr).read(*arrays)


def pending_calls() -> int:
    """Number of launches on all channels whose outcome the host has not seen yet."""
    return len(host_channel().pending) + sum(len(found.pending) for found in _channels.values())
