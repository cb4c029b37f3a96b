"""The dimuon analysis: its physics, its check against awkward's own kernels, and the command."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import awkward as ak
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import awkward_cudakernels
from awkward_cudakernels import demo, environment, samples
from awkward_cudakernels.cli import main


def by_hand(sample: samples.MuonSample, cuts: demo.Cuts) -> dict:
    """The same analysis with loops and no awkward."""
    stops = np.cumsum(sample.counts)
    found: dict = {"selected": [], "mass": [], "same_charge": 0, "best_mass": []}
    for start, stop in zip(stops - sample.counts, stops):
        c = {name: values[start:stop].astype(float) for name, values in sample.columns.items()}
        good = [i for i in range(stop - start) if c["pt"][i] > cuts.pt and abs(c["eta"][i]) < cuts.eta]
        found["selected"].append(len(good))
        x, y, z = c["pt"] * np.cos(c["phi"]), c["pt"] * np.sin(c["phi"]), c["pt"] * np.sinh(c["eta"])
        energy = np.sqrt(x**2 + y**2 + z**2 + c["mass"] ** 2)
        pairs = []
        for i, j in itertools.combinations(good, 2):
            if c["charge"][i] == c["charge"][j]:
                found["same_charge"] += 1
                continue
            # m1^2 + m2^2 + 2 (E1 E2 - p1 p2): not the formula of the demo
            dot = x[i] * x[j] + y[i] * y[j] + z[i] * z[j]
            mass2 = c["mass"][i] ** 2 + c["mass"][j] ** 2 + 2 * (energy[i] * energy[j] - dot)
            pairs.append((np.hypot(x[i] + x[j], y[i] + y[j]), np.sqrt(mass2)))
        found["mass"] += [mass for _, mass in pairs]
        found["best_mass"] += [max(pairs)[1]] if pairs else []
    return found


@pytest.mark.parametrize("source", ["generated", "dimuon.parquet", "dimuon.root"])
def test_physics_against_loops(data: Path, source):
    if source.endswith(".root"):
        pytest.importorskip("uproot")
    sample = samples.generate(3000, 11) if source == "generated" else samples.read(data / source)
    cuts = demo.Cuts(pt=5.0, eta=2.1)
    expected = by_hand(sample, cuts)
    found = demo.analyse(sample.array(), cuts)

    assert found.selected.to_list() == expected["selected"]
    assert ak.sum(found.same_charge) == expected["same_charge"]
    # Pairs are in order of their muons' pt in one, in order of the file in the other.
    assert np.sort(ak.to_numpy(ak.flatten(found.mass))) == pytest.approx(np.sort(expected["mass"]), rel=1e-6)
    best = ak.to_numpy(ak.drop_none(found.best_mass))
    assert best == pytest.approx(np.array(expected["best_mass"]), rel=1e-6)
    counts, _ = np.histogram(expected["mass"], bins=demo.EDGES)
    assert np.abs(found.counts - counts).sum() <= 2  # a mass on an edge


def test_the_resonances_are_where_they_belong():
    sample = samples.generate(50_000, 7)
    found = demo.analyse(sample.array(), demo.Cuts())
    mass = ak.to_numpy(ak.flatten(found.mass))
    for name, expected, width in (("J/psi", 3.0969, 0.01), ("Z", 91.19, 0.3)):
        low, high = demo.WINDOWS[name]
        assert np.median(mass[(mass > low) & (mass < high)]) == pytest.approx(expected, abs=width)
        # and a peak is there: far more than beside it
        beside = ((mass > low - (high - low)) & (mass < low)).sum()
        assert ((mass > low) & (mass < high)).sum() > 3 * beside


def test_a_run_agrees_with_awkward_and_times_each_step():
    steps = []
    report = demo.run(samples.generate(2000, 1), "cpu", progress=steps.append)
    assert report.differences == []
    assert list(report.seconds) == list(demo.STEPS)
    assert all(set(seconds) == {"first", "second", "stock_cpu"} for seconds in report.seconds.values())
    assert len(steps) == 3 * len(demo.STEPS)
    assert report.counts.sum() <= report.results["opposite-charge pairs"]
    assert {"awkward_argsort", "awkward_ListArray_combinations", "awkward_reduce_argmax"} <= set(
        report.families
    )
    missing = awkward_cudakernels.status()["missing"]
    assert all(ours == (name not in missing) for name, ours in report.families.items())


def test_a_wrong_number_is_found(monkeypatch):
    """The check has to fail when the kernels do."""
    analyse, calls = demo.analyse, []

    def wrong_at_first(muons, cuts, step):
        calls.append(len(calls))
        found = analyse(muons, cuts, step)
        if len(calls) <= 2:
            found.selected = found.selected + (np.arange(len(muons)) == 5)
        return found

    monkeypatch.setattr(demo, "analyse", wrong_at_first)
    report = demo.run(samples.generate(100, 1), "cpu")
    assert len(report.differences) == 1
    assert report.differences[0].startswith("selected: 1 of 100 values differ, the first at 5 ")


def test_the_stock_backend_is_back_afterwards():
    before = type(ak.Array([1]).layout.backend)
    demo.run(samples.generate(100, 1), "cpu")
    assert type(ak.Array([1]).layout.backend) is before


@pytest.mark.gpu
def test_a_run_on_the_gpu_agrees_with_awkward():
    report = demo.run(samples.generate(20_000, 1), "cuda")
    assert report.differences == []
    assert list(report.seconds) == ["copy to the device", *demo.STEPS]


# -- the command ---------------------------------------------------------------------------------------------


def invoke(*arguments: object):
    return CliRunner().invoke(main, ["demo", *map(str, arguments)])


def test_default_output():
    result = invoke("--events", 2000, "--backend", "cpu")
    assert result.exit_code == 0, result.output
    for text in (
        "2,000 events",
        "host (numba)",
        "awkward 2.",
        "invariant mass",
        "Z median mass",
        "Check passed",
    ):
        assert text in result.output


@pytest.mark.parametrize("kind", ["parquet", "root"])
def test_files_plots_and_json(data: Path, tmp_path: Path, kind):
    if kind == "root":
        pytest.importorskip("uproot")
    plot = tmp_path / "plot.png"
    result = invoke("--input", data / f"dimuon.{kind}", "--backend", "cpu", "--output", plot, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["results"]["events"] == 40
    assert found["results"]["muons"] == 84
    assert found["results"]["opposite-charge pairs"] == 30
    assert found["check"] == {"agrees": True, "differences": []}
    assert found["backend"] == "cpu"
    assert sum(found["histogram"]["counts"]) == 30
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_no_pair_at_all(tmp_path: Path):
    arguments = ("--events", 50, "--pt-cut", 10_000, "--backend", "cpu", "--output", tmp_path / "empty.pdf")
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "empty.pdf").read_bytes().startswith(b"%PDF")
    assert json.loads(invoke(*arguments, "--json").stdout)["results"]["Z median mass [GeV]"] is None


def test_failed_check_has_an_exit_code_of_its_own(monkeypatch):
    def run(*args, **kwargs):
        nothing = np.zeros(len(demo.EDGES) - 1, dtype=np.int64)
        return demo.Report(
            {"events": 1}, demo.EDGES, nothing, nothing, differences=["mass: 1 of 2 values differ"]
        )

    monkeypatch.setattr(demo, "run", run)
    result = invoke("--events", 10, "--backend", "cpu")
    assert result.exit_code == 1
    assert "Check FAILED" in result.output
    assert "mass: 1 of 2 values differ" in result.output


def one_sentence(result) -> str:
    """The only line on stderr, of a command that ends with exit code 2 and no traceback."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert isinstance(result.exception, SystemExit)
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert line.endswith(".")
    return line


def test_problems_are_one_sentence(data: Path, tmp_path: Path, monkeypatch):
    assert "There is no file" in one_sentence(invoke("--input", tmp_path / "nowhere.root"))

    (tmp_path / "cut.parquet").write_bytes((data / "dimuon.parquet").read_bytes()[:1000])
    assert "damaged" in one_sentence(invoke("--input", tmp_path / "cut.parquet"))

    pq.write_table(pa.table({"run": [1]}), tmp_path / "no_muons.parquet")
    assert "has no muons" in one_sentence(invoke("--input", tmp_path / "no_muons.parquet"))

    monkeypatch.setattr(environment, "why_no_cuda", lambda: "this machine has no NVIDIA driver")
    assert "no NVIDIA driver" in one_sentence(invoke("--backend", "cuda"))

    assert "not both" in one_sentence(invoke("--input", data / "dimuon.parquet", "--events", 5))
    assert "must end in one of" in one_sentence(invoke("--output", tmp_path / "plot.txt"))
    assert "no folder" in one_sentence(invoke("--output", tmp_path / "nowhere" / "plot.png"))


def test_too_many_events_for_the_memory(monkeypatch):
    def generate(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(samples, "generate", generate)
    assert "not enough memory" in one_sentence(invoke("--backend", "cpu"))


def test_auto_takes_the_cpu_where_there_is_no_gpu(monkeypatch):
    monkeypatch.setattr(environment, "why_no_cuda", lambda: "this machine has no NVIDIA driver")
    result = invoke("--events", 10, "--json")
    assert json.loads(result.stdout)["backend"] == "cpu"
