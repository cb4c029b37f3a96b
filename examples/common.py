"""What the examples share: the two options, and taking times. Nothing here is needed to use the packages."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

LEAST = 100


def options(description: str, size: int) -> tuple[ModuleType, int]:
    """Reads the command line. Returns NumPy, or CuPy with ``--device``, and the problem size."""
    parser = argparse.ArgumentParser(description=description.strip().splitlines()[0])
    parser.add_argument("--device", action="store_true", help="CuPy arrays on the GPU, not NumPy's")
    parser.add_argument("--size", type=_size, default=size, help="number of elements (default: %(default)s)")
    chosen = parser.parse_args()
    if not chosen.device:
        return np, chosen.size
    why_not = no_gpu()
    if why_not:
        parser.exit(1, f"--device: {why_not}\n")
    import cupy

    return cupy, chosen.size


def _size(text: str) -> int:
    if not text.isdecimal() or int(text) < LEAST:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of {LEAST} or more")
    return int(text)


def no_gpu() -> str | None:
    """Why there is no GPU to run on; None if there is one."""
    try:
        import cupy
    except ImportError:
        return "CuPy is not installed"
    try:
        return None if cupy.cuda.runtime.getDeviceCount() else "there is no CUDA device"
    except cupy.cuda.runtime.CUDARuntimeError:
        return "there is no CUDA device"


def milliseconds(xp: ModuleType, call: Callable[[], Any], repetitions: int = 7) -> float:
    """The shortest time of a call, until the device has finished; the first, untimed, compiles."""
    call()
    times = []
    for _ in range(repetitions):
        wait(xp)
        started = time.perf_counter()
        call()
        wait(xp)
        times.append(1e3 * (time.perf_counter() - started))
    return min(times)


def wait(xp: ModuleType) -> None:
    """Waits for the current stream, if there is one."""
    if xp is not np:
        xp.cuda.get_current_stream().synchronize()


def show_times(xp: ModuleType, ours: float, plain: float, **more: float) -> None:
    """Prints the times of the two ways, and of others."""
    library = "NumPy" if xp is np else "CuPy"
    rows = {"with primitives": ours, f"plain {library}": plain, **more}
    for name, time_ms in rows.items():
        print(f"{name:24} {time_ms:9.3f} ms")
