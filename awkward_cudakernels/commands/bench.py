"""``bench``: every figure of docs/performance.md, measured on this machine."""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from awkward_cudakernels.bench import settings as plan
from awkward_cudakernels.commands import Problem

if TYPE_CHECKING:
    from rich.console import Console

    from awkward_cudakernels.bench.tables import Table


def _sizes(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    if value is None:
        return None
    try:
        return plan.parse_sizes(value)
    except ValueError as err:
        raise click.BadParameter(str(err)) from err


def _pattern(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        try:
            re.compile(value)
        except re.error as err:
            raise click.BadParameter(f"{value!r} is no regular expression: {err}.") from err
    return value


NO_GPU = "no GPU"
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("sections", nargs=-1, type=click.Choice(plan.SECTIONS), metavar="[SECTION]...")
@click.option(
    "--lists",
    callback=_sizes,
    help="Numbers of lists.  [default: 1k,200k,2M,20M; 1k,200k on a CPU]",
)
@click.option(
    "--events",
    callback=_sizes,
    help="Numbers of events of the dilepton selection.  [default: 1M,10M]",
)
@click.option("--only", callback=_pattern, metavar="REGEX", help="Only rows whose name matches.")
@click.option("--quick", is_flag=True, help="Fewer sizes, and less time for each number.")
@click.option(
    "--without-awkward-cuda",
    is_flag=True,
    help="Not awkward's own CUDA backend, which compiles for minutes.",
)
@click.option(
    "--cold-awkward",
    is_flag=True,
    help="Also awkward's own first calls, in a process of their own.",
)
@click.option(
    "--against",
    metavar="NAME",
    help="Against another implementation of the kernels, such as legacy.",
)
@click.option("--json", "json_path", type=_FILE, help="Write the rows here.")
@click.option("--plot", type=_FILE, help="Plot time against lists here (.png, .pdf).")
@click.option(
    "--from",
    "saved",
    type=_FILE,
    help="Measure nothing: show the rows of a file that --json wrote.",
)
@click.option(
    "--write-docs",
    nargs=2,
    type=_FILE,
    metavar="FILE.json DOCUMENT.md",
    help="Measure nothing: put the tables of the file into the places of the document.",
)
def command(
    sections: tuple[str, ...],
    lists: tuple[int, ...] | None,
    events: tuple[int, ...] | None,
    only: str | None,
    quick: bool,
    without_awkward_cuda: bool,
    cold_awkward: bool,
    against: str | None,
    json_path: Path | None,
    plot: Path | None,
    saved: Path | None,
    write_docs: tuple[Path, Path] | None,
) -> None:
    """Measure this project's kernels against awkward's own, on the CPU and the GPU.

    SECTION: launch (host time of a call), rates (device bandwidth), layers (where the time of an operation
    goes), cold (first calls), kernels, operations, dilepton (an analysis). By default all that this machine can
    run, without what --against adds.
    """
    if write_docs is not None:
        _write_docs(*write_docs)
        return
    for path in (json_path, plot):
        _check_folder(path)
    if plot is not None:
        _check_format(plot)
    console = _console()
    if saved is not None:
        result = _read(saved)
        _show(console, result["rows"], set())
    else:
        _check_against(against)
        settings, chosen = _settings(console, sections, lists, events, only, quick, against)
        result = _measure(
            console, chosen, settings, not without_awkward_cuda, cold_awkward, against, json_path
        )
    if json_path is not None:
        _save(result, json_path)
        console.print(f"Rows: {json_path}", soft_wrap=True, highlight=False)
    if plot is not None:
        _plot(result, plot)
        console.print(f"Plot: {plot}", soft_wrap=True, highlight=False)
    if not result["rows"]:
        raise Problem("Nothing was measured: no row's name matches.")


def _console() -> Console:
    from rich.console import Console

    # Tables of a run are wide; in a file, nothing is gained by folding them at 80 columns.
    return Console(highlight=False, width=None if sys.stdout.isatty() else 240)


def _check_folder(path: Path | None) -> None:
    if path is not None and not os.access(path.absolute().parent, os.W_OK):
        raise Problem(
            f"{path} cannot be written: there is no folder {path.absolute().parent} to write to."
        )


def _check_format(path: Path) -> None:
    from matplotlib.backend_bases import FigureCanvasBase

    known = sorted(FigureCanvasBase.get_supported_filetypes())
    if path.suffix.lstrip(".").lower() not in known:
        raise Problem(f"The name of the plot, {path}, must end in one of: {', '.join(known)}.")


def _check_against(name: str | None) -> None:
    if name is None:
        return
    from awkward_cudakernels.bench import against

    known = against.names()
    if name not in known:
        raise Problem(
            f"--against {name} is not known; there is: {', '.join(known)}."
            if known
            else f"--against {name} cannot be used: this version has nothing to compare with."
        )


def _settings(
    console: Console,
    sections: tuple[str, ...],
    lists: tuple[int, ...] | None,
    events: tuple[int, ...] | None,
    only: str | None,
    quick: bool,
    against: str | None,
) -> tuple[plan.Settings, list[str]]:
    from awkward_cudakernels.environment import why_no_cuda

    reason = why_no_cuda()
    device = reason is None
    possible = plan.SECTIONS if device else plan.HOST_SECTIONS
    impossible = [section for section in sections if section not in possible]
    if impossible:
        raise Problem(f"{', '.join(impossible)}: only on a GPU, and {reason}.")
    if against is not None and not device:
        raise Problem(f"--against {against}: only on a GPU, and {reason}.")
    if not device:
        console.print(
            f"Measuring this project's host executor against awkward's CPU kernels, because {reason}.",
            soft_wrap=True,
        )
    chosen = [s for s in possible if s in sections or (not sections and against is None)]
    if lists is None:
        lists = plan.QUICK_LISTS if quick else plan.LISTS if device else plan.HOST_LISTS
    if events is None:
        events = plan.QUICK_EVENTS if quick or not device else plan.EVENTS
    settings = plan.Settings(device, lists, events, only)
    return replace(settings, seconds=settings.seconds / 2) if quick else settings, chosen


def _measure(
    console: Console,
    sections: list[str],
    settings: plan.Settings,
    awkward_cuda: bool,
    cold_awkward: bool,
    against: str | None,
    json_path: Path | None,
) -> dict[str, Any]:
    from awkward_cudakernels.bench import runner

    began = time.perf_counter()
    result: dict[str, Any] = {"about": _about(settings), "settings": settings.as_dict(), "rows": []}
    shown: set[str] = set()
    with _progress() as say:
        run = runner.run(
            sections,
            settings,
            awkward_cuda=awkward_cuda,
            cold_awkward=cold_awkward,
            against=against,
            say=say,
        )
        try:
            for part, rows in run:
                result["rows"] += rows
                result["about"]["seconds"] = time.perf_counter() - began
                if json_path is not None:
                    _save(result, json_path)  # what is measured is kept, whatever happens next
                _show(console, result["rows"], shown, _TABLES.get(part, ()))
        except KeyboardInterrupt:
            run.close()
            result["rows"] += runner.interrupted
            result["about"]["interrupted"] = True
            console.print("Interrupted: what was measured until now follows.")
    result["about"]["seconds"] = time.perf_counter() - began
    _show(console, result["rows"], shown)
    console.print(f"Measured in {result['about']['seconds']:.0f} s.")
    return result


#: The tables that are complete when a part of a run is.
_TABLES = {
    "launch": ("launch",),
    "rates": ("rates",),
    "layers": ("layers",),
    "cold": ("cold",),
    "compared": ("first", "kernels", "operations", "bandwidth", "summary", "dilepton"),
    "against": ("against",),
}


def _show(
    console: Console,
    rows: list[dict[str, Any]],
    shown: set[str],
    names: Sequence[str] | None = None,
) -> None:
    """Prints the tables of these names, by default all, that were not shown yet."""
    from awkward_cudakernels.bench.tables import all_tables

    for table in all_tables(rows):
        if table.name not in shown and (names is None or table.name in names):
            shown.add(table.name)
            _print(console, table)


def _print(console: Console, table: Table) -> None:
    from rich.text import Text

    from awkward_cudakernels.bench.tables import rich_table

    console.print(Text(table.title, style="bold"), soft_wrap=True)
    console.print(rich_table(table))
    for note in table.notes:
        console.print(Text(note, style="dim"), soft_wrap=True)
    console.print()
    console.file.flush()


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """A line on stderr that says what is being measured; without a terminal, a line for each part."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if console.is_terminal:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task("start", total=None)
            yield lambda what: progress.update(task, description=what)
        return
    began, said, lock = time.perf_counter(), set(), threading.Lock()

    def say(what: str) -> None:
        part = what.partition(":")[0]
        with lock:
            if part not in said:
                said.add(part)
                print(f"[{time.perf_counter() - began:4.0f} s] {part}", file=sys.stderr, flush=True)

    yield say


def _about(settings: plan.Settings) -> dict[str, Any]:
    from awkward_cudakernels.environment import cpu_name, driver, versions

    names = ["awkward-cudakernels", "awkward", "numpy"]
    device = NO_GPU
    if settings.device:
        names += ["cupy-cuda12x", "cupy-cuda13x", "cuda-core", "cuda-cccl", "numba-cuda"]
        found = driver()
        device = str(found.devices[0]) if found and found.devices else "unknown"
    return {
        "device": device,
        "cpu": f"{cpu_name()}, {os.cpu_count()} cores",
        "versions": {"python": platform.python_version(), **versions(names)},
        "date": datetime.date.today().isoformat(),
        "command": " ".join(["awkward-cudakernels", "bench", *_arguments()]),
        "seconds": 0.0,
    }


def _arguments() -> list[str]:
    """The arguments after ``bench``, files by their names alone."""
    given = sys.argv[sys.argv.index("bench") + 1 :] if "bench" in sys.argv else []
    return [Path(argument).name if os.sep in argument else argument for argument in given]


def _save(result: dict[str, Any], path: Path) -> None:
    try:
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    except OSError as err:
        raise Problem(f"The rows cannot be written to {path}: {err.strerror or err}.") from err


def _read(path: Path) -> dict[str, Any]:
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(result["rows"], list) or not isinstance(result["about"], dict):
            raise TypeError
    except OSError as err:
        raise Problem(f"{path} cannot be read: {err.strerror or err}.") from err
    except (ValueError, KeyError, TypeError) as err:
        raise Problem(f"{path} is not a file that `bench --json` wrote.") from err
    return result


def _plot(result: dict[str, Any], path: Path) -> None:
    from awkward_cudakernels.bench import plot

    about = result["about"]
    where = about["cpu"] if about["device"] == NO_GPU else about["device"]
    title = f"{where}, awkward {about['versions']['awkward']}"
    try:
        plot.draw(result["rows"], title, path)
    except ValueError as err:
        raise Problem(f"There is no plot: {err}.") from err
    except OSError as err:
        raise Problem(f"The plot cannot be written to {path}: {err.strerror or err}.") from err


def _write_docs(source: Path, document: Path) -> None:
    from awkward_cudakernels.bench.document import write

    result = _read(source)
    try:
        filled, left = write(result, document)
    except OSError as err:
        raise Problem(f"{document} cannot be changed: {err.strerror or err}.") from err
    if not filled:
        raise Problem(
            f"{document} has no place for these tables: a line <!-- bench: NAME --> begins one."
        )
    click.echo(
        f"{document}: filled {', '.join(filled)}" + (f"; left {', '.join(left)}" if left else "")
    )
