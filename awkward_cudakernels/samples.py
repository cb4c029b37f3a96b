"""Muons of collision events: generated, or read from a NanoAOD-style file.

A sample holds plain NumPy arrays, not an Awkward Array, so that one sample can be built under whichever
awkward backend is registered at the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
from numpy.typing import NDArray

__all__ = ["MUON_MASS", "MuonSample", "SampleError", "generate", "read"]

#: GeV, PDG.
MUON_MASS = 0.1056584

REQUIRED = ("pt", "eta", "phi", "charge")
OPTIONAL = ("mass",)

#: Events generated at a time; the random stream of each chunk depends on the seed and the chunk's number.
CHUNK = 1 << 18


class SampleError(Exception):
    """The file cannot be used as a sample; the text is one sentence for the user."""


@dataclass(frozen=True)
class MuonSample:
    """Muons of ``len(counts)`` events.

    Attributes:
        counts: muons of each event, int64 of shape (events,).
        columns: ``pt``, ``eta``, ``phi``, ``mass`` (floating) and ``charge`` (signed integer), each of shape
            (muons,), in event order.
        origin: where the muons are from, for people.
    """

    counts: NDArray[np.int64]
    columns: dict[str, NDArray[Any]]
    origin: str

    @property
    def events(self) -> int:
        return len(self.counts)

    @property
    def muons(self) -> int:
        return int(self.counts.sum())

    def array(self) -> ak.Array:
        """The sample as ``events * var * {pt, eta, phi, mass, charge}`` on awkward's current CPU backend."""
        offsets = np.zeros(len(self.counts) + 1, dtype=np.int64)
        np.cumsum(self.counts, out=offsets[1:])
        record = ak.contents.RecordArray(
            [ak.contents.NumpyArray(column) for column in self.columns.values()], list(self.columns)
        )
        return ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(offsets), record))


# -- generated samples ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Process:
    """One way to make a muon pair: how often, its mass, and its transverse momentum in GeV."""

    share: float
    mass: Callable[[np.random.Generator, int], NDArray[np.float64]]
    pt_min: float
    pt_mean: float


def _line(mass: float) -> Callable[[np.random.Generator, int], NDArray[np.float64]]:
    return lambda rng, n: np.full(n, mass)


def _z_boson(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Breit-Wigner of the Z, between 20 and 500 GeV: its cumulative distribution, inverted."""
    mass, half_width = 91.1876, 2.4952 / 2
    low, high = np.arctan((20 - mass) / half_width), np.arctan((500 - mass) / half_width)
    return mass + half_width * np.tan(rng.uniform(low, high, n))


def _continuum(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Falls as the mass to the power of -1.5, from 0.3 to 500 GeV."""
    low, high = 0.3**-0.5, 500.0**-0.5
    return (low - rng.uniform(0, 1, n) * (low - high)) ** -2


_PROCESSES = (
    _Process(0.20, _z_boson, 0.0, 16.0),
    _Process(0.10, _line(3.0969), 6.0, 6.0),  # J/psi
    _Process(0.006, _line(3.6861), 6.0, 6.0),  # psi(2S)
    _Process(0.04, _line(9.4604), 0.0, 8.0),  # Upsilon(1S), (2S), (3S)
    _Process(0.012, _line(10.0233), 0.0, 8.0),
    _Process(0.008, _line(10.3551), 0.0, 8.0),
    _Process(0.30, _continuum, 4.0, 8.0),
)
_NO_PAIR = 1 - sum(p.share for p in _PROCESSES)
_SOFT_PER_EVENT = 0.4
_RESOLUTION = 0.012  # of the transverse momentum
_PT_MIN, _ETA_MAX = 3.0, 2.4  # what the detector sees


def generate(
    events: int, seed: int = 20260, progress: Callable[[int], object] = lambda done: None
) -> MuonSample:
    """Make a sample: muon pairs of Z, J/psi, Upsilon and a falling continuum, and soft muons of no pair.

    Pairs decay isotropically, are boosted, and seen with a resolution of 1.2% inside an acceptance of
    pt > 3 GeV and |eta| < 2.4; so an event has none to several muons. The same ``events`` and ``seed`` give
    the same sample.

    Args:
        events: how many, at least 1.
        seed: of the random numbers.
        progress: called with the number of events made so far.
    """
    chunks = []
    for number, start in enumerate(range(0, events, CHUNK)):
        size = min(CHUNK, events - start)
        chunks.append(_generate_chunk(size, np.random.default_rng([seed, number])))
        progress(start + size)
    counts = np.concatenate([counts for counts, _ in chunks])
    columns = {name: np.concatenate([columns[name] for _, columns in chunks]) for name in chunks[0][1]}
    return MuonSample(counts, columns, f"generated, seed {seed}")


def _generate_chunk(
    events: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], dict[str, NDArray[Any]]]:
    process = rng.choice(len(_PROCESSES) + 1, size=events, p=[p.share for p in _PROCESSES] + [_NO_PAIR])
    with_pair = np.flatnonzero(process < len(_PROCESSES))

    mass, pair_pt = np.empty(len(with_pair)), np.empty(len(with_pair))
    for number, p in enumerate(_PROCESSES):
        chosen = process[with_pair] == number
        n = int(np.count_nonzero(chosen))
        mass[chosen] = p.mass(rng, n)
        pair_pt[chosen] = p.pt_min + rng.gamma(2.0, p.pt_mean / 2, n)
    first, second = _decay(rng, mass, pair_pt)

    soft_event = np.repeat(np.arange(events), rng.poisson(_SOFT_PER_EVENT, events))
    n_soft = len(soft_event)
    soft = (
        _PT_MIN + rng.exponential(4.0, n_soft),
        rng.uniform(-_ETA_MAX, _ETA_MAX, n_soft),
        rng.uniform(-np.pi, np.pi, n_soft),
    )
    sign = rng.choice(np.array([-1, 1]), len(with_pair))

    event = np.concatenate([with_pair, with_pair, soft_event])
    pt, eta, phi = (np.concatenate(parts) for parts in zip(first, second, soft))
    charge = np.concatenate([sign, -sign, rng.choice(np.array([-1, 1]), n_soft)])
    pt *= rng.normal(1.0, _RESOLUTION, len(pt))

    seen = np.flatnonzero((pt > _PT_MIN) & (np.abs(eta) < _ETA_MAX))
    seen = seen[np.argsort(event[seen], kind="stable")]
    columns: dict[str, NDArray[Any]] = {
        "pt": pt[seen].astype(np.float32),
        "eta": eta[seen].astype(np.float32),
        "phi": phi[seen].astype(np.float32),
        "mass": np.full(len(seen), MUON_MASS, dtype=np.float32),
        "charge": charge[seen].astype(np.int32),
    }
    return np.bincount(event[seen], minlength=events).astype(np.int64), columns


def _decay(
    rng: np.random.Generator, mass: NDArray[np.float64], pair_pt: NDArray[np.float64]
) -> tuple[Sequence[NDArray[np.float64]], Sequence[NDArray[np.float64]]]:
    """(pt, eta, phi) of the two muons of pairs at rest decaying isotropically, boosted to ``pair_pt``."""
    n = len(mass)
    rapidity, azimuth = rng.normal(0, 1.1, n), rng.uniform(-np.pi, np.pi, n)
    transverse = np.hypot(mass, pair_pt)
    pair = np.stack([pair_pt * np.cos(azimuth), pair_pt * np.sin(azimuth), transverse * np.sinh(rapidity)])
    energy = transverse * np.cosh(rapidity)

    cosine, angle = rng.uniform(-1, 1, n), rng.uniform(-np.pi, np.pi, n)
    sine = np.sqrt(1 - cosine**2)
    momentum = np.sqrt(mass**2 / 4 - MUON_MASS**2)
    at_rest = momentum * np.stack([sine * np.cos(angle), sine * np.sin(angle), cosine])

    # Lorentz boost of +at_rest and -at_rest, each with energy mass / 2, along the pair's momentum.
    along = (pair * at_rest).sum(axis=0) / (mass * (energy + mass))
    return _cylindrical(pair * (0.5 + along) + at_rest), _cylindrical(pair * (0.5 - along) - at_rest)


def _cylindrical(p: NDArray[np.float64]) -> Sequence[NDArray[np.float64]]:
    pt = np.hypot(p[0], p[1])
    return pt, np.arcsinh(p[2] / pt), np.arctan2(p[1], p[0])


# -- files ---------------------------------------------------------------------------------------------------


def read(path: str | Path) -> MuonSample:
    """Read the muons of a NanoAOD-style file: columns ``Muon_pt``, ``Muon_eta``, ``Muon_phi``, ``Muon_charge``
    and, if it is there, ``Muon_mass``, each a list of numbers per event. In Parquet, a column ``Muon`` of
    lists of records with these fields does too.

    Args:
        path: a Parquet file or folder, or a ROOT file with a tree ``Events`` (needs uproot).

    Raises:
        SampleError: with one sentence for the user, if that cannot be done.
    """
    path = Path(path)
    if not path.exists():
        raise SampleError(f"There is no file {path}.")
    kind = _kind(path)
    try:
        columns = _read_root(path) if kind == "ROOT" else _read_parquet(path)
    except (SampleError, MemoryError):
        raise
    except PermissionError as err:
        raise SampleError(f"{path} cannot be opened: {err.strerror}.") from err
    except Exception as err:  # what the readers raise on damaged input is of every kind
        raise SampleError(
            f"{path} cannot be read as a {kind} file: it is damaged, cut off, or of another kind."
        ) from err
    return _sample(path, columns)


def _kind(path: Path) -> str:
    if path.is_dir():
        return "Parquet"
    known = {".root": "ROOT", ".parquet": "Parquet", ".parq": "Parquet", ".pq": "Parquet"}
    if path.suffix.lower() in known:
        return known[path.suffix.lower()]
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as err:
        raise SampleError(f"{path} cannot be opened: {err.strerror}.") from err
    if magic == b"PAR1":
        return "Parquet"
    if magic == b"root":
        return "ROOT"
    raise SampleError(f"{path} is neither a Parquet nor a ROOT file.")


def _wanted(path: Path, there: Sequence[str], prefix: str = "Muon_") -> list[str]:
    """The muon columns to read, of the ones that are there."""
    missing = [f"{prefix}{name}" for name in REQUIRED if f"{prefix}{name}" not in there]
    if len(missing) == len(REQUIRED):
        raise SampleError(f"{path} has no muons: it lacks the columns {', '.join(missing)}.")
    if missing:
        raise SampleError(f"{path} cannot be used: of its muons it lacks {', '.join(missing)}.")
    return [name for name in REQUIRED + OPTIONAL if f"{prefix}{name}" in there]


def _read_parquet(path: Path) -> dict[str, ak.Array]:
    form = ak.metadata_from_parquet(str(path))["form"]
    prefix = "Muon." if "Muon" in form.fields else "Muon_"
    names = _wanted(path, form.columns(), prefix)
    array = ak.from_parquet(str(path), columns=[prefix + name for name in names])
    muons = array["Muon"] if prefix == "Muon." else array
    return {name: muons[name if prefix == "Muon." else prefix + name] for name in names}


def _read_root(path: Path) -> dict[str, ak.Array]:
    try:
        import uproot
    except ImportError as err:
        raise SampleError(
            "Reading a ROOT file needs uproot: run `pip install uproot` and try again."
        ) from err
    with uproot.open(path) as file:
        if "Events" not in file:
            raise SampleError(f"{path} has no tree called Events, where NanoAOD keeps its columns.")
        events = file["Events"]
        # "Muon." is the collection of an RNTuple, "Muon_" the branches of a TTree.
        prefix = "Muon." if "Muon" in events.keys() else "Muon_"
        names = _wanted(path, events.keys(), prefix)
        return {name: events[prefix + name].array(library="ak") for name in names}


def _sample(path: Path, columns: dict[str, ak.Array]) -> MuonSample:
    counts: NDArray[np.int64] | None = None
    flat: dict[str, NDArray[Any]] = {}
    for name, column in columns.items():
        if column.ndim != 2 or column.fields:
            raise SampleError(f"{path} cannot be used: Muon_{name} is not one list of numbers per event.")
        if any(ak.any(ak.is_none(column, axis=axis), axis=None) for axis in (0, 1)):
            raise SampleError(f"{path} cannot be used: Muon_{name} has missing values.")
        these = _plain(ak.num(column, axis=1)).astype(np.int64)
        if counts is not None and not np.array_equal(these, counts):
            raise SampleError(
                f"{path} cannot be used: Muon_{name} and Muon_pt differ in length in some event."
            )
        counts = these
        values = _plain(ak.flatten(column, axis=1))
        if values.dtype.kind not in "biuf":
            raise SampleError(f"{path} cannot be used: Muon_{name} is not one list of numbers per event.")
        flat[name] = values.astype(np.int32 if name == "charge" else np.result_type(values, np.float32))
    assert counts is not None
    if not counts.sum():
        raise SampleError(f"{path} has no muons: all of its {len(counts)} events are without one.")
    flat.setdefault("mass", np.full(len(flat["pt"]), MUON_MASS, dtype=flat["pt"].dtype))
    ordered = {name: np.ascontiguousarray(flat[name]) for name in ("pt", "eta", "phi", "mass", "charge")}
    return MuonSample(counts, ordered, str(path))


def _plain(array: ak.Array) -> NDArray[Any]:
    """A flat array of an option type that misses nothing, or of none."""
    return np.ma.getdata(ak.to_numpy(array))
