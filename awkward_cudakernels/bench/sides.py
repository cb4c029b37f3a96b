"""Whose code runs: this project's kernels, awkward's own CUDA backend, or its CPU backend."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import awkward_cudakernels
from awkward_cudakernels.bench import timing

__all__ = ["SIDES", "Clock", "Side"]

SIDES = {"ours": "ours", "awkward": "awkward's CUDA", "cpu": "awkward's CPU", "floor": "floor"}
"""What each is called where people read it."""


class Clock:
    """Time since it was made."""

    def __init__(self) -> None:
        self.start = time.perf_counter()

    def ms(self) -> float:
        return 1e3 * (time.perf_counter() - self.start)


class Side:
    """One side in this process.

    Attributes:
        name: one of `SIDES`.
        backend: the awkward backend that its arrays are on.
    """

    def __init__(self, name: str, device: bool) -> None:
        if name not in SIDES:
            raise ValueError(f"no such side: {name!r}")
        self.name = name
        self.backend = "cuda" if device and name in ("ours", "awkward") else "cpu"
        self.is_stock_cpu = self.backend == "cpu" and name != "ours"
        if name == "ours":
            awkward_cudakernels.register(self.backend)

    @contextlib.contextmanager
    def stock(self) -> Iterator[None]:
        """Inside, awkward's CPU backend is its own."""
        if self.backend == "cpu" and self.name == "ours":
            awkward_cudakernels.unregister("cpu")
            try:
                yield
            finally:
                awkward_cudakernels.register("cpu")
        else:
            yield

    def kernel_table(self) -> Any:
        """The object whose ``[key]`` is a kernel."""
        if self.backend == "cuda":
            from awkward._backends.cupy import CupyBackend

            return CupyBackend.instance()
        from awkward._backends.numpy import NumpyBackend

        return NumpyBackend.instance()

    def wait(self) -> None:
        """Waits for the device, if this side has one."""
        if self.backend == "cuda":
            timing.wait()

    def finish(self) -> None:
        """Waits, raises what kernels have reported, and lets go of what pending calls hold."""
        if self.backend != "cuda":
            return
        if self.name == "ours":
            awkward_cudakernels.synchronize_cuda()
            return
        timing.wait()
        import awkward._connect.cuda as awkward_cuda
        import cupy

        if cupy.cuda.get_current_stream().ptr in awkward_cuda.cuda_streamptr_to_contexts:
            awkward_cuda.synchronize_cuda()

    def wall(self, function: Callable[[], object], seconds: float) -> dict[str, Any]:
        """As `timing.wall_ms`, with what has been reported raised afterwards."""
        result = timing.wall_ms(function, self.wait, seconds)
        self.finish()
        return result

    def free(self) -> None:
        """Gives cached device memory back."""
        if self.backend == "cuda":
            import cupy

            cupy.get_default_memory_pool().free_all_blocks()

    def is_alive(self) -> bool:
        """Whether the device still works; after an illegal address it does not, in this process."""
        if self.backend != "cuda":
            return True
        import cupy

        try:
            timing.wait()
            return int(cupy.ones(1)[0]) == 1
        except Exception:
            return False
