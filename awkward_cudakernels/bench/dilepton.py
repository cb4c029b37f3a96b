"""The dilepton selection of many tutorials, in plain awkward code."""

from __future__ import annotations

from typing import Any

import awkward as ak
import numpy as np
from numpy.typing import NDArray

from awkward_cudakernels.bench import operations, sides
from awkward_cudakernels.bench.sample import BLOCK
from awkward_cudakernels.bench.settings import Settings

__all__ = ["Events", "check", "dilepton", "measure", "prepare", "rows", "sizes"]

ROW = "dilepton selection"


def dilepton(electrons: ak.Array, muons: ak.Array) -> tuple[ak.Array, ak.Array]:
    """Invariant masses of the events with exactly two selected electrons, and of those with two muons.

    Args:
        electrons, muons: ``events * var * {pt, eta, phi}``, on any backend.
    """
    electrons = electrons[electrons.pt > 40]
    muons = muons[(muons.pt > 20) & (abs(muons.eta) < 2.4)]
    return pair_mass(electrons), pair_mass(muons)


def pair_mass(leptons: ak.Array) -> ak.Array:
    """Mass of the pair in every event with exactly two leptons, whose own masses are neglected."""
    pairs = leptons[ak.num(leptons, axis=1) == 2]
    first, second = pairs[:, 0], pairs[:, 1]
    return np.sqrt(
        2
        * first.pt
        * second.pt
        * (np.cosh(first.eta - second.eta) - np.cos(first.phi - second.phi))
    )


class Events:
    """Electrons and muons of `events` events, 0 to 10 of each, float32 as in NanoAOD."""

    def __init__(self, events: int, backend: str) -> None:
        self.events = events
        self.electrons = ak.to_backend(self._leptons(1), backend)
        self.muons = ak.to_backend(self._leptons(2), backend)

    def _leptons(self, seed: int) -> ak.Array:
        random = np.random.default_rng(seed)
        counts = _tile(random.integers(0, 11, min(self.events, BLOCK)), self.events)
        offsets = np.zeros(self.events + 1, np.int64)
        np.cumsum(counts, out=offsets[1:])
        total = int(offsets[-1])
        drawn = min(total, BLOCK)
        pt = random.exponential(30, drawn).astype(np.float32)
        eta = random.normal(0, 1.5, drawn).astype(np.float32)
        phi = random.uniform(-np.pi, np.pi, drawn).astype(np.float32)
        fields = [ak.contents.NumpyArray(_tile(field, total)) for field in (pt, eta, phi)]
        records = ak.contents.RecordArray(fields, ["pt", "eta", "phi"])
        return ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(offsets), records))


def _tile(values: NDArray[Any], size: int) -> NDArray[Any]:
    return np.resize(values, size)


def rows(settings: Settings) -> list[str]:
    """One."""
    return [ROW]


def sizes(settings: Settings) -> tuple[int, ...]:
    """The numbers of events."""
    return settings.events


def prepare(side: sides.Side, lists: int) -> Events:
    """The leptons."""
    with side.stock():
        return Events(lists, side.backend)


def check(side: sides.Side, row: str, events: Events) -> dict[str, Any]:
    """First call, and whether the masses are those of awkward's CPU backend."""
    clock = sides.Clock()
    found = dilepton(events.electrons, events.muons)
    side.finish()
    result: dict[str, Any] = {"first_ms": clock.ms()}
    if not side.is_stock_cpu:
        with side.stock():
            host = Events(events.events, "cpu")
            expected = dilepton(host.electrons, host.muons)
            for name, mine, theirs in zip(("electrons", "muons"), found, expected, strict=True):
                problem = _problem(operations.on_host(mine), theirs)
                if problem:
                    result["wrong"] = f"{name}: {problem}"
    return result


def _problem(found: ak.Array, expected: ak.Array) -> str | None:
    if len(found) != len(expected):
        return f"{len(found)} pairs instead of {len(expected)}"
    # Single precision, and other implementations of cosh and cos.
    close = np.allclose(
        ak.to_numpy(found), ak.to_numpy(expected), rtol=1e-3, atol=0.05, equal_nan=True
    )
    return None if close else "other masses"


def measure(side: sides.Side, row: str, events: Events, seconds: float) -> dict[str, Any]:
    """Wall time of the whole selection."""
    return side.wall(lambda: dilepton(events.electrons, events.muons), seconds)
