"""Rows as tables, for a terminal and for Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from awkward_cudakernels.bench.settings import FLOOR_LISTS
from awkward_cudakernels.bench.sides import SIDES

__all__ = ["Table", "all_tables", "geometric_mean", "markdown", "rich_table"]

Row = dict[str, Any]

LARGE, MIDDLE = 20_000_000, 200_000
"""Lists of the targets."""
FEW = 1_000
"""With so many lists or fewer the device has next to nothing to do."""


@dataclass
class Table:
    """Cells of text.

    Attributes:
        name: of its place in a document.
        title: above it on a terminal.
        columns: headings; the first column is text, the others numbers.
        rows: as many cells each.
        notes: lines below it.
    """

    name: str
    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def geometric_mean(values: Iterable[float]) -> float | None:
    """Of positive numbers; None if there is none."""
    logarithms = [math.log(value) for value in values]
    return math.exp(math.fsum(logarithms) / len(logarithms)) if logarithms else None


def number(value: float | None, unit: str = "") -> str:
    """Three significant digits, without exponent; empty for None."""
    if value is None:
        return ""
    if value == 0:
        return f"0{unit}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}{unit}"


def size(lists: int) -> str:
    """A number of lists, for a heading."""
    for factor, letter in ((1_000_000, "M"), (1_000, "k")):
        if lists >= factor and lists % factor == 0:
            return f"{lists // factor}{letter}"
    return f"{lists:,}"


class Rows:
    """Rows to be looked up by what they are of."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = list(rows)
        self._found = {
            (r["kind"], r["section"], r["row"], r["side"], r["lists"]): r for r in self.rows
        }

    def names(self, section: str) -> list[str]:
        """Of the rows of a section, in order of first mention."""
        return list(dict.fromkeys(r["row"] for r in self.rows if r["section"] == section))

    def sizes(self, section: str, side: str | None = None) -> list[int]:
        """The sizes that were timed, without the floor's."""
        return sorted(
            {
                r["lists"]
                for r in self.rows
                if r["section"] == section
                and r["kind"] == "time"
                and r["side"] != "floor"
                and side in (None, r["side"])
            }
        )

    def has(self, section: str, side: str) -> bool:
        """Whether anything of this side was measured there."""
        return any(r["section"] == section and r["side"] == side for r in self.rows)

    def get(self, section: str, row: str, side: str, lists: int, kind: str = "time") -> Row:
        """One row; an empty one if there is none."""
        return self._found.get((kind, section, row, side, lists), {})

    def floor(self, section: str, row: str) -> Row:
        """What awkward's Python alone takes."""
        return self.get(section, row, "floor", FLOOR_LISTS)

    def check(self, section: str, row: str, side: str) -> Row:
        """The row of the first call."""
        for r in self.rows:
            if (r["kind"], r["section"], r["row"], r["side"]) == ("check", section, row, side):
                return r
        return {}


def problem(row: Row) -> str | None:
    """What stands in the place of a number that could not be had."""
    text = row.get("error")
    if text is None:
        return "skipped" if "skipped" in row else None
    if "not supported" in text or "NotImplementedError" in text:
        return "not supported"
    if "OutOfMemory" in text or "MemoryError" in text:
        return "out of memory"
    return "error"


def all_tables(rows: Sequence[Row]) -> list[Table]:
    """The tables of everything that was measured."""
    found = Rows(rows)
    makers: tuple[Callable[[Rows], Table | None], ...] = (
        launch,
        rates,
        layers,
        cold,
        first,
        kernels,
        operations,
        bandwidth,
        summary,
        dilepton,
        targets,
        against,
        failures,
    )
    return [table for make in makers if (table := make(found)) is not None]


def launch(rows: Rows) -> Table | None:
    if not rows.names("launch"):
        return None
    table = Table("launch", "Launch: host time of one call", ["call", "µs"])
    (lists, *_) = rows.sizes("launch")
    for name in rows.names("launch"):
        row = rows.get("launch", name, "ours", lists)
        table.rows.append([name, problem(row) or number(row.get("host_us"))])
    table.notes.append(
        f"Median of batches, {lists:,} lists; the device is waited for between batches."
    )
    return table


def rates(rows: Rows) -> Table | None:
    from awkward_cudakernels.bench.rates import CASES, COPY

    sizes = rows.sizes("rates")
    if not sizes:
        return None
    columns = ["call", "bytes"]
    for lists in sizes:
        columns += [f"{size(lists)} lists, GB/s", "% of copy"]
    table = Table("rates", "Rates: device bandwidth", columns)
    counted = {case.name: case.counted for case in CASES}
    for name in rows.names("rates"):
        cells = [name, counted.get(name, "")]
        for lists in sizes:
            row = rows.get("rates", name, "ours", lists)
            copy = rows.get("rates", COPY, "ours", lists).get("gb_s")
            rate = row.get("gb_s")
            cells.append(problem(row) or (f"{rate:,.0f}" if rate else ""))
            cells.append(f"{100 * rate / copy:.0f}" if rate and copy else "")
        table.rows.append(cells)
    table.notes.append("n lists, m elements of float64, mean 3 per list: bytes read and written.")
    return table


def layers(rows: Rows) -> Table | None:
    from awkward_cudakernels.bench import dilepton
    from awkward_cudakernels.bench.layers import LAYERS, MOST_EVENTS

    sizes = rows.sizes("layers")
    if not sizes:
        return None
    table = Table("layers", "Layers: where the time of an operation goes, µs", ["operation"])
    table.rows = [[name] for name in rows.names("layers")]
    total, share = ["all operations"], ["all operations, %"]
    for lists in sizes:
        table.columns += [f"{size(lists)}: total", *LAYERS]
        sums = dict.fromkeys(LAYERS, 0.0)
        for cells in table.rows:
            row = rows.get("layers", cells[0], "ours", lists)
            found = row.get("layers")
            if found is None:
                cells += [problem(row) or "", *[""] * len(LAYERS)]
                continue
            cells += _with_total(1e3 * found[layer] for layer in LAYERS)
            if cells[0] != dilepton.ROW:
                sums = {layer: sums[layer] + 1e3 * found[layer] for layer in LAYERS}
        whole = sum(sums.values())
        total += _with_total(sums.values())
        share += _with_total(100 * part / whole if whole else 0.0 for part in sums.values())
    table.rows += [total, share]
    table.notes += [
        "Ours, host wall time in µs until the stream is empty; the parts add up to the total: they are of the run "
        "whose total is the median.",
        "Python: awkward's and the array layer's, with what is not below, such as slices and copies by methods of "
        "CuPy's arrays; dispatch: kernels and primitives until a launch; launches: error word, parameters, the "
        "driver's call; CuPy: functions that the array layer calls, with what they wait for, and allocations; "
        "waits: reads of lengths and errors; end: the final wait.",
        "Telling layers apart takes about half a microsecond for each call of one, which is in the numbers.",
    ]
    if dilepton.ROW in rows.names("layers"):
        table.notes.append(f"The {dilepton.ROW} is of as many events, up to {MOST_EVENTS:,}, and not in the sums.")
    return table


def _with_total(parts: Iterable[float]) -> list[str]:
    values = list(parts)
    return [number(sum(values)), *map(number, values)]


def cold(rows: Rows) -> Table | None:
    if not rows.names("cold"):
        return None
    table = Table(
        "cold",
        "Cold: first calls in a fresh process",
        [
            "process",
            "imports, ms",
            "map, ms",
            "reducer, ms",
            "scan, ms",
            "all operations, ms",
            "numba imported",
        ],
    )
    for row in rows.rows:
        if row["section"] != "cold":
            continue
        bad = problem(row)
        if bad:
            table.rows.append([row["row"], bad, "", "", "", "", ""])
            continue
        table.rows.append(
            [
                row["row"],
                number(row["import_ms"]),
                *(number(row.get(f"{what}_ms")) for what in ("map", "reducer", "scan", "total")),
                "yes" if row["numba_imported"] else "no",
            ]
        )
        if "operations" in row:
            table.notes.append(f"{row['row']}: {row['operations']} operations, first call of each.")
        for name, why in row.get("failed", {}).items():
            table.notes.append(f"{row['row']}: {name} failed ({why}).")
    return table


_COMPARED = ("ours", "awkward", "cpu")


def first(rows: Rows) -> Table | None:
    """First calls in the processes that were then measured."""
    table = Table(
        "first",
        "First calls of all operations, in the processes measured below",
        ["side", "operations", "s"],
    )
    for side in ("ours", "awkward"):
        checks = [
            r
            for r in rows.rows
            if r["section"] == "operations" and r["kind"] == "check" and r["side"] == side
        ]
        worked = [r for r in checks if "first_ms" in r]
        if worked:
            total = sum(r["first_ms"] for r in worked) / 1e3
            table.rows.append([SIDES[side], str(len(worked)), number(total)])
    if not table.rows:
        return None
    table.notes.append("After those of single kernels, and with the caches as they were.")
    return table


def kernels(rows: Rows) -> Table | None:
    sizes = rows.sizes("kernels")
    if not sizes:
        return None
    sides = [side for side in _COMPARED if rows.has("kernels", side)]
    table = Table("kernels", "Kernels: one call through backend[key](*args)", ["kernel"])
    hosts = [side for side in sides if any("host_us" in r for r in rows.rows if r["side"] == side)]
    least = sizes[min(1, len(sizes) - 1)]
    table.columns += [f"host µs, {SIDES[side]}" for side in hosts]
    for lists in sizes:
        table.columns += [f"{size(lists)}: {SIDES[side]}, µs" for side in sides]
    for name in rows.names("kernels"):
        cells = [name]
        for side in hosts:
            row = rows.get("kernels", name, side, least)
            cells.append(problem(row) or number(row.get("host_us")))
        for lists in sizes:
            for side in sides:
                row = rows.get("kernels", name, side, lists)
                cells.append(_cell(rows, "kernels", name, side, row, "us"))
        table.rows.append(cells)
    if hosts:
        table.notes.append(f"Host µs: what a call keeps the host busy for, at {least:,} lists.")
    table.notes.append(
        "µs at a number of lists: time per call, of calls one after the other, until the last has finished."
    )
    return table


def _cell(rows: Rows, section: str, name: str, side: str, row: Row, key: str) -> str:
    check = rows.check(section, name, side)
    if "wrong" in check:
        return f"{number(row.get(key))} (wrong)".strip()
    return problem(row) or problem(check) or number(row.get(key))


def operations(rows: Rows) -> Table | None:
    sizes = rows.sizes("operations")
    if not sizes:
        return None
    sides = [side for side in _COMPARED if rows.has("operations", side)]
    table = Table("operations", "Operations, ms", ["operation"])
    if rows.has("operations", "floor"):
        table.columns.append("floor")
    for lists in sizes:
        table.columns += [f"{size(lists)}: {SIDES[side]}" for side in sides]
    for name in rows.names("operations"):
        cells = [name]
        if rows.has("operations", "floor"):
            floor = rows.floor("operations", name)
            cells.append(problem(floor) or number(floor.get("ms")))
        for lists in sizes:
            for side in sides:
                row = rows.get("operations", name, side, lists)
                cells.append(_cell(rows, "operations", name, side, row, "ms"))
        table.rows.append(cells)
    table.notes.append(
        f"Wall time in ms, one wait at the end, median; floor: the same on {FLOOR_LISTS} lists on awkward's "
        "CPU backend."
    )
    return table


def bandwidth(rows: Rows) -> Table | None:
    """Of the operations that bandwidth bounds, at most lists."""
    from awkward_cudakernels.bench.rates import COPY

    lists = max(rows.sizes("rates"), default=0)
    copy = rows.get("rates", COPY, "ours", lists).get("gb_s")
    if copy is None:
        return None
    table = Table(
        "bandwidth",
        f"Operations at {size(lists)} lists against the copy of the same run ({copy:,.0f} GB/s)",
        [
            "operation", "MB that must move", "ms", "% of copy", "queued, ms", "% of copy",
            "growth, ms", "% of copy",
        ],
    )  # fmt: skip
    few = min(rows.sizes("operations"), default=0)
    for name in rows.names("operations"):
        row = rows.get("operations", name, "ours", lists)
        if row.get("bytes"):
            cells = [name, f"{row['bytes'] / 1e6:,.0f}"]
            at_few = rows.get("operations", name, "ours", few).get("ms") if few <= FEW else None
            growth = None if at_few is None or row["ms"] <= at_few else row["ms"] - at_few
            for ms in (row["ms"], row.get("queued_ms"), growth):
                share = "" if ms is None else f"{row['bytes'] / ms / 1e4 / copy:.0f}"
                cells += [number(ms), share]
            table.rows.append(cells)
    if not table.rows:
        return None
    table.notes.append(
        "What must move: the inputs that matter, read once, and the new buffers of the result; of an operation "
        "that is made of several, of each, for awkward computes one before the next."
    )
    table.notes.append(
        "Queued: per call, when calls follow one another and only the last is waited for: where the "
        "operation itself waits for nothing, the host's part is hidden behind the device's."
    )
    if few <= FEW:
        table.notes.append(
            f"Growth: how much longer it takes than with {size(few)} lists, where the device has nothing to do: "
            "what is left of Python, launches and waits. Beyond 100% the device works while the host is still in "
            "Python."
        )
    return table


def ratios(
    rows: Rows, section: str, lists: int, over: str, under: str = "ours"
) -> dict[str, float]:
    """Time of one side over that of another, of the rows that both have and neither has wrong."""
    found = {}
    for name in rows.names(section):
        other = (
            rows.floor(section, name) if over == "floor" else rows.get(section, name, over, lists)
        )
        mine = rows.get(section, name, under, lists)
        key = "us" if section == "kernels" else "ms"
        wrong = any("wrong" in rows.check(section, name, side) for side in (over, under))
        if key in other and key in mine and not wrong:
            found[name] = other[key] / mine[key]
    return found


def summary(rows: Rows) -> Table | None:
    """Geometric means, and what is slower."""
    sizes = rows.sizes("operations", "ours")
    if not sizes:
        return None
    table = Table("summary", "Operations: geometric means", ["ratio", *(size(n) for n in sizes)])
    kinds = (
        ("awkward", "awkward's CUDA / ours", False),
        ("cpu", "awkward's CPU / ours", False),
        ("floor", "ours / floor", True),
    )
    for over, heading, inverse in kinds:
        if not rows.has("operations", over):
            continue
        cells, counts = [], []
        for lists in sizes:
            values = ratios(rows, "operations", lists, over)
            mean = geometric_mean(values.values())
            cells.append(number(1 / mean if inverse and mean else mean))
            counts.append(len(values))
        table.rows.append([f"{heading} (of {max(counts)} operations)", *cells])
    if rows.has("operations", "awkward") and rows.has("operations", "floor"):
        means = [
            geometric_mean(ratios(rows, "operations", n, "floor", "awkward").values())
            for n in sizes
        ]
        table.rows.append(
            ["awkward's CUDA / floor", *(number(1 / mean if mean else None) for mean in means)]
        )
    for lists in sizes:
        slower = {
            name: ratio
            for name, ratio in ratios(rows, "operations", lists, "awkward").items()
            if ratio < 1
        }
        if slower:
            named = ", ".join(f"{name} ({number(1 / r)} times)" for name, r in slower.items())
            table.notes.append(f"Slower than awkward's CUDA backend at {lists:,} lists: {named}.")
        elif rows.has("operations", "awkward"):
            table.notes.append(f"Slower than awkward's CUDA backend at {lists:,} lists: none.")
    return table


def dilepton(rows: Rows) -> Table | None:
    sizes = rows.sizes("dilepton")
    if not sizes:
        return None
    sides = [side for side in _COMPARED if rows.has("dilepton", side)]
    table = Table("dilepton", "Dilepton selection, ms", ["events"])
    table.columns += [SIDES[side] for side in sides]
    for name in rows.names("dilepton"):
        floor = rows.floor("dilepton", name)
        for events in sizes:
            cells = [f"{events:,}"]
            for side in sides:
                row = rows.get("dilepton", name, side, events)
                cells.append(_cell(rows, "dilepton", name, side, row, "ms"))
            table.rows.append(cells)
        if "ms" in floor:
            table.notes.append(
                f"The same on {FLOOR_LISTS} events on awkward's CPU backend, that is awkward's Python "
                f"alone: {number(floor['ms'])} ms."
            )
    return table


def targets(rows: Rows) -> Table | None:
    """What this project set out to reach, and what was measured."""
    table = Table("targets", "Targets", ["what", "target", "measured", ""])

    def add(what: str, measured: float | None, least: bool, goal: float, unit: str) -> None:
        if measured is not None:
            met = measured >= goal if least else measured <= goal
            goal_text = f"at {'least' if least else 'most'} {goal:g}{unit}"
            text = str(measured) if isinstance(measured, int) else number(measured, unit)
            table.rows.append([what, goal_text, text, "met" if met else "missed"])

    def launched(prefix: str) -> float | None:
        found = (r for r in rows.rows if r["section"] == "launch" and r["row"].startswith(prefix))
        return next((r.get("host_us") for r in found), None)

    add("host time of primitives.transform", launched("primitives.transform"), False, 8, " µs")
    add(
        "host time of a map through backend[key](*args)", launched("backend[key]"), False, 15, " µs"
    )
    for name, goal in (("map (next_at)", 90), ("segmented sum, mean 3", 85)):
        rate = rows.get("rates", name, "ours", LARGE).get("gb_s")
        copy = rows.get("rates", "copy", "ours", LARGE).get("gb_s")
        share = 100 * rate / copy if rate and copy else None
        add(f"{name} at {size(LARGE)} lists, of the copy", share, True, goal, "%")
    colds = {r["row"]: r for r in rows.rows if r["section"] == "cold"}
    for what in ("map", "reducer", "scan"):
        row = colds.get("kernels, warm cache", {})
        add(f"first call of a {what}, warm cache", row.get(f"{what}_ms"), False, 50, " ms")
    for cache, seconds in (("warm", 1.5), ("empty", 20.0)):
        total = colds.get(f"operations, {cache} cache", {}).get("total_ms")
        what = f"first calls of all operations, {cache} cache"
        add(what, total and total / 1e3, False, seconds, " s")
    found = ratios(rows, "operations", MIDDLE, "awkward")
    what = f"awkward's CUDA / ours, operations at {size(MIDDLE)} lists"
    add(f"{what}, geometric mean", geometric_mean(found.values()), True, 4, "")
    add(f"{what}, the least", min(found.values(), default=None), True, 1, "")
    shares = bandwidth(rows)
    if shares is not None and size(LARGE) in shares.title:
        what = f"operations bound by bandwidth at {size(LARGE)} lists"
        for how, column in (("", 3), ("queued, ", 5)):
            found_shares = [(float(cells[column]), cells[0]) for cells in shares.rows if cells[column]]
            if found_shares:
                least, name = min(found_shares)
                enough = sum(share >= 70 for share, _ in found_shares)
                add(f"{what}, {how}of the copy, the least ({name})", least, True, 70, "%")
                add(f"{what}, {how}that reach 70% of it", enough, True, len(found_shares), "")
    for events, goal in ((1_000_000, 20), (10_000_000, 35)):
        for name in rows.names("dilepton"):
            ms = rows.get("dilepton", name, "ours", events).get("ms")
            add(f"{name}, {size(events)} events", ms, False, goal, " ms")
    on_gpu = any(
        r["section"] in ("launch", "rates", "cold") or r["side"] == "awkward" for r in rows.rows
    )
    return table if table.rows and on_gpu else None


def against(rows: Rows) -> Table | None:
    found = [r for r in rows.rows if r["section"] == "against"]
    if not found:
        return None
    about = ("section", "kind", "side", "row", "lists", "error")
    keys = list(dict.fromkeys(k for r in found for k in r if k not in about))
    units = {"_us": ", µs", "_ms": ", ms"}
    headings = [
        (key[:-3] if key[-3:] in units else key).replace("_", " ") + units.get(key[-3:], "") for key in keys
    ]
    table = Table("against", f"Against {found[0]['side']}", ["", "lists", *headings])
    for row in found:
        values = [row.get(key) for key in keys]
        cells = [problem(row) or (x if isinstance(x, str) else number(x)) for x in values]
        table.rows.append([row["row"], f"{row['lists']:,}", *cells])
    return table


def failures(rows: Rows) -> Table | None:
    """What could not be measured, or was wrong, in one line each."""
    table = Table("failures", "Not measured, or wrong", ["what", "side", "why"])
    seen = set()
    for row in rows.rows:
        why: str | None = row.get("error") or (f"wrong: {row['wrong']}" if "wrong" in row else None)
        key = (row["section"], row["row"], row["side"], why)
        if why is not None and key not in seen:
            seen.add(key)
            side = SIDES.get(row["side"], str(row["side"]))
            table.rows.append([f"{row['section']}: {row['row']}", side, why])
    return table if table.rows else None


def rich_table(table: Table) -> Any:
    """For rich's console."""
    from rich.table import Table as Rich
    from rich.text import Text

    made = Rich()
    numbers = table.name != "failures"
    for i, column in enumerate(table.columns):
        made.add_column(Text(column), justify="right" if i and numbers else "left", overflow="fold")
    for row in table.rows:
        made.add_row(*(Text(cell, style=_style(cell)) for cell in row))
    return made


def _style(cell: str) -> str:
    if cell == "error" or cell.endswith("(wrong)"):
        return "bold red"
    return "dim" if cell in ("skipped", "not supported", "out of memory") else ""


def markdown(table: Table) -> str:
    """For a document."""
    numbers = table.name != "failures"
    lines = [
        "| " + " | ".join(map(_escaped, table.columns)) + " |",
        "|" + "|".join("---:" if i and numbers else "---" for i in range(len(table.columns))) + "|",
    ]
    lines += ["| " + " | ".join(map(_escaped, row)) + " |" for row in table.rows]
    if table.notes:
        lines += ["", *(f"- {_escaped(note)}" for note in table.notes)]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
