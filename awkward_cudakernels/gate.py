"""The gate: does a kernel on the primitives stay, or is the raw one put back? Measured, by a written rule.

`measure` runs the two implementations of a family side by side on a device; `verdict` applies the rule to
what came out:

    A kernel on the primitives stays if at every size a call costs at most 1.03 times that of the raw
    kernel, where the cost of a call is what it keeps the host busy for or what it keeps the device busy
    for, whichever is more; and if it never makes the host wait, nor compiles anything because a length
    has changed. Otherwise the raw kernel is put back.

Host and device work at the same time, so a call costs what the slower of them takes. The implementations
are measured in turns of a millisecond or so. Of the device's times the fastest counts. A host may be half as
fast for a while, and then both are: of the host's times the median ratio of neighbouring turns counts, and
what is reported is the raw kernel's fastest turn and, for the other, that times the ratio. Where the limit is
exceeded, both get more turns.
The second half of the rule is what the first cannot show: a kernel that compiles for each length anew is
fast when it is called again with the same one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import errorflag
from errorflag._hold import Hold

from . import _dispatch, _gate_inputs, environment
from ._registry import kernel_for, registry

__all__ = ["LIMIT", "SIZES", "Row", "Side", "Verdict", "first_calls", "measure", "verdict"]

SIZES = (1_000, 200_000, 2_000_000)
"""Numbers of lists."""

LIMIT = 1.03
"""How much more than the raw kernel's a call may cost."""

IMPLEMENTATIONS = ("primitives", "raw")
LENGTHS = tuple(int(x) for x in np.geomspace(500, 50_000, 10))
"""Ten numbers of lists, for looking whether a changed length compiles anything."""
HOST_TURNS = 50
"""Turns of each implementation, of a millisecond or a few, in which the host's time is measured."""
DEVICE_TURNS = 3
"""The first of these, in which the device's time is measured too."""
AGAIN = 4
"""How often as many turns are added where the limit is exceeded."""


# The rule


@dataclass(frozen=True)
class Side:
    """What one implementation does at one size.

    Attributes:
        host_us: what a call keeps the host busy for.
        device_us: what it keeps the device busy for.
        synchronizations: in how many of three calls the host waited for the device.
        recompilations: how many kernels were compiled or loaded in ten calls with changing lengths.
        first_cold_ms: first call in a process, with an empty disk cache; None if it was not measured.
        first_warm_ms: the same with a filled one.
    """

    host_us: float
    device_us: float
    synchronizations: int = 0
    recompilations: int = 0
    first_cold_ms: float | None = None
    first_warm_ms: float | None = None

    @property
    def us(self) -> float:
        """What a call costs: the host's part or the device's, whichever is more."""
        return max(self.host_us, self.device_us)


@dataclass(frozen=True)
class Row:
    """Both implementations of a family at one size."""

    family: str
    lists: int
    primitives: Side
    raw: Side

    @property
    def ratio(self) -> float:
        """What a call costs on the primitives, in terms of the raw kernel's."""
        return self.primitives.us / self.raw.us


@dataclass(frozen=True)
class Verdict:
    """What becomes of a family's kernel on the primitives.

    Attributes:
        keep: whether it stays; otherwise the raw kernel is put back.
        ratios: the ratio at each size.
        reasons: why not, a clause for each.
    """

    family: str
    keep: bool
    ratios: dict[int, float]
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "keep" if self.keep else f"revert: {'; '.join(self.reasons)}"


def verdict(rows: Sequence[Row], sizes: Iterable[int] = SIZES) -> Verdict:
    """The written rule, applied to one family.

    Args:
        rows: of one family, one for each size, in any order.
        sizes: what has to be there.

    Raises:
        ValueError: rows of several families, of a size twice or not at all, or without a usable number.
    """
    if len({row.family for row in rows}) != 1:
        raise ValueError("the rule is for the rows of one family")
    found = {row.lists: row for row in rows}
    missing = sorted(set(sizes) - set(found))
    if missing or len(found) != len(rows):
        raise ValueError(f"{rows[0].family}: one row for each size is needed; missing: {missing}")
    reasons = []
    for lists, row in sorted(found.items()):
        numbers = (row.primitives.host_us, row.primitives.device_us, row.raw.host_us, row.raw.device_us)
        if not all(np.isfinite(x) and x >= 0 for x in numbers) or row.raw.us == 0:
            raise ValueError(f"{row.family}, {lists} lists: {numbers} are not times")
        if row.ratio > LIMIT:
            reasons.append(f"{row.ratio:.3f} times raw at {lists:,} lists")
    for what in ("synchronizations", "recompilations"):
        worst = max(getattr(row.primitives, what) for row in rows)
        if worst:
            reasons.append(f"{worst} {what}")
    ratios = {lists: row.ratio for lists, row in sorted(found.items())}
    return Verdict(rows[0].family, not reasons, ratios, tuple(reasons))


# Measuring


FirstCalls = Mapping[tuple[str, str, str], float]
"""ms of first calls, by implementation, ``"cold"`` or ``"warm"``, and family."""


def measure(
    family: str,
    sizes: Iterable[int] = SIZES,
    first: FirstCalls | None = None,
    say: Callable[[str], None] | None = None,
) -> list[Row]:
    """Runs both implementations of a family side by side on the current device.

    Args:
        family: one with a raw kernel.
        sizes: numbers of lists.
        first: what `first_calls` returned; by default it is called for this family. For many families
            call it once, for it starts four processes.
        say: told what is being done.

    Returns:
        A row for each size.

    Raises:
        RuntimeError: without a GPU, or where raw kernels are in force anyway.
        ValueError: there is no raw kernel of that name; the message lists near names.
    """
    _check([family])
    say = say or _nothing
    if first is None:
        first = first_calls([family], say)
    recompilations = {side: _recompilations(family, side) for side in IMPLEMENTATIONS}
    rows = []
    for lists in sizes:
        say(f"{family}, {lists:,} lists")
        times = _times(family, lists)
        found = _summary(times)
        for _ in range(AGAIN):
            if max(found["primitives"][:2]) <= LIMIT * max(found["raw"][:2]):
                break
            say(f"{family}, {lists:,} lists, again")
            times = _all_of(times, _times(family, lists))
            found = _summary(times)
        primitives, raw = (
            Side(
                *found[side],
                recompilations=recompilations[side],
                first_cold_ms=first.get((side, "cold", family)),
                first_warm_ms=first.get((side, "warm", family)),
            )
            for side in IMPLEMENTATIONS
        )
        rows.append(Row(family, lists, primitives, raw))
    return rows


def _check(families: Sequence[str]) -> None:
    reason = environment.why_no_cuda()
    if reason is not None:
        raise RuntimeError(f"this is measured on a GPU, and {reason}")
    if not _dispatch.in_force().isdisjoint(_dispatch.known(families)):
        raise RuntimeError(f"raw kernels are in force already: see {_dispatch.VARIABLE}")


def _nothing(_: str) -> None:
    pass


@contextmanager
def _implementation(family: str, side: str) -> Iterator[Callable[..., Any]]:
    """The kernel as awkward calls it, in one of the two implementations.

    The families of older releases, which have no key, are called without its checks.
    """
    specialization = _gate_inputs.specialization(family)
    with _dispatch.legacy(family) if side == "raw" else nullcontext():
        if specialization is not None:
            yield kernel_for(specialization.key, "device")
        else:
            yield (_dispatch.raw_kernels() if side == "raw" else registry())[family]


Times = dict[str, tuple[list[float], float, int]]
"""Of each implementation: host µs of every turn, device µs of the fastest, synchronizations."""


def _all_of(*found: Times) -> Times:
    together = {}
    for side in IMPLEMENTATIONS:
        host, device, waits = zip(*(times[side] for times in found), strict=True)
        together[side] = [us for turns in host for us in turns], min(device), sum(waits)
    return together


def _summary(times: Times) -> dict[str, tuple[float, float, int]]:
    """Of each implementation: host µs, device µs, synchronizations."""
    (host, device, waits), (raw_host, raw_device, raw_waits) = (times[side] for side in IMPLEMENTATIONS)
    ratio = float(np.median(np.divide(host, raw_host)))
    fastest = min(raw_host)
    return {
        "primitives": (ratio * fastest, device, waits),
        "raw": (fastest, raw_device, raw_waits),
    }


def _times(family: str, lists: int) -> Times:
    """What each implementation takes, measured in turns so short that both meet the same conditions."""
    inputs = _gate_inputs.make(family, lists)
    times: dict[str, list[list[float]]] = {side: [[], [], [], []] for side in IMPLEMENTATIONS}
    waits = dict.fromkeys(IMPLEMENTATIONS, 0)
    calls = 10
    for turn in range(HOST_TURNS):
        # Every other turn goes the other way round: what drifts is shared.
        for side in IMPLEMENTATIONS if turn % 2 else reversed(IMPLEMENTATIONS):
            with _implementation(family, side) as kernel:
                call, restore = _calls(kernel, inputs)
                host, device, restore_host, restore_device = times[side]
                if turn < DEVICE_TURNS:
                    device.append(_device_us(call))
                    restore_device.append(_device_us(restore) if restore else 0.0)
                    waits[side] += _waits(call)
                    calls = max(10, min(100, int(5000 / device[0])))
                host.append(_host_us(call, calls))
                restore_host.append(_host_us(restore, calls) if restore else 0.0)
                errorflag.synchronize()
    found = {}
    for side in IMPLEMENTATIONS:
        host, device, restore_host, restore_device = times[side]
        less = min(restore_host)
        found[side] = [us - less for us in host], min(device) - min(restore_device), waits[side]
    return found


def _calls(
    kernel: Callable[..., Any], inputs: _gate_inputs.Inputs
) -> tuple[Callable[[], Any], Callable[[], Any] | None]:
    """A call that may be repeated, and the part of it that is not the kernel's, if there is one."""
    arguments = inputs.arguments
    if not inputs.changed:
        return lambda: kernel(*arguments), None

    def call() -> None:
        inputs.restore()
        kernel(*arguments)

    return call, inputs.restore


def _host_us(call: Callable[[], Any], calls: int) -> float:
    from .bench.timing import batch_us, wait

    return batch_us(call, wait, calls)


def _device_us(call: Callable[[], Any]) -> float:
    from .bench.timing import device_us

    return device_us(call, 0.02)


def _waits(call: Callable[[], Any]) -> bool:
    """Whether a call makes the host wait: it is made while a kernel holds the stream, until the host
    lets go of it after the call, or time is up."""
    import cupy

    hold = Hold()
    call()  # compiled and loaded before it matters
    cupy.cuda.get_current_stream().synchronize()
    with hold(0.1):
        held = cupy.cuda.Event(disable_timing=True)
        held.record()
        call()
        return bool(held.done)


def _recompilations(family: str, side: str) -> int:
    """How many kernels are compiled or loaded in ten calls with changing lengths.

    The shortest and the longest are called once before, for code may choose by length, once.
    """
    inputs = [_gate_inputs.make(family, lists) for lists in LENGTHS]
    with _implementation(family, side) as kernel:
        for made in (inputs[0], inputs[-1]):
            kernel(*made.arguments)
        for made in inputs:
            made.restore()
        with _counted() as counted:
            for made in inputs:
                kernel(*made.arguments)
        errorflag.synchronize()
    return len(counted)


@contextmanager
def _counted() -> Iterator[list[str]]:
    """Lists the kernels that either implementation gets from its compiler or from the disk cache."""
    from unittest.mock import patch

    from legacy_cu import Family
    from primitives import _run

    counted: list[str] = []
    compile, load = _run._compile, Family._load

    def compiled(build: Any, place: int) -> Any:
        counted.append(build.template.name)
        return compile(build, place)

    def loaded(family: Family, *key: Any) -> Any:
        counted.append(family.name)
        return load(family, *key)

    with patch.object(_run, "_compile", compiled), patch.object(Family, "_load", loaded):
        yield counted


# First calls, in processes of their own


def first_calls(families: Sequence[str], say: Callable[[str], None] | None = None) -> FirstCalls:
    """Measures the first call of each family in a process, with an empty and with a filled disk cache.

    In four processes: each implementation cold, then warm. What is the same for all families, and once
    in a process, is not in the times: importing, loading the compilers, the first allocation.

    Raises:
        RuntimeError: without a GPU, or if a process fails.
        ValueError: there is no raw kernel of that name; the message lists near names.
    """
    _check(families)
    found: dict[tuple[str, str, str], float] = {}
    for side in IMPLEMENTATIONS:
        with tempfile.TemporaryDirectory() as folder:
            for state in ("cold", "warm"):
                if say is not None:
                    say(f"first calls, {side}, {state}")
                for family, ms in _in_a_process(families, side, Path(folder)).items():
                    found[side, state, family] = ms
    return found


def _in_a_process(families: Sequence[str], side: str, folder: Path) -> dict[str, float]:
    variables = {
        "AWKWARD_CUDAKERNELS_CACHE": str(folder / "kernels"),
        "CUPY_CACHE_DIR": str(folder / "cupy"),
        _dispatch.VARIABLE: "",
    }
    done = subprocess.run(
        [sys.executable, "-m", __name__, side, *families],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"first calls of {side} failed: {done.stderr.strip()[-2000:]}")
    times: dict[str, float] = json.loads(done.stdout)
    return times


def _first_ms(families: Sequence[str], side: str) -> dict[str, float]:
    """ms of the first call of each family in this process, after what is the same for all."""
    import cupy
    from cuda.core import Program, ProgramOptions

    from primitives._device import architecture

    inputs = {family: _gate_inputs.make(family, SIZES[0]) for family in families}
    arch = architecture(cupy.cuda.runtime.getDevice())
    source = 'extern "C" __global__ void nothing() {}'
    Program(source, "c++", ProgramOptions(arch=arch)).compile("cubin")
    kernel_for(("awkward_localindex", np.int64), "device")(cupy.zeros(4, np.int64), 4)
    cupy.cumsum(cupy.zeros(4, np.int64))
    errorflag.synchronize()
    times = {}
    for family in families:
        with _implementation(family, side) as kernel:
            start = time.perf_counter()
            kernel(*inputs[family].arguments)
            errorflag.synchronize()
            times[family] = 1e3 * (time.perf_counter() - start)
    return times


def main() -> None:
    """Prints the first calls of families in this process, as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("side", choices=IMPLEMENTATIONS)
    parser.add_argument("families", nargs="+")
    arguments = parser.parse_args()
    json.dump(_first_ms(arguments.families, arguments.side), sys.stdout)


if __name__ == "__main__":
    main()
