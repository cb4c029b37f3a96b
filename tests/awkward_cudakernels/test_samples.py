"""Generated samples and NanoAOD-style files."""

from __future__ import annotations

import sys
from pathlib import Path

import awkward as ak
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from awkward_cudakernels import samples


def test_the_same_seed_gives_the_same_sample():
    one, two, other = (samples.generate(1000, seed).array() for seed in (1, 1, 2))
    assert ak.array_equal(one, two)
    assert not ak.array_equal(one, other)


def test_a_longer_sample_is_made_in_chunks(monkeypatch):
    monkeypatch.setattr(samples, "CHUNK", 100)
    done = []
    sample = samples.generate(250, 1, done.append)
    assert done == [100, 200, 250]
    assert sample.events == 250
    assert sample.muons == len(sample.columns["pt"])
    first = samples.generate(100, 1)
    assert np.array_equal(first.counts, sample.counts[:100])


def test_generated_muons_are_what_a_detector_sees():
    sample = samples.generate(20_000, 3)
    columns = sample.columns
    assert columns["pt"].min() > 3
    assert np.abs(columns["eta"]).max() < 2.4
    assert np.abs(columns["phi"]).max() <= np.float32(np.pi)
    assert set(np.unique(columns["charge"])) == {-1, 1}
    assert sample.counts.min() == 0
    assert sample.counts.max() >= 4


def test_a_decay_conserves_mass_and_momentum():
    rng = np.random.default_rng(5)
    mass, pair_pt = rng.uniform(1, 150, 500), rng.uniform(0, 80, 500)
    energy, momentum = 0, 0
    for pt, eta, phi in samples._decay(rng, mass, pair_pt):
        p = np.stack([pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta)])
        energy = energy + np.sqrt((p**2).sum(axis=0) + samples.MUON_MASS**2)
        momentum = momentum + p
    assert np.sqrt(energy**2 - (momentum**2).sum(axis=0)) == pytest.approx(mass, rel=1e-6)
    assert np.hypot(momentum[0], momentum[1]) == pytest.approx(pair_pt, abs=1e-9)


def test_both_files_hold_the_same_muons(data: Path):
    pytest.importorskip("uproot")
    parquet, root = (samples.read(data / f"dimuon.{kind}") for kind in ("parquet", "root"))
    assert parquet.events == root.events == 40
    assert parquet.muons == 84
    assert ak.array_equal(parquet.array(), root.array())


def test_a_collection_of_records_is_read_like_columns(data: Path, tmp_path: Path):
    muons = samples.read(data / "dimuon.parquet").array()
    ak.to_parquet(ak.zip({"Muon": muons}, depth_limit=1), tmp_path / "records.parquet")
    assert ak.array_equal(samples.read(tmp_path / "records.parquet").array(), muons)

    uproot = pytest.importorskip("uproot")
    with uproot.recreate(tmp_path / "rntuple.root") as file:
        file.mkrntuple("Events", {"Muon": muons})
    assert ak.array_equal(samples.read(tmp_path / "rntuple.root").array(), muons)


def test_nullable_columns_that_miss_nothing_are_read_and_a_mass_is_added(tmp_path: Path):
    columns = {
        "Muon_pt": [[10.0, 20.0], [], [30.0]],
        "Muon_eta": [[0.1, 0.2], [], [0.3]],
        "Muon_phi": [[1.0, 2.0], [], [3.0]],
        "Muon_charge": [[1, -1], [], [1]],
    }
    pq.write_table(pa.table(columns), tmp_path / "plain")  # no suffix: known by its first bytes
    array = samples.read(tmp_path / "plain").array()
    assert array.pt.to_list() == columns["Muon_pt"]
    assert array.charge.to_list() == columns["Muon_charge"]
    assert ak.all(array.mass == samples.MUON_MASS)


GOOD = {f"Muon_{name}": [[1.0], [2.0]] for name in ("pt", "eta", "phi", "charge")}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (dict.fromkeys(GOOD), "has no muons: it lacks the columns"),
        ({"Muon_eta": None}, "of its muons it lacks Muon_eta"),
        ({"Muon_pt": [1.0, 2.0]}, "Muon_pt is not one list of numbers per event"),
        ({"Muon_pt": [["a"], ["b"]]}, "Muon_pt is not one list of numbers per event"),
        ({"Muon_eta": [[1.0], [2.0, 3.0]]}, "differ in length"),
        ({"Muon_eta": [[1.0], [None]]}, "Muon_eta has missing values"),
        ({"Muon_eta": [[1.0], None]}, "Muon_eta has missing values"),
        ({name: [[], []] for name in GOOD}, "has no muons: all of its 2 events"),
    ],
)
def test_unusable_columns(tmp_path: Path, change, sentence):
    columns = {name: value for name, value in ({"run": [1, 2]} | GOOD | change).items() if value is not None}
    types = {"run": pa.int64()}
    for name in GOOD:
        types[name] = pa.list_(pa.float64())
    types |= (
        {"Muon_pt": pa.array(columns["Muon_pt"]).type}
        if "Muon_pt" in change and columns.get("Muon_pt")
        else {}
    )
    path = tmp_path / "bad.parquet"
    pq.write_table(pa.table({name: pa.array(value, types[name]) for name, value in columns.items()}), path)
    with pytest.raises(samples.SampleError, match=sentence):
        samples.read(path)


@pytest.mark.parametrize("kind", ["parquet", "root"])
@pytest.mark.parametrize("damage", ["cut off", "empty", "other"])
def test_damaged_files(data: Path, tmp_path: Path, kind, damage):
    if kind == "root":
        pytest.importorskip("uproot")
    whole = (data / f"dimuon.{kind}").read_bytes()
    path = tmp_path / f"bad.{kind}"
    path.write_bytes(
        {"cut off": whole[: len(whole) // 2], "empty": b"", "other": b"root PAR1 " * 500}[damage]
    )
    with pytest.raises(samples.SampleError, match="is damaged, cut off, or of another kind"):
        samples.read(path)


def test_a_file_of_another_kind(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("no muons here")
    with pytest.raises(samples.SampleError, match="neither a Parquet nor a ROOT file"):
        samples.read(tmp_path / "notes.txt")
    with pytest.raises(samples.SampleError, match="There is no file"):
        samples.read(tmp_path / "nowhere.parquet")


def test_root_without_uproot_says_what_to_install(data: Path, monkeypatch):
    monkeypatch.setitem(sys.modules, "uproot", None)
    with pytest.raises(samples.SampleError, match="pip install uproot"):
        samples.read(data / "dimuon.root")


def test_root_without_events(tmp_path: Path):
    uproot = pytest.importorskip("uproot")
    with uproot.recreate(tmp_path / "other.root") as file:
        file.mktree("Runs", {"run": np.int64})
        file["Runs"].extend({"run": np.arange(3)})
    with pytest.raises(samples.SampleError, match="no tree called Events"):
        samples.read(tmp_path / "other.root")
