"""``bench``: tables, means, documents and arguments; and one run of everything at tiny sizes."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import math
import sys
import textwrap
import threading
import time
import types

import awkward as ak
import numpy as np
import pytest
from click.testing import CliRunner

from awkward_cudakernels import bench, environment
from awkward_cudakernels.bench import (
    against,
    cold,
    dilepton,
    document,
    kernels,
    launch,
    layers,
    operations,
    plot,
    rates,
    runner,
    settings,
    sides,
    tables,
    timing,
    worker,
)
from awkward_cudakernels.bench.sample import BLOCK, Sample
from awkward_cudakernels.bench.settings import Settings, Task, parse_sizes
from awkward_cudakernels.cli import main

HOST = Settings(device=False, lists=(30,), events=(30,), seconds=0.001)


def invoke(*arguments: str):
    return CliRunner().invoke(main, ["bench", *arguments])


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(environment, "driver", lambda: None)


# -- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("1000,200000", (1_000, 200_000)),
        ("20M, 1k", (1_000, 20_000_000)),
        ("200_000,200k,", (200_000,)),
    ],
)
def test_sizes(text, sizes):
    assert parse_sizes(text) == sizes


@pytest.mark.parametrize("text", ["", ",", "0", "1.5", "-3", "2G", "many"])
def test_what_is_no_size(text):
    with pytest.raises(ValueError, match="write for example 1000,200k,20M"):
        parse_sizes(text)


def test_settings_survive_json():
    given = Settings(True, (1, 2), (3,), "sum", 0.5, 2.0)
    assert Settings.from_dict(json.loads(json.dumps(given.as_dict()))) == given


def test_tasks_go_size_by_size_and_only_where_wanted():
    wanted = Settings(False, only="^b|c$")
    assert settings.tasks("time", "s", ["a", "b", "xc", "cx"], [1, 2], wanted) == [
        Task("time", "s", "b", 1),
        Task("time", "s", "xc", 1),
        Task("time", "s", "b", 2),
        Task("time", "s", "xc", 2),
    ]


def test_rates_leave_out_small_sizes():
    assert rates.sizes(Settings(True)) == (200_000, 2_000_000, 20_000_000)
    assert rates.sizes(Settings(True, lists=(10, 100))) == (100,)


# -- numbers and tables --------------------------------------------------------------------------


def test_geometric_mean():
    assert tables.geometric_mean([]) is None
    assert tables.geometric_mean([4.0]) == pytest.approx(4.0)
    assert tables.geometric_mean([0.5, 2.0, 8.0]) == pytest.approx(2.0)
    assert math.isfinite(tables.geometric_mean([1e300] * 9))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (0, "0"),
        (0.01234, "0.0123"),
        (1.2345, "1.23"),
        (45.67, "45.7"),
        (1234.5, "1,234"),
    ],
)
def test_three_digits(value, text):
    assert tables.number(value) == text


def test_sizes_in_headings():
    assert [tables.size(n) for n in (999, 1_000, 1_500, 200_000, 2_000_000)] == [
        "999",
        "1k",
        "1,500",
        "200k",
        "2M",
    ]


def row(section, name, side, lists, kind="time", **found):
    return {"section": section, "row": name, "side": side, "lists": lists, "kind": kind, **found}


def split(*us):
    return {layer: part / 1e3 for layer, part in zip(layers.LAYERS, us, strict=True)}


def full_run():
    """Rows as a machine with a GPU would give, with two operations, one of them without awkward's own."""
    rows = [
        row("launch", "CuPy RawKernel, the map's 5 arguments", "ours", 10_000, host_us=9.0),
        row("launch", "primitives.transform, the same map", "ours", 10_000, host_us=6.0),
        row("launch", "backend[key](*args), the same map", "ours", 10_000, host_us=20.0),
        row("rates", "copy", "ours", 20_000_000, us=240.0, bytes=960_000_000, gb_s=4000.0),
        row("rates", "map (next_at)", "ours", 20_000_000, us=130.0, bytes=480_000_000, gb_s=3700.0),
        row("layers", "x|y", "ours", 200_000, ms=0.1, layers=split(50, 10, 20, 5, 10, 5)),
        row("layers", "x|y", "ours", 20_000_000, ms=0.2, layers=split(50, 10, 20, 5, 10, 105)),
        row("layers", "z", "ours", 200_000, ms=0.1, layers=split(90, 0, 0, 0, 0, 10)),
        row("layers", "z", "ours", 20_000_000, error="OutOfMemoryError: Out of memory"),
        row("layers", dilepton.ROW, "ours", 200_000, ms=1.0, layers=split(0, 0, 0, 0, 0, 1000)),
        row(
            "cold",
            "kernels, warm cache",
            "ours",
            1000,
            import_ms=900.0,
            map_ms=20.0,
            reducer_ms=5.0,
            scan_ms=70.0,
            numba_imported=False,
        ),
        row(
            "cold",
            "operations, empty cache",
            "ours",
            1000,
            import_ms=900.0,
            total_ms=12_000.0,
            operations=31,
            numba_imported=True,
            failed={"ak.x": "ValueError: no"},
        ),
        row("cold", "operations, warm cache", "ours", 1000, error="no answer in 400 s"),
        row("kernels", "reduce_sum", "cpu", 200_000, us=900.0),
        row("kernels", "reduce_sum", "ours", 200_000, us=10.0, host_us=8.0, bytes=1),
        row("kernels", "reduce_sum", "awkward", 200_000, us=180.0, host_us=170.0, bytes=1),
        row("operations", "x|y", "cpu", 200_000, ms=8.0),
        row("operations", "x|y", "floor", 100, ms=0.1),
        row("operations", "z", "floor", 100, ms=0.2),
        row("operations", "z", "cpu", 200_000, skipped="about 3 s, by proportion"),
        row("operations", "x|y", "awkward", 1000, "check", first_ms=3000.0),
        row(
            "operations",
            "z",
            "awkward",
            1000,
            "check",
            error="AssertionError: 'z' is not supported on",
        ),
        row("operations", "w", "awkward", 1000, "check", first_ms=1.0, wrong="differs at [3]"),
        row("operations", "x|y", "ours", 1000, "check", first_ms=3.0),
        row("operations", "w", "awkward", 200_000, ms=0.0001),
        row("operations", "v", "awkward", 200_000, ms=0.2),
    ]
    for lists, ours, theirs in ((200_000, 0.2, 0.8), (20_000_000, 1.0, 0.5)):
        rows += [
            row(
                "operations", "x|y", "ours", lists, ms=ours, queued_ms=ours / 20, bytes=lists * 10
            ),
            row("operations", "x|y", "awkward", lists, ms=theirs),
            row("operations", "z", "ours", lists, ms=ours),
            row(
                "operations", "z", "awkward", lists, error="AssertionError: 'z' is not supported on"
            ),
            row("operations", "w", "ours", lists, ms=ours),
        ]
    rows.append(row("operations", "v", "ours", 200_000, ms=0.4))
    rows += [
        row("dilepton", dilepton.ROW, side, 1_000_000, ms=ms)
        for side, ms in (("ours", 18.0), ("awkward", 50.0), ("cpu", 500.0))
    ]
    rows.append(row("dilepton", dilepton.ROW, "floor", 100, ms=13.0))
    rows.append(row("against", "reduce_sum", "legacy", 200_000, ours_us=6.0, legacy_us=8.0))
    return rows


def by_name(rows):
    return {table.name: table for table in tables.all_tables(rows)}


def test_every_table_is_rectangular_and_has_both_forms():
    found = by_name(full_run())
    assert set(found) == {
        "launch", "rates", "layers", "cold", "first", "kernels", "operations", "bandwidth", "summary", "dilepton",
        "targets", "against", "failures",
    }  # fmt: skip
    for table in found.values():
        assert all(len(cells) == len(table.columns) for cells in table.rows), table
        assert tables.rich_table(table).row_count == len(table.rows)
        assert len(tables.markdown(table).splitlines()) >= 2 + len(table.rows)
    assert tables.all_tables([]) == []


def test_operations_table():
    table = by_name(full_run())["operations"]
    assert table.columns[:5] == [
        "operation", "floor", "200k: ours", "200k: awkward's CUDA", "200k: awkward's CPU",
    ]  # fmt: skip
    cells = {row[0]: row[1:5] for row in table.rows}
    assert cells["x|y"] == ["0.100", "0.200", "0.800", "8.00"]
    assert cells["z"] == ["0.200", "0.200", "not supported", "skipped"]
    assert cells["w"][2].endswith("(wrong)")


def test_summary_has_means_and_what_is_slower():
    table = by_name(full_run())["summary"]
    means = {cells[0].partition(" (of")[0]: cells[1:] for cells in table.rows}
    # x|y 4 times faster and v twice slower; z has no other side, w is wrong there
    assert means["awkward's CUDA / ours"] == ["1.41", "0.500"]
    assert means["awkward's CPU / ours"][0] == "40.0"
    assert means["ours / floor"][0] == "1.41"
    assert table.notes == [
        "Slower than awkward's CUDA backend at 200,000 lists: v (2.00 times).",
        "Slower than awkward's CUDA backend at 20,000,000 lists: x|y (2.00 times).",
    ]


def test_bandwidth_is_against_the_copy():
    table = by_name(full_run())["bandwidth"]
    assert table.rows == [["x|y", "200", "1.00", "5", "0.0500", "100", "", ""]]


def test_bandwidth_of_what_grows():
    few = row("operations", "x|y", "ours", 1000, ms=0.9)
    table = by_name([few, *full_run()])["bandwidth"]
    assert table.rows == [["x|y", "200", "1.00", "5", "0.0500", "100", "0.100", "50"]]
    few["ms"] = 1.1  # which is noise
    assert by_name([few, *full_run()])["bandwidth"].rows[0][-2:] == ["", ""]


def test_targets():
    found = {cells[0]: cells[1:] for cells in by_name(full_run())["targets"].rows}
    assert found["host time of primitives.transform"] == ["at most 8 µs", "6.00 µs", "met"]
    assert found["host time of a map through backend[key](*args)"][-1] == "missed"
    assert found["map (next_at) at 20M lists, of the copy"] == ["at least 90%", "92.5%", "met"]
    assert found["first call of a scan, warm cache"][-1] == "missed"
    assert found["first calls of all operations, empty cache"] == ["at most 20 s", "12.0 s", "met"]
    assert "first calls of all operations, warm cache" not in found
    bound = "operations bound by bandwidth at 20M lists"
    assert found[f"{bound}, of the copy, the least (x|y)"] == ["at least 70%", "5.00%", "missed"]
    assert found[f"{bound}, that reach 70% of it"] == ["at least 1", "0", "missed"]
    assert found[f"{bound}, queued, of the copy, the least (x|y)"] == ["at least 70%", "100%", "met"]
    assert found[f"{bound}, queued, that reach 70% of it"] == ["at least 1", "1", "met"]
    assert found["dilepton selection, 1M events"][-1] == "met"


def test_layers_table_has_sums_and_shares_of_the_operations():
    table = by_name(full_run())["layers"]
    names = [*layers.LAYERS]
    assert table.columns == ["operation", "200k: total", *names, "20M: total", *names]
    found = {cells[0]: (cells[1:8], cells[8:]) for cells in table.rows}
    assert list(found) == ["x|y", "z", dilepton.ROW, "all operations", "all operations, %"]
    small, large = (list(group) for group in zip(*found.values()))
    assert small[0] == ["100", "50.0", "10.0", "20.0", "5.00", "10.0", "5.00"]
    assert small[2][0] == "1,000"
    assert small[3] == ["200", "140", "10.0", "20.0", "5.00", "10.0", "15.0"]
    assert small[4] == ["100", "70.0", "5.00", "10.0", "2.50", "5.00", "7.50"]
    assert large[1] == ["out of memory", *[""] * 6]
    assert large[2] == [""] * 7
    assert large[4] == ["100", "25.0", "5.00", "10.0", "2.50", "5.00", "52.5"]
    for shares in (small[4], large[4]):
        assert sum(map(float, shares[1:])) == pytest.approx(100)


def test_failures_are_listed_once():
    failures = by_name(full_run())["failures"].rows
    assert [cells[:2] for cells in failures] == [
        ["layers: z", "ours"],
        ["cold: operations, warm cache", "ours"],
        ["operations: z", "awkward's CUDA"],
        ["operations: w", "awkward's CUDA"],
    ]


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        ("AssertionError: Operation 'x' is not supported on CUDA backend.", "not supported"),
        ("NotImplementedError", "not supported"),
        ("OutOfMemoryError: Out of memory allocating 3 bytes", "out of memory"),
        ("ValueError: no", "error"),
    ],
)
def test_problems(error, shown):
    assert tables.problem({"error": error}) == shown
    assert tables.problem({"ms": 1.0}) is None


def test_markdown_escapes():
    table = tables.Table("t", "T", ["a|b", "c"], [["x|y", "1"]], ["a * b <c>"])
    assert tables.markdown(table).splitlines() == [
        "| a\\|b | c |",
        "|---|---:|",
        "| x\\|y | 1 |",
        "",
        "- a \\* b &lt;c>",
    ]


# -- documents -----------------------------------------------------------------------------------

ABOUT = {
    "device": "Some GPU",
    "cpu": "Some CPU, 2 cores",
    "versions": {"python": "3.12.1", "awkward": "2.14.0"},
    "date": "2030-01-02",
    "command": "awkward-cudakernels bench",
    "seconds": 123.4,
}


def test_places_are_filled_again_and_again():
    text = "# T\n\n<!-- bench: a -->\nold\n<!-- /bench -->\n\nkept\n\n<!-- bench: b -->\n<!-- /bench -->\nend\n"
    once, filled, left = document.replace(text, {"a": "new \\1", "c": "no place"})
    assert (filled, left) == (["a"], ["b"])
    assert "old" not in once
    assert "<!-- bench: a -->\n\nnew \\1\n\n<!-- /bench -->\n\nkept" in once
    assert once.endswith("<!-- bench: b -->\n<!-- /bench -->\nend\n")
    assert document.replace(once, {"a": "new \\1"})[0] == once


def test_write_docs(tmp_path):
    source, target = tmp_path / "bench.json", tmp_path / "p.md"
    source.write_text(json.dumps({"about": ABOUT, "settings": {}, "rows": full_run()}))
    target.write_text(
        "".join(f"<!-- bench: {name} -->\n<!-- /bench -->\n" for name in ("about", "rates", "x"))
    )
    result = invoke("--write-docs", str(source), str(target))
    assert result.exit_code == 0, result.output
    assert result.output.strip().endswith("filled about, rates; left x")
    text = target.read_text()
    assert "Some GPU; Some CPU, 2 cores. python 3.12.1, awkward 2.14.0. 2030-01-02" in text
    assert "| map (next\\_at)" in text or "| map (next_at)" in text


def test_the_documents_of_this_project_have_places_for_every_table(request):
    contents = document.contents({"about": ABOUT, "rows": full_run()})
    filled = {}
    for name in ("performance.md", "measurements.md"):
        path = request.config.rootpath / "docs" / name
        _, filled[name], left = document.replace(path.read_text(encoding="utf-8"), contents)
        assert set(left) <= {"about-against"}
    assert set(filled["performance.md"]) | set(filled["measurements.md"]) == set(contents)
    assert set(filled["performance.md"]) & set(filled["measurements.md"]) == {"about"}


def test_a_run_against_something_leaves_the_tables_of_others():
    rows = [found for found in full_run() if found["section"] == "against"]
    contents = document.contents({"about": ABOUT, "rows": rows})
    assert set(contents) == {"about-against", "against"}
    assert "Some GPU" in contents["about-against"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"rows": 3, "about": {}}'])
def test_a_file_that_bench_did_not_write(tmp_path, content):
    path = tmp_path / "other.json"
    path.write_text(content)
    result = invoke("--from", str(path))
    assert result.exit_code == 2
    assert "is not a file that `bench --json` wrote" in result.output


def test_a_document_without_places(tmp_path):
    source, target = tmp_path / "bench.json", tmp_path / "p.md"
    source.write_text(json.dumps({"about": ABOUT, "rows": []}))
    target.write_text("nothing here\n")
    result = invoke("--write-docs", str(source), str(target))
    assert result.exit_code == 2
    assert "has no place" in result.output
    assert invoke("--write-docs", str(source), str(tmp_path / "none.md")).exit_code == 2


def test_plot_and_tables_from_a_file(tmp_path):
    source, picture = tmp_path / "bench.json", tmp_path / "bench.png"
    source.write_text(json.dumps({"about": ABOUT, "rows": full_run()}))
    result = invoke("--from", str(source), "--plot", str(picture))
    assert result.exit_code == 0, result.output
    assert "Operations: geometric means" in result.output
    assert picture.read_bytes().startswith(b"\x89PNG")
    source.write_text(json.dumps({"about": ABOUT, "rows": full_run()[:1]}))
    result = invoke("--from", str(source), "--plot", str(picture))
    assert result.exit_code == 2
    assert "no operations to plot" in result.output


def test_mean_curves_are_of_the_same_operations_at_every_size():
    rows = [row("operations", f"o{i}", "ours", n, ms=float(n)) for i in range(5) for n in (1, 10)]
    rows += [row("operations", "o0", "ours", 100, ms=7.0)]  # too few there
    rows = [r for r in rows if (r["row"], r["lists"]) != ("o4", 10)]
    found = plot.mean_curve(tables.Rows(rows), [f"o{i}" for i in range(5)], "ours")
    assert found == [(1, pytest.approx(1.0)), (10, pytest.approx(10.0))]


# -- arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("launch",), "only on a GPU"),
        (("--lists", "few"), "write for example"),
        (("--only", "("), "no regular expression"),
        (("--plot", "plot.txt"), "must end in one of"),
        (("--json", "no/such/folder/x.json"), "cannot be written"),
        (("--against", "nonsense"), "--against nonsense"),
        (("nonsense",), "nonsense"),
        (("--from", "none.json"), "cannot be read"),
    ],
)
def test_wrong_arguments(no_gpu, arguments, message):
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_nothing_matches(no_gpu):
    result = invoke("--only", "no such row", "--lists", "10")
    assert result.exit_code == 2
    assert "no row's name matches" in result.output


# -- clocks --------------------------------------------------------------------------------------


def nothing():
    """Waits for nothing: the ``wait`` of the CPU."""


def test_clocks_on_the_host():
    calls = []
    found = timing.wall_ms(lambda: calls.append(1), nothing, 1e-3)
    assert 3 <= found["runs"] <= 25
    assert len(calls) == found["runs"] + 1
    assert 0 <= found["best_ms"] <= found["ms"]
    settled = []
    host = timing.host_us(lambda: None, nothing, lambda: settled.append(1), 0.0)
    assert host > 0
    assert len(settled) == 4
    assert timing.per_call_us(lambda: None, nothing, nothing, 0.001) > 0


# -- data, kernels and operations, on the host -----------------------------------------------------


def test_sample():
    sample = Sample(1000)
    counts = np.diff(sample.offsets)
    assert len(sample.a) == len(counts) == 1000
    assert counts.min() == 0
    assert counts.mean() == pytest.approx(3, rel=0.1)
    assert ak.all(ak.num(sample.a) == ak.num(sample.b))
    assert ak.min(ak.num(sample.d)) == 1
    assert not ak.all(ak.num(sample.a) == ak.num(sample.c))
    assert ak.all(ak.fill_none(sample.masked > 20, True, axis=None), axis=None)
    assert sample.get("a") is sample.get("a")


def test_large_samples_repeat(monkeypatch):
    from awkward_cudakernels.bench import sample as module

    monkeypatch.setattr(module, "BLOCK", 10)
    counts = Sample(25).counts(1)
    assert len(counts) == 25
    assert counts[:5].tolist() == counts[10:15].tolist() == counts[20:].tolist()
    assert len(Sample(7).counts(1)) == 7
    assert len(Sample(25).values(77, 2)) == 77
    assert len(Sample(0).a) == 0
    assert BLOCK == 2_000_000


@pytest.mark.parametrize("operation", operations.OPERATIONS, ids=lambda operation: operation.name)
def test_operations_run_and_bytes_are_counted(operation):
    sample = Sample(20)
    arguments = [sample.get(name) for name in operation.inputs]
    result = operation.function(*arguments)
    assert operations.must_move(operation, arguments) > 0 or not operation.bound
    assert operations.difference(result, result) is None
    values = list(arguments)
    for step in operation.steps:
        values.append(step.function(*(values[number] for number in step.uses)))
    assert not operation.steps or operations.difference(values[-1], result) is None


def test_operations_are_as_many_as_said():
    names = [operation.name for operation in operations.OPERATIONS]
    assert len(set(names)) == len(names)
    assert sum(operation.core for operation in operations.OPERATIONS) == 31


def test_bytes_of_some_operations():
    sample = Sample(100)
    by_name = {operation.name: operation for operation in operations.OPERATIONS}

    def moved(name):
        operation = by_name[name]
        arguments = [sample.get(name) for name in operation.inputs]
        return operations.must_move(operation, arguments)

    elements = len(sample.content)
    assert moved("ak.sum axis=1") == 8 * elements + 8 * 101 + 8 * 100
    assert moved("a * 2") - 16 * elements in (0, 8 * 101)  # offsets may be shared
    assert moved("ak.num") == 8 * 101 + 8 * 100
    selected = int(np.sum(sample.content > 20))
    assert moved("a[a > 20]") == 18 * elements + 8 * selected + 2 * 8 * 101
    assert moved("ak.any(a > 20) axis=1") == 10 * elements + 8 * 101 + 100
    firsts = np.asarray(sample.d.layout.offsets[:-1])
    assert moved("a[:, 0]") == 8 * 101 + 32 * len(np.unique(firsts // 4)) + 8 * 100


@pytest.mark.parametrize(
    ("found", "expected", "problem"),
    [
        (ak.Array([[1.0], []]), ak.Array([[1.0 + 1e-13], []]), None),
        (ak.Array([[1.0], []]), ak.Array([[1.1], []]), "differs at [0][0]: 1.0 instead of 1.1"),
        (ak.Array([[1.0], []]), ak.Array([[1], []]), "type"),
        (ak.Array([[1.0], []]), ak.Array([[1.0], [2.0]]), "differs at [1]: another length"),
        (ak.Array([None, 1]), ak.Array([2, None]), "differs at [0]: None instead of 2"),
        (ak.Array([{"x": 1}]), ak.Array([{"x": 2}]), "differs at [0]['x']: 1 instead of 2"),
        (ak.Array([np.nan]), ak.Array([np.nan]), None),
        (2.0, 2.5, "in its value"),
        ([ak.Array([1])], [ak.Array([1]), ak.Array([1])], "1 results instead of 2"),
    ],
)
def test_difference(found, expected, problem):
    said = operations.difference(found, expected)
    assert said is None if problem is None else said is not None and problem in said


@pytest.mark.parametrize("case", kernels.KERNELS, ids=lambda case: case.family)
def test_kernels_are_called_as_specified(case):
    side = sides.Side("cpu", device=False)
    inputs = kernels.prepare(side, 40)
    assert kernels.check(side, case.family, inputs).keys() == {"first_ms"}
    assert len(case.arguments(inputs)) > max(case.outputs, default=0)
    assert case.nbytes(40, 120) > 0


@pytest.mark.parametrize(
    "name", [n for n in launch.CASES if not n.startswith(("CuPy Raw", "backend"))]
)
def test_launches(name):
    launch.CASES[name](kernels.Inputs(30, "cpu"))()


@pytest.mark.parametrize("case", rates.CASES, ids=lambda case: case.name)
def test_rates(case):
    call, nbytes = case.make(kernels.Inputs(30_000, "cpu"))
    call()
    assert nbytes > 0


def test_the_sums_of_rates_are_of_all_elements():
    inputs = kernels.Inputs(30_000, "cpu")
    for case in rates.CASES:
        if case.name.startswith("segmented sum"):
            assert case.make(inputs)[1] >= 8 * 0.9 * inputs.m
    assert rates._skewed(inputs).sum() >= inputs.m - 3
    assert rates._skewed(inputs).max() >= inputs.m // 2


# -- layers --------------------------------------------------------------------------------------


class Time:
    """A clock that goes on only when it is told to."""

    ns = 0

    def __call__(self):
        return self.ns

    def passes(self, ns):
        self.ns += ns


def test_a_layer_has_no_time_of_what_is_inside_it():
    now = Time()
    clock = layers.ExclusiveClock(now)
    launch = clock.timed("launches", lambda: now.passes(3))

    @functools.partial(clock.timed, "dispatch")
    def run(n):
        now.passes(20)
        for _ in range(n):
            launch()
        return [*map(run, range(n))]  # a layer inside itself

    def call():
        now.passes(100)
        run(1)
        clock.timed("waits", now.passes)(5000)
        now.passes(400)

    now.passes(10**6)  # before, which counts nowhere
    expected = {"Python": 500, "dispatch": 40, "launches": 3, "CuPy": 0, "waits": 5000, "end": 70_000}
    for _ in range(2):  # from 0 again
        start = now.ns
        assert clock.split(call, lambda: now.passes(70_000)) == expected
        assert sum(expected.values()) == now.ns - start
        now.passes(1)


def test_a_layer_is_left_by_an_error():
    now = Time()
    clock = layers.ExclusiveClock(now)

    def fail():
        now.passes(3)
        raise KeyError("gone")

    def call():
        with pytest.raises(KeyError, match="gone"):
            clock.timed("dispatch", clock.timed("launches", fail))()
        now.passes(7)

    found = clock.split(call, nothing)
    assert {layer: ns for layer, ns in found.items() if ns} == {"Python": 7, "launches": 3}


def test_the_result_is_let_go_of_outside_the_measured_time():
    now = Time()

    class Result:
        def __del__(self):
            now.passes(1000)

    found = layers.ExclusiveClock(now).split(Result, lambda: now.passes(2))
    assert now.ns == 1002
    assert sum(found.values()) == found["end"] == 2


def test_layers_are_of_the_run_in_the_middle(monkeypatch):
    monkeypatch.setattr(layers, "watched", lambda clock: contextlib.nullcontext())
    totals = iter([1, 9_000, 10, 70, 40])
    monkeypatch.setattr(
        layers.ExclusiveClock, "split", lambda *_: {"Python": 1, "end": next(totals)}
    )
    calls = []
    found = layers.typical(lambda: calls.append("call"), lambda: calls.append("wait"), 0.0)
    assert found == ({"Python": 1, "end": 9_000}, 1)  # the first warms up, and this took too long
    assert calls == ["call", "wait"]
    totals = iter([1, 10, 70, 40])
    assert layers.typical(lambda: None, lambda: None, 1e-5 / 1e3)[0] == {"Python": 1, "end": 40}


def test_types_and_modules_of_cupy_pass_through_and_functions_are_timed():
    now = Time()
    clock = layers.ExclusiveClock(now)

    def zeros(n, *, dtype=None):
        now.passes(11)
        return [0] * n

    class Ufunc:
        def __call__(self, x):
            now.passes(13)
            return -x

    module = types.ModuleType("cupy")
    module.zeros, module.negative, module.ndarray, module.cuda = zeros, Ufunc(), list, types.ModuleType("c")
    module.pi = 3.0
    proxy = layers.ArrayModule(module, clock)
    assert proxy.ndarray is list and proxy.cuda is module.cuda and proxy.pi == 3.0
    assert clock.split(lambda: proxy.zeros(2, dtype=int), nothing)["CuPy"] == 11
    assert clock.split(lambda: proxy.negative(1), nothing)["CuPy"] == 13
    assert type(proxy.zeros(2)) is proxy.ndarray
    assert proxy.negative(5) == -5
    assert "dtype" in inspect.signature(proxy.zeros).parameters  # which awkward looks at
    assert not hasattr(proxy, "no_such_function")


def replaced_places():
    from awkward._nplikes.cupy import Cupy

    from awkward_cudakernels import _registry
    from errorflag._channel import DeviceChannel
    from primitives import _device, _host, _reduce, _run, _scan, _segmented, _sort, _transform

    modules = _reduce, _run, _scan, _segmented, _sort, _transform
    return [
        *(module.run for module in modules),
        _registry.DeviceKernel.__call__,
        _device.DeviceKernel.launch,
        _host.HostKernel.launch,
        *(getattr(DeviceChannel, name) for name in ("read", "items", "synchronize")),
        Cupy.instance()._module,
    ]


@pytest.mark.parametrize("error", [None, RuntimeError("no")])
def test_wrappers_are_there_only_inside(cupy, error):
    before = replaced_places()
    clock = layers.ExclusiveClock()
    with contextlib.suppress(RuntimeError), layers.watched(clock):
        assert not [one for one, other in zip(replaced_places(), before, strict=True) if one is other]
        cupy.ndarray(3, np.int64)
        assert clock.spent["CuPy"] > 0
        if error is not None:
            raise error
    assert all(one is other for one, other in zip(replaced_places(), before, strict=True))
    assert before[-1] is cupy
    spent = dict(clock.spent)
    cupy.ndarray(3, np.int64)
    assert clock.spent == spent  # no hook is left


def test_the_layers_of_an_operation_add_up(cupy):
    read = []

    def now():
        read.append(time.perf_counter_ns())
        return read[-1]

    sample = Sample(100, "cuda")
    a, b = sample.get("a"), sample.get("b")
    expected = ak.to_list(ak.to_backend(a, "cpu") + ak.to_backend(b, "cpu"))
    clock = layers.ExclusiveClock(now)
    kept = []
    with layers.watched(clock):
        read.clear()
        spent = clock.split(lambda: kept.append(a + b), timing.wait)
    assert sum(spent.values()) == read[-1] - read[0]
    assert min(spent[layer] for layer in ("Python", "dispatch", "launches", "CuPy", "end")) > 0
    assert ak.to_list(kept[0]) == expected


@pytest.mark.parametrize("name", ["a + b", "ak.sum axis=0", dilepton.ROW])
def test_a_row_of_layers(cupy, name):
    side = sides.Side("ours", device=True)
    found = layers.measure(side, name, layers.prepare(side, 50), 0.0)
    assert list(found["layers"]) == [*layers.LAYERS]
    assert found["ms"] == pytest.approx(sum(found["layers"].values()))
    assert found["layers"]["launches"] > 0
    assert found["runs"] >= 1


def test_rows_and_sizes_of_layers():
    names = layers.rows(Settings(True))
    assert names == [*(operation.name for operation in operations.OPERATIONS), dilepton.ROW]
    assert layers.sizes(Settings(True)) == (200_000, 20_000_000)
    assert layers.sizes(Settings(True, lists=(1_000, 200_000))) == (200_000,)
    assert layers.sizes(Settings(True, lists=(10, 100))) == (100,)


def test_dilepton_masses():
    one = {"pt": 50.0, "eta": 0.0, "phi": 0.0}
    other = {"pt": 50.0, "eta": 0.0, "phi": np.pi}
    electrons = ak.Array([[one, other], [one], [], [one, {**other, "pt": 30.0}]])
    muons = ak.Array(
        [[], [one, {**other, "pt": 25.0}], [{**one, "eta": 2.5}, one], [one, one, other]]
    )
    found, of_muons = dilepton.dilepton(electrons, muons)
    assert found.to_list() == pytest.approx([100.0])
    assert of_muons.to_list() == pytest.approx([2 * math.sqrt(50 * 25)])
    events = dilepton.Events(1000, "cpu")
    counts = ak.num(events.electrons)
    assert (ak.min(counts), ak.max(counts)) == (0, 10)


# -- workers -------------------------------------------------------------------------------------


@pytest.fixture
def section(monkeypatch):
    """A section of rows that behave."""
    module = types.ModuleType("awkward_cudakernels.bench.fake")

    def measure(side, row, sample, seconds):
        if row == "fails":
            raise RuntimeError("\n  on holiday\nsince Monday")
        return {"ms": 1000.0 * sample}

    module.prepare = lambda side, lists: lists
    module.measure = measure
    module.check = lambda side, row, sample: measure(side, row, 1, 0.0)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def served(*tasks):
    events = []
    request = {"side": "cpu", "settings": HOST.as_dict(), "tasks": tasks}
    assert worker.serve(json.loads(json.dumps(request)), events.append) == 0
    return events


def test_a_worker_starts_and_reports_each_task(section):
    events = served(("time", "fake", "works", 1))
    where = {"kind": "time", "section": "fake", "row": "works", "lists": 1}
    assert events == [
        {"event": "start", **where},
        {"event": "row", **where, "side": "cpu", "ms": 1000.0},
    ]


def test_a_failing_row_loses_no_other(section):
    rows = served(
        ("check", "fake", "fails", 1), ("time", "fake", "fails", 2), ("time", "fake", "works", 1)
    )
    rows = [event for event in rows if event["event"] == "row"]
    assert rows[0]["error"] == rows[1]["error"] == "RuntimeError: on holiday"
    assert rows[2]["ms"] == 1000.0


def test_what_takes_a_cpu_too_long_is_skipped(section, monkeypatch):
    monkeypatch.setattr(worker, "PROPORTIONAL", 1)
    rows = served(*(("time", "fake", "works", n) for n in (1, 2, 3)))
    rows = [event for event in rows if event["event"] == "row"]
    assert "ms" in rows[0]
    assert rows[1]["skipped"] == "about 2 s, by proportion"
    assert rows[2]["skipped"] == "about 3 s, by proportion"


SCRIPT = """
import json, os, sys
request = json.loads(sys.argv[1])
def emit(event, task, **more):
    fields = dict(zip(("kind", "section", "row", "lists"), task))
    print(json.dumps({"event": event, **fields, "side": request["side"], **more}), flush=True)
for task in request["tasks"]:
    if task[0] == "wait":
        print(json.dumps({"event": "waiting"}), flush=True)
        assert sys.stdin.readline() == "go\\n"
        continue
    emit("start", task)
    if task[2] == "crashes":
        print("Segmentation fault, so to say", file=sys.stderr)
        os._exit(11)
    if task[2] == "breaks":
        emit("row", task, error="illegal address")
        sys.exit(3)
    emit("row", task, ms=1.0, process=os.getpid())
"""


@pytest.fixture
def script(monkeypatch, tmp_path):
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(SCRIPT))
    monkeypatch.setattr(runner, "COMMAND", [sys.executable, str(path)])


def work(*tasks):
    rows = []
    made = runner.Worker("awkward", HOST, tasks, rows.append, lambda what: None)
    made.start()
    return made, rows


def test_a_broken_process_costs_one_row(script):
    tasks = [
        Task("time", "s", "a", 1),
        Task("time", "s", "crashes", 1),
        Task("time", "s", "breaks", 1),
        Task("time", "s", "b", 1),
        Task("time", "s", "crashes", 2),
    ]
    made, rows = work(*tasks)
    assert made.rests(60)
    found = {(r["row"], r["lists"]): r for r in rows}
    assert len(rows) == len(found) == 5
    assert found["a", 1]["process"] != found["b", 1]["process"]
    assert found["crashes", 1]["error"] == "exit code 11: Segmentation fault, so to say"
    assert found["crashes", 2]["error"] == "not measured: broke the process at 1 lists"
    assert found["breaks", 1]["error"] == "illegal address"


def test_a_worker_waits_until_it_is_told(script):
    made, rows = work(Task("time", "s", "a", 1), Task("wait"), Task("time", "s", "b", 1))
    assert made.ready.wait(30)
    assert [r["row"] for r in rows] == ["a"]
    made.turn()
    assert made.rests(30)
    assert [r["row"] for r in rows] == ["a", "b"]


def test_rounds_measure_again_what_the_host_bounds():
    tasks = [Task("time", "s", "a", lists) for lists in (1_000, 200_000, 2_000_000)]
    found = runner._in_rounds(tasks)
    assert found == [*tasks, Task("wait"), *tasks[:2], Task("wait"), *tasks]


def test_of_several_rounds_the_fastest_counts():
    row = {"row": "a", "ms": 2.0, "queued_ms": 1.0, "us": 3.0, "bytes": 8}
    runner._take_faster(row, {"row": "a", "ms": 1.0, "queued_ms": 1.5, "us": 4.0, "bytes": 8})
    assert row == {"row": "a", "ms": 1.0, "queued_ms": 1.0, "us": 3.0, "bytes": 8}
    runner._take_faster(row, {"row": "a", "error": "illegal address"})
    assert row["error"] == "illegal address"
    skipped = {"row": "a", "skipped": "about 2 s, by proportion"}
    runner._take_faster(skipped, {"row": "a", "skipped": "about 3 s, by proportion"})
    assert skipped["skipped"] == "about 3 s, by proportion"


def test_a_silent_worker_is_ended(script, monkeypatch, tmp_path):
    path = tmp_path / "sleeps.py"
    path.write_text("import time; time.sleep(600)")
    monkeypatch.setattr(runner, "COMMAND", [sys.executable, str(path)])
    monkeypatch.setattr(runner, "TIMEOUT", 0.3)
    made, rows = work(Task("time", "s", "a", 1))
    assert made.rests(60)
    assert rows[0]["error"] == "no answer in 0 s"


def test_a_stopped_worker_reports_nothing_more(script):
    made, rows = work(Task("wait"), Task("time", "s", "a", 1))
    assert made.ready.wait(30)
    made.stop()
    made._thread.join(30)
    assert rows == []
    assert threading.active_count() < 50


# -- comparisons with other implementations ---------------------------------------------------------


def test_against(monkeypatch):
    module = types.ModuleType("awkward_cudakernels.bench.against_fake")
    module.rows = lambda settings, say: iter(
        [{"row": "r", "lists": 3, "ours_us": 1.0, "fake_us": 2.0}]
    )
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(bench, "against_fake", module, raising=False)
    (found,) = against.rows("fake", HOST, lambda what: None)
    assert found["side"] == "fake"
    (table, *_) = tables.all_tables([found])
    assert table.columns == ["", "lists", "ours, µs", "fake, µs"]
    assert table.rows == [["r", "3", "1.00", "2.00"]]


# -- cold starts -----------------------------------------------------------------------------------


def test_cold_rows(monkeypatch):
    made = []

    def process(what, side, environment):
        made.append((what, side, environment.get("AWKWARD_CUDAKERNELS_CACHE")))
        return {"import_ms": 1.0}

    monkeypatch.setattr(cold, "_process", process)
    order = []
    found = list(cold.rows(True, lambda: order.append(len(made)), lambda what: None))
    assert [r["row"] for r in found] == [
        "kernels, empty cache",
        "operations, empty cache",
        "kernels, warm cache",
        "operations, warm cache",
        "operations, awkward's own",
    ]
    assert order == [2]
    caches = [cache for _, _, cache in made]
    assert caches[0] == caches[2] != caches[1] == caches[3]


def test_a_cold_process_that_fails(monkeypatch):
    monkeypatch.setattr(cold, "TIMEOUT", 60.0)
    found = cold._process("nonsense", "no such side", {"PATH": ""})
    assert set(found) == {"error"}


# -- everything --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_on_the_host(no_gpu, tmp_path):
    path = tmp_path / "bench.json"
    only = r"^(ak.num|a \+ b|ak.sum axis=1|localindex|reduce_sum|dilepton.*)$"
    result = invoke(
        "--lists", "50,60", "--events", "50", "--quick", "--only", only, "--json", str(path)
    )
    assert result.exit_code == 0, result.output
    sentence = (
        "host executor against awkward's CPU kernels, because this machine has no NVIDIA driver."
    )
    assert sentence in " ".join(result.output.split())
    for text in ("Kernels", "Operations, ms", "geometric means", "Dilepton", "ak.sum axis=1"):
        assert text in result.output
    found = json.loads(path.read_text())
    assert found["about"]["versions"]["awkward"] == ak.__version__
    assert not [r for r in found["rows"] if "error" in r or "wrong" in r]
    timed = {
        (r["section"], r["row"], r["side"], r["lists"])
        for r in found["rows"]
        if r["kind"] == "time"
    }
    for lists in (50, 60):
        for side in ("ours", "cpu"):
            assert ("operations", "a + b", side, lists) in timed
            assert ("kernels", "reduce_sum", side, lists) in timed
    assert ("operations", "ak.num", "floor", 100) in timed
    assert ("dilepton", dilepton.ROW, "floor", 100) in timed


@pytest.mark.gpu
@pytest.mark.slow
def test_a_run_on_the_gpu(tmp_path):
    path = tmp_path / "bench.json"
    result = invoke(
        "launch", "rates", "layers", "kernels", "operations", "dilepton", "--quick", "--lists", "1k", "--events", "1k",
        "--without-awkward-cuda", "--json", str(path),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    rows = json.loads(path.read_text())["rows"]
    assert not [r for r in rows if "error" in r or "wrong" in r]
    assert {r["section"] for r in rows} == {
        "launch", "rates", "layers", "kernels", "operations", "dilepton",
    }  # fmt: skip


@pytest.mark.gpu
def test_layers_on_the_gpu(tmp_path):
    path = tmp_path / "bench.json"
    result = invoke("layers", "--lists", "1000", "--only", r"a \+ b", "--json", str(path))
    assert result.exit_code == 0, result.output
    assert "where the time of an operation goes" in result.output
    (found,) = json.loads(path.read_text())["rows"]
    assert (found["row"], found["lists"], found["side"]) == ("a + b", 1000, "ours")
    assert found["ms"] == pytest.approx(sum(found["layers"].values()))
    for layer in ("Python", "dispatch", "launches", "CuPy", "end"):
        assert found["layers"][layer] > 0, layer
