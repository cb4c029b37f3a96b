"""Clocks: whole operations, the host's part of a call, the device's part of a call."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import cache
from typing import Any

__all__ = ["batch_us", "device_us", "host_us", "per_call_us", "repeated", "wait", "wall_ms"]

Function = Callable[[], object]

BATCH = 300
"""Calls that are launched before the device is waited for: fewer launches than its queue holds."""


def wait() -> None:
    """Waits for the current CUDA stream."""
    import cupy

    cupy.cuda.get_current_stream().synchronize()


def wall_ms(function: Function, wait: Function, seconds: float) -> dict[str, Any]:
    """Wall time of one run with one wait at its end, in ms: the median.

    Args:
        function: what is measured.
        wait: called after each run, inside the measured time.
        seconds: as of `repeated`.
    """

    def run() -> float:
        start = time.perf_counter()
        result = function()
        wait()
        elapsed = time.perf_counter() - start
        del result  # outside the measured time, before the next run needs memory
        return elapsed

    function()
    wait()
    times = repeated(run, seconds)
    return {"ms": 1e3 * statistics.median(times), "best_ms": 1e3 * min(times), "runs": len(times)}


def repeated(run: Callable[[], float], seconds: float) -> list[float]:
    """What each of several runs took, in seconds.

    Args:
        run: tells what it took.
        seconds: how long to go on; at least 3 runs, at most 25, but no more after 10 times as long.
    """
    times: list[float] = []
    spent = 0.0
    while len(times) < 3 or (spent < seconds and len(times) < 25):
        times.append(run())
        spent += times[-1]
        if spent > 10 * seconds:
            break
    return times


def once_ms(function: Function, wait: Function) -> float:
    """Wall time of one run, in ms."""
    start = time.perf_counter()
    function()
    wait()
    return 1e3 * (time.perf_counter() - start)


def host_us(function: Function, wait: Function, settle: Function, seconds: float) -> float:
    """What one call keeps the host busy for, in µs: the median of batches.

    The device is idle when a batch starts, and a batch has fewer launches than its queue holds, so no
    call waits for the device unless it does so by itself.

    Args:
        function: the call.
        wait: waits for the device.
        settle: called between batches, not measured: for what must be cleared now and then.
        seconds: how long to go on; at least 3 batches.
    """
    for _ in range(10):
        function()
    wait()
    settle()
    first = time.perf_counter()
    function()
    once = time.perf_counter() - first
    calls = max(3, min(BATCH, int(seconds / 5 / max(once, 1e-7))))
    batches: list[float] = []
    began = time.perf_counter()
    while len(batches) < 3 or (time.perf_counter() - began < seconds and len(batches) < 50):
        batches.append(batch_us(function, wait, calls))
        settle()
    return statistics.median(batches)


def batch_us(function: Function, wait: Function, calls: int) -> float:
    """What one call of a batch keeps the host busy for, in µs. The device is idle when the batch starts."""
    for _ in range(3):
        function()
    wait()
    start = time.perf_counter()
    for _ in range(calls):
        function()
    elapsed = time.perf_counter() - start
    wait()
    return 1e6 * elapsed / calls


def per_call_us(function: Function, wait: Function, settle: Function, seconds: float) -> float:
    """Time per call of calls one after the other, until the last has finished, in µs."""
    once = min(once_ms(function, wait) for _ in range(2)) / 1e3
    calls = max(1, min(BATCH, int(seconds / 3 / max(once, 1e-7))))
    batches: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(calls):
            function()
        wait()
        batches.append((time.perf_counter() - start) / calls)
        settle()
    return 1e6 * statistics.median(batches)


def device_us(function: Function, seconds: float) -> float:
    """What one call keeps the device busy for, in µs: the median of batches.

    A kernel that only spins holds the stream until all calls of a batch are queued behind it, so that
    the host's time is not in the result.
    """
    import cupy

    for _ in range(3):
        function()
    wait()
    host = time.perf_counter()
    for _ in range(3):
        function()
    host = (time.perf_counter() - host) / 3
    wait()
    calls = 10
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < 3 or (time.perf_counter() - began < seconds and len(times) < 20):
        before, after = cupy.cuda.Event(), cupy.cuda.Event()
        hold(2 * calls * host + 100e-6)
        before.record()
        for _ in range(calls):
            function()
        after.record()
        after.synchronize()
        times.append(cupy.cuda.get_elapsed_time(before, after) / calls)
    return 1e3 * statistics.median(times)


def hold(seconds: float) -> None:
    """Launches a kernel that does nothing for so long, at most 50 ms."""
    spin, kilohertz = _spin()
    spin((1,), (1,), (int(min(seconds, 0.05) * kilohertz * 1e3),))


@cache
def _spin() -> tuple[Any, int]:
    import cupy

    source = """
    extern "C" __global__ void spin(long long cycles) {
        const long long start = clock64();
        while (clock64() - start < cycles) {}
    }"""
    rate = cupy.cuda.Device().attributes.get("ClockRate", 0)
    return cupy.RawKernel(source, "spin"), rate or 1_500_000
