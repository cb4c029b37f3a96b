"""A dimuon analysis in plain awkward code: the main job of the demo.

:func:`analyse` is what a physicist writes, and knows nothing of backends; :func:`run` runs it on this
project's kernels and on awkward's own, times the steps, and compares the two.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import awkward as ak
import numpy as np
from numpy.typing import NDArray

import awkward_cudakernels
from awkward_cudakernels.samples import MuonSample

__all__ = ["EDGES", "STEPS", "WINDOWS", "Analysis", "Cuts", "Report", "analyse", "run"]

STEPS = ("select muons", "pair them", "invariant mass", "best pair per event", "histogram")

#: GeV; 100 bins per decade, each 2.3% wide: about the resolution, so that the J/psi and the Z are both lines.
EDGES = np.geomspace(0.2, 200.0, 301)

#: GeV: where the resonances are counted.
WINDOWS = {"J/psi": (2.9, 3.3), "Upsilon": (9.0, 10.6), "Z": (81.0, 101.0)}


@dataclass(frozen=True)
class Cuts:
    """Which muons are selected: transverse momentum above ``pt`` GeV, ``abs(eta)`` below ``eta``."""

    pt: float = 4.0
    eta: float = 2.4


@dataclass
class Analysis:
    """What :func:`analyse` finds; the arrays are on the backend of its input."""

    selected: ak.Array  # muons per event
    pt_sum: ak.Array  # of the selected muons, per event
    second_pt: ak.Array  # of the second-hardest muon per event, 0 where there is none
    same_charge: ak.Array  # pairs per event
    mass: ak.Array  # of the opposite-charge pairs: var * float64 per event
    best_mass: ak.Array  # of the hardest opposite-charge pair per event, None where there is none
    counts: Any  # of all opposite-charge pairs, per bin of EDGES


#: Called around each step with its name.
Step = Callable[[str], contextlib.AbstractContextManager[object]]


def analyse(muons: ak.Array, cuts: Cuts, step: Step = contextlib.nullcontext) -> Analysis:
    """Find opposite-charge muon pairs, their invariant masses and the hardest pair of each event.

    Args:
        muons: ``events * var * {pt, eta, phi, mass, charge}``, on any backend.
        cuts: which muons take part.
        step: a context manager entered for each of ``STEPS``.
    """
    with step("select muons"):
        good = muons[(muons.pt > cuts.pt) & (abs(muons.eta) < cuts.eta)]
        good = good[ak.argsort(good.pt, axis=1, ascending=False)]
        selected = ak.num(good, axis=1)
        pt_sum = ak.sum(good.pt, axis=1)
        second_pt = ak.fill_none(ak.pad_none(good.pt, 2, axis=1, clip=True), 0.0)[:, 1]

    with step("pair them"):
        pairs = ak.combinations(good, 2, axis=1, fields=["first", "second"])
        opposite = pairs.first.charge != pairs.second.charge
        same_charge = ak.sum(~opposite, axis=1)
        pairs = pairs[opposite]

    with step("invariant mass"):
        energy, x, y, z = (a + b for a, b in zip(_four_momentum(pairs.first), _four_momentum(pairs.second)))
        # Rounding can leave a pair of collinear muons just below zero.
        mass = np.sqrt(np.maximum(energy**2 - x**2 - y**2 - z**2, 0.0))

    with step("best pair per event"):
        best = ak.argmax(x**2 + y**2, axis=1, keepdims=True)
        best_mass = ak.firsts(mass[best], axis=1)

    with step("histogram"):
        values = ak.flatten(mass, axis=1)
        if ak.backend(values) == "cuda":
            import cupy

            counts = cupy.histogram(ak.to_cupy(values), bins=cupy.asarray(EDGES))[0]
        else:
            counts = np.histogram(ak.to_numpy(values), bins=EDGES)[0]

    return Analysis(selected, pt_sum, second_pt, same_charge, mass, best_mass, counts)


def _four_momentum(muons: ak.Array) -> tuple[ak.Array, ak.Array, ak.Array, ak.Array]:
    """(E, px, py, pz) in double precision: the masses are differences of large squares."""
    pt, eta, phi, mass = (ak.values_astype(muons[name], np.float64) for name in ("pt", "eta", "phi", "mass"))
    return np.sqrt((pt * np.cosh(eta)) ** 2 + mass**2), pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta)


# -- running it ----------------------------------------------------------------------------------------------


@dataclass
class Report:
    """What :func:`run` did and found.

    Attributes:
        results: the numbers of the analysis, by name.
        edges, counts: the mass spectrum, all opposite-charge pairs.
        best_counts: the same, hardest pair per event.
        seconds: per step, of the first run, a second one, and awkward's own CPU kernels.
        families: the kernel families that were called, and whether each is this project's; of the others,
            awkward's own was used.
        differences: from awkward's own CPU kernels, a sentence each; empty when the two agree.
    """

    results: dict[str, float]
    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    best_counts: NDArray[np.int64]
    seconds: dict[str, dict[str, float]] = field(default_factory=dict)
    families: dict[str, bool] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)


def run(
    sample: MuonSample,
    backend: str,
    cuts: Cuts = Cuts(),
    progress: Callable[[str], object] = lambda what: None,
) -> Report:
    """Analyse a sample on this project's kernels, twice, and once on awkward's own CPU kernels.

    No backend of this project may be registered when it is called, and none is afterwards.

    Args:
        sample: the muons.
        backend: "cpu" (the host executor) or "cuda".
        cuts: of the analysis.
        progress: called with the name of each step before it begins.
    """
    seconds: dict[str, dict[str, float]] = {name: {} for name in STEPS}
    if backend == "cuda":
        seconds = {"copy to the device": {}, **seconds}

    families: dict[str, bool] = {}
    awkward_cudakernels.register(backend)
    try:
        wait = awkward_cudakernels.synchronize_cuda if backend == "cuda" else _nothing
        for column, note in (("first", ""), ("second", ", second run")):
            step = _timer(seconds, column, note, progress, wait)
            muons = sample.array()
            if backend == "cuda":
                with step("copy to the device"):
                    muons = ak.to_backend(muons, "cuda")
            with _watch(muons.layout.backend, families) if column == "first" else contextlib.nullcontext():
                ours = _on_host(analyse(muons, cuts, step))
    finally:
        awkward_cudakernels.unregister()

    step = _timer(seconds, "stock_cpu", ", awkward's own CPU kernels", progress, _nothing)
    stock = _on_host(analyse(sample.array(), cuts, step))

    best = ours["best_mass"]
    return Report(
        results=_results(sample, ours),
        edges=EDGES,
        counts=ours["counts"],
        best_counts=np.histogram(best[~np.isnan(best)], bins=EDGES)[0],
        seconds=seconds,
        families=families,
        differences=_differences(ours, stock),
    )


def _nothing() -> None:
    pass


@contextlib.contextmanager
def _watch(backend: Any, families: dict[str, bool]) -> Iterator[None]:
    """Note which kernel families a registered backend is asked for, and whether it answers with its own."""
    kind = type(backend)
    original = kind.__getitem__

    def getitem(self: Any, key: Any) -> Any:
        found = original(self, key)
        families[key[0]] = type(found).__module__.startswith("awkward_cudakernels.")
        return found

    kind.__getitem__ = getitem
    try:
        yield
    finally:
        kind.__getitem__ = original


def _timer(
    seconds: dict[str, dict[str, float]],
    column: str,
    note: str,
    progress: Callable[[str], object],
    wait: Callable[[], object],
) -> Step:
    @contextlib.contextmanager
    def step(name: str) -> Iterator[None]:
        progress(name + note)
        start = time.perf_counter()
        yield
        wait()
        seconds[name][column] = time.perf_counter() - start

    return step


def _on_host(analysis: Analysis) -> dict[str, NDArray[Any]]:
    """Every array of an analysis as NumPy, the ragged one as its counts and its content."""
    arrays = {}
    for name, value in vars(analysis).items():
        if name == "counts":
            arrays[name] = value if isinstance(value, np.ndarray) else value.get()
            continue
        value = ak.to_backend(value, "cpu")
        if name == "mass":
            arrays["opposite_charge"] = ak.to_numpy(ak.num(value, axis=1))
            arrays["mass"] = ak.to_numpy(ak.flatten(value, axis=1))
        else:
            arrays[name] = np.ma.filled(ak.to_numpy(value), np.nan if name == "best_mass" else 0)
    return arrays


def _results(sample: MuonSample, found: dict[str, NDArray[Any]]) -> dict[str, float]:
    mass, best = found["mass"], found["best_mass"]
    results: dict[str, float] = {
        "events": sample.events,
        "muons": sample.muons,
        "selected muons": int(found["selected"].sum()),
        "events with two or more": int((found["selected"] >= 2).sum()),
        "opposite-charge pairs": len(mass),
        "same-charge pairs": int(found["same_charge"].sum()),
        "events with an opposite-charge pair": int((~np.isnan(best)).sum()),
        "largest pt sum of an event [GeV]": float(found["pt_sum"].max(initial=0.0)),
        "largest second pt of an event [GeV]": float(found["second_pt"].max(initial=0.0)),
    }
    for name, (low, high) in WINDOWS.items():
        inside = mass[(mass >= low) & (mass < high)]
        results[f"{name} pairs"] = len(inside)
        results[f"{name} median mass [GeV]"] = float(np.median(inside)) if len(inside) else float("nan")
    return results


def _differences(ours: dict[str, NDArray[Any]], stock: dict[str, NDArray[Any]]) -> list[str]:
    """Integers must be equal; what is computed in floating point may differ by rounding, which for a mass,
    the root of a difference of large squares, is below a keV."""
    differences = []
    for name, expected in stock.items():
        found = ours[name]
        label = name.replace("_", " ")
        if found.shape != expected.shape:
            differences.append(f"{label}: {len(found)} values, awkward has {len(expected)}")
            continue
        relative, absolute = 0.0, 0.0
        if expected.dtype.kind == "f":
            relative, absolute = (1e-5, 1e-5) if expected.dtype.itemsize == 4 else (1e-9, 1e-6)
        wrong = ~np.isclose(found, expected, rtol=relative, atol=absolute, equal_nan=True)
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            differences.append(
                f"{label}: {int(wrong.sum())} of {len(expected)} values differ, the first at {first} "
                f"({found[first]} instead of {expected[first]})"
            )
    return differences
