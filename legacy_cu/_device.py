"""Compiled files: loading them once, and launching their kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache, partial
from typing import Any

import cupy
from cuda.core import Device, LaunchConfig, ObjectCode, Stream, launch

import errorflag

from ._source import Source, unpack

BLOCK = 256
_SEVERAL = cupy.cuda.runtime.getDeviceCount() > 1

Build = Callable[[], bytes]
Keep = Callable[[str, str, Build], bytes]


class Launcher:
    """The kernels of a file for given element types, on one device.

    Calling it launches one of them, on the current stream.
    """

    def __init__(self, source: Source, types: Mapping[str, str], device: int, keep: Keep | None) -> None:
        self._errors = source.errors
        self._device = device
        arch = architecture(device)
        build = partial(source.compile, types, arch)
        compiled = build() if keep is None else keep("legacy_cu", source.digest(types, arch), build)
        names, cubin = unpack(compiled)
        self._module = ObjectCode.from_cubin(cubin)
        self._kernels = {name: self._module.get_kernel(found) for name, found in names.items()}

    def run(self, function: Callable[..., None], args: tuple[Any, ...]) -> None:
        """Calls a family's function while the device of its arrays is the current one."""
        if _SEVERAL and cupy.cuda.runtime.getDevice() != self._device:
            with cupy.cuda.Device(self._device):
                function(self, *args)
        else:
            function(self, *args)

    def __call__(self, name: str, n: int, *args: Any) -> None:
        """Launches a kernel with a thread for each of `n` indexes; nothing if there are none.

        It belongs to the current `errorflag.call`.

        Args:
            name: the kernel.
            n: number of threads, which is also the kernel's first parameter.
            args: its other parameters: arrays, whole numbers, or None for a null pointer.
        """
        if n <= 0:
            return
        values = [arg if type(arg) is int else _value(arg) for arg in args]
        channel, stream = _lane(self._device, cupy.cuda.get_current_stream().ptr)
        base = channel.open(errorflag.current_call(), self._errors, n)
        config = _config((n + BLOCK - 1) // BLOCK)
        try:
            launch(stream, config, self._kernels[name], channel.word_pointer, base, n, *values)
        except Exception as error:
            if "INVALID_CONTEXT" not in str(error):
                raise
            Device(self._device).set_current()  # in a thread whose first use of CUDA this is
            launch(stream, config, self._kernels[name], channel.word_pointer, base, n, *values)

    def scratch(self, n: int) -> Any:
        """Uninitialised memory of `n` int64."""
        return cupy.empty(n, cupy.int64)

    def running_sum(self, values: Any) -> Any:
        """For every value, the sum of those up to and including it."""
        return cupy.cumsum(values)


def _value(arg: Any) -> int:
    """What a kernel gets for an argument: an address or a whole number."""
    if type(arg) is cupy.ndarray:
        if not arg._c_contiguous:
            raise ValueError("a raw kernel takes contiguous arrays only: copy it first")
        return int(arg.data.ptr)
    if arg is None:
        return 0
    array = getattr(arg, "array", None)
    return int(arg if array is None else errorflag.read(array)[0])


@lru_cache(4096)
def _config(blocks: int) -> Any:
    return LaunchConfig(grid=blocks, block=BLOCK)


_lanes: dict[tuple[int, int], tuple[Any, Any]] = {}


def _lane(device: int, pointer: int) -> tuple[Any, Any]:
    """The channel of a stream, and the stream as `cuda.core` knows it."""
    found = _lanes.get((device, pointer))
    if found is None:
        Device(device).set_current()
        found = errorflag.channel(device, pointer), Stream.from_handle(pointer)
        if pointer != errorflag.PER_THREAD_STREAM:  # which has a channel for every thread
            _lanes[device, pointer] = found
    return found


@cache
def architecture(device: int) -> str:
    """The architecture of a CUDA device, such as ``"sm_90"``."""
    return f"sm_{cupy.cuda.Device(device).compute_capability}"
