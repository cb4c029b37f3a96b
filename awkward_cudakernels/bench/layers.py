"""Where the time of an operation goes: awkward's Python, the way to a launch, launches, CuPy, waits.

The time from a call until the stream is empty is split without a rest: what is called inside a layer takes its time
from that layer. Wrappers tell the layers apart; they are there only while something is measured.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from types import ModuleType
from typing import Any
from unittest.mock import patch

from awkward_cudakernels.bench import dilepton, operations, sides, timing
from awkward_cudakernels.bench.settings import Settings

__all__ = [
    "LAYERS",
    "ArrayModule",
    "ExclusiveClock",
    "Inputs",
    "check",
    "measure",
    "prepare",
    "rows",
    "sizes",
    "typical",
    "watched",
]

LAYERS = ("Python", "dispatch", "launches", "CuPy", "waits", "end")
"""In the order of the table: the rest; kernels and `primitives` before a launch; a launch; CuPy's functions and its
allocations; waits in the middle; the one at the end."""

SMALL = 200_000
"""Lists with which the host bounds most operations."""

MOST_EVENTS = 1_000_000
"""Events of the dilepton selection, whatever the number of lists: the host takes long to make more."""

Function = Callable[..., Any]


class ExclusiveClock:
    """Nanoseconds in each layer, without those in layers that were entered inside it.

    Args:
        now: what time it is, in ns.
    """

    def __init__(self, now: Callable[[], int] = time.perf_counter_ns) -> None:
        self._now = now
        self._inside = [LAYERS[0]]
        self.restart()

    def restart(self) -> None:
        """From now on, from 0."""
        self.spent = dict.fromkeys(LAYERS, 0)
        self._since = self._now()

    def enter(self, layer: str) -> None:
        """The time until now is of the layer outside."""
        now = self._now()
        self.spent[self._inside[-1]] += now - self._since
        self._inside.append(layer)
        self._since = now

    def leave(self) -> None:
        """The time until now is of the layer entered last."""
        now = self._now()
        self.spent[self._inside.pop()] += now - self._since
        self._since = now

    def timed(self, layer: str, function: Function) -> Function:
        """A function that does the same, inside a layer."""
        enter, leave = self.enter, self.leave

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            enter(layer)
            try:
                return function(*args, **kwargs)
            finally:
                leave()

        return call

    def split(self, function: Function, wait: Function) -> dict[str, int]:
        """One run and the wait after it: what each layer took."""
        self.restart()
        result = function()
        self.timed("end", wait)()
        del result  # outside the measured time
        return self.spent


class ArrayModule:
    """CuPy as awkward's array layer sees it: functions and ufuncs are timed, everything else is CuPy's."""

    def __init__(self, module: Any, clock: ExclusiveClock) -> None:
        self._module = module
        self._clock = clock

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if callable(found) and not isinstance(found, (type, ModuleType)):
            found = self._clock.timed("CuPy", found)
        setattr(self, name, found)  # so that it is asked for once
        return found


@contextmanager
def watched(clock: ExclusiveClock) -> Iterator[None]:
    """Inside, a clock knows which layer this process is in; afterwards everything is as it was."""
    import cupy
    from awkward._nplikes.cupy import Cupy

    from awkward_cudakernels import _registry
    from errorflag._channel import DeviceChannel
    from primitives import _device, _host, _run

    class Allocations(cupy.cuda.MemoryHook):  # type: ignore[misc]
        name = "awkward-cudakernels bench layers"

        def malloc_preprocess(self, **_: Any) -> None:
            clock.enter("CuPy")

        def malloc_postprocess(self, **_: Any) -> None:
            clock.leave()

    # The modules of primitives have `run` by name.
    ours = [module for name, module in sys.modules.items() if name.startswith("primitives.")]
    places: list[tuple[Any, str, str]] = [
        *((module, "run", "dispatch") for module in ours if getattr(module, "run", None) is _run.run),
        (_registry.DeviceKernel, "__call__", "dispatch"),
        (_device.DeviceKernel, "launch", "launches"),
        (_host.HostKernel, "launch", "launches"),
        *((DeviceChannel, name, "waits") for name in ("read", "items", "synchronize")),
    ]
    nplike = Cupy.instance()
    with ExitStack() as stack:
        for owner, name, layer in places:
            stack.enter_context(patch.object(owner, name, clock.timed(layer, getattr(owner, name))))
        stack.enter_context(patch.object(nplike, "_module", ArrayModule(nplike._module, clock)))
        stack.enter_context(Allocations())
        yield


def typical(function: Function, wait: Function, seconds: float) -> tuple[dict[str, int], int]:
    """The layers of the run whose whole is the median, in ns, so that they add up; and the number of runs.

    Args:
        function, wait, seconds: as of `timing.wall_ms`.
    """
    clock = ExclusiveClock()
    runs: list[dict[str, int]] = []

    def run() -> float:
        runs.append(clock.split(function, wait))
        return sum(runs[-1].values()) / 1e9

    function()  # compiles and imports, before anything is replaced
    wait()
    with watched(clock):
        clock.split(function, wait)
        timing.repeated(run, seconds)
    runs.sort(key=lambda run: sum(run.values()))
    return runs[len(runs) // 2], len(runs)


class Inputs:
    """The arrays of all operations, and events for the dilepton selection, if it is asked for: up to `MOST_EVENTS`."""

    def __init__(self, side: sides.Side, lists: int) -> None:
        self._side = side
        self._lists = lists
        self._sample = operations.prepare(side, lists)

    @cached_property
    def _events(self) -> dilepton.Events:
        return dilepton.prepare(self._side, min(self._lists, MOST_EVENTS))

    def call(self, row: str) -> Callable[[], Any]:
        """What a row measures."""
        if row == dilepton.ROW:
            events = self._events
            return lambda: dilepton.dilepton(events.electrons, events.muons)
        operation = operations.BY_NAME[row]
        arguments = [self._sample.get(name) for name in operation.inputs]
        return lambda: operation.function(*arguments)


def rows(settings: Settings) -> list[str]:
    """The names of all operations, and the dilepton selection."""
    return [*operations.rows(settings), *dilepton.rows(settings)]


def sizes(settings: Settings) -> tuple[int, ...]:
    """Of the numbers of lists, one at which the host counts, and the largest."""
    return tuple(size for size in settings.lists if size in (SMALL, settings.lists[-1]))


def prepare(side: sides.Side, lists: int) -> Inputs:
    """The arrays of all rows."""
    return Inputs(side, lists)


def check(side: sides.Side, row: str, inputs: Inputs) -> dict[str, Any]:
    """Nothing: `operations` and `dilepton` check results."""
    return {}


def measure(side: sides.Side, row: str, inputs: Inputs, seconds: float) -> dict[str, Any]:
    """Wall time of the operation, and of each layer."""
    spent, runs = typical(inputs.call(row), side.wait, seconds)
    side.finish()
    layers = {layer: ns / 1e6 for layer, ns in spent.items()}
    return {"ms": sum(layers.values()), "layers": layers, "runs": runs}
