"""Holding a CUDA stream, to see whether the host waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

SPIN = r"""
extern "C" __global__ void errorflag_hold(volatile int* release, unsigned long long nanoseconds) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (!*release && now - start < nanoseconds);
}
"""


class Hold:
    """Holds the current CUDA stream while a block runs."""

    def __init__(self) -> None:
        import cupy

        self._cupy = cupy
        self._kernel = cupy.RawKernel(SPIN, "errorflag_hold")
        self._release = np.frombuffer(cupy.cuda.alloc_pinned_memory(4), np.int32, 1)
        self._launch(0.0)  # compiles and loads, which would wait
        cupy.cuda.get_current_stream().synchronize()

    def _launch(self, seconds: float) -> None:
        self._release[0] = 0
        pointer = np.uint64(self._release.ctypes.data)
        self._kernel((1,), (1,), (pointer, np.uint64(round(1e9 * seconds))))

    @contextmanager
    def __call__(self, seconds: float) -> Iterator[None]:
        """The stream goes on at the end of the block, or after so many seconds: then the host has waited in it."""
        stream = self._cupy.cuda.get_current_stream()
        self._launch(seconds)
        try:
            yield
        finally:
            self._release[0] = 1
            stream.synchronize()
