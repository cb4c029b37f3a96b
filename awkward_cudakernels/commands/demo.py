"""``demo``: a dimuon analysis, checked against awkward's own CPU kernels."""

from __future__ import annotations

import json
import math
import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from awkward_cudakernels.commands import Problem

if TYPE_CHECKING:
    from awkward_cudakernels.demo import Report
    from awkward_cudakernels.samples import MuonSample

DEFAULT_EVENTS = 200_000


@click.command()
@click.option(
    "--input", "path", type=click.Path(path_type=Path), help="NanoAOD-style Parquet or ROOT file to analyse."
)
@click.option(
    "--events",
    type=click.IntRange(min=1),
    help=f"Size of the generated sample, if there is no --input.  [default: {DEFAULT_EVENTS}]",
)
@click.option("--seed", type=click.IntRange(min=0), default=20260, show_default=True, help="Of that sample.")
@click.option(
    "--backend",
    type=click.Choice(["auto", "cpu", "cuda"]),
    default="auto",
    show_default=True,
    help="cpu: this project's kernels on the host; cuda: on the GPU; auto: on the GPU if there is one.",
)
@click.option(
    "--pt-cut", type=click.FloatRange(min=0), default=4.0, show_default=True, help="In GeV, of each muon."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Plot the mass spectrum here (.png, .pdf).",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
def command(
    path: Path | None,
    events: int | None,
    seed: int,
    backend: str,
    pt_cut: float,
    output: Path | None,
    as_json: bool,
) -> None:
    """Find resonances that decay to two muons, and check every number against awkward's own kernels."""
    if path is not None and events is not None:
        raise Problem("Give --input to read events or --events to generate them, not both.")
    if output is not None:
        _check_output(output)
    backend = _choose(backend)

    # Here, not above: it imports awkward, and a wrong option should be answered at once.
    from awkward_cudakernels.demo import Cuts, run

    with _progress() as (say, advance):
        try:
            sample = _sample(path, events or DEFAULT_EVENTS, seed, say, advance)
            report = run(sample, backend, Cuts(pt=pt_cut), say)
        except MemoryError as err:
            raise Problem(
                "There is not enough memory for this many events: try a smaller sample or another backend."
            ) from err

    about = _about(backend)
    if output is not None:
        _plot(report, sample, about, output)
    if as_json:
        click.echo(json.dumps(_as_dict(report, sample, about), indent=2))
    else:
        _show(report, sample, about, output)
    if report.differences:
        sys.exit(1)


def _choose(backend: str) -> str:
    if backend == "cpu":
        return "cpu"
    from awkward_cudakernels.environment import why_no_cuda

    reason = why_no_cuda()
    if reason is None:
        return "cuda"
    if backend == "cuda":
        raise Problem(f"--backend cuda cannot be used because {reason}; --backend cpu works everywhere.")
    return "cpu"


def _check_output(output: Path) -> None:
    from matplotlib.backend_bases import FigureCanvasBase

    known = sorted(FigureCanvasBase.get_supported_filetypes())
    if output.suffix.lstrip(".").lower() not in known:
        raise Problem(f"The name of the plot, {output}, must end in one of: {', '.join(known)}.")
    folder = output.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise Problem(f"The plot cannot be written: there is no folder {folder} that can be written to.")


def _sample(
    path: Path | None, events: int, seed: int, say: Callable[[str], None], advance: Callable[[float], None]
) -> MuonSample:
    from awkward_cudakernels.samples import SampleError, generate, read

    if path is None:
        say(f"generate {events:,} events")
        return generate(events, seed, lambda done: advance(done / events))
    say(f"read {path}")
    try:
        return read(path)
    except SampleError as err:
        raise Problem(str(err)) from err


@contextmanager
def _progress() -> Iterator[tuple[Callable[[str], None], Callable[[float], None]]]:
    """A line on stderr that names the step at work, if a person is looking."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("start", total=None)

        def say(what: str) -> None:
            progress.update(task, description=what, total=None, completed=0)

        def advance(fraction: float) -> None:
            progress.update(task, total=1.0, completed=fraction)

        yield say, advance


def _about(backend: str) -> dict[str, Any]:
    """What the demo ran on."""
    from awkward_cudakernels.environment import cpu_name, driver, versions

    names = ["awkward-cudakernels", "awkward", "numpy", "numba"]
    if backend == "cuda":
        names += ["cupy-cuda12x", "cupy-cuda13x", "cuda-core", "cuda-cccl", "numba-cuda"]
        found = driver()
        device = str(found.devices[0]) if found and found.devices else "unknown"
    else:
        device = f"{cpu_name()}, {os.cpu_count()} cores"
    return {
        "backend": backend,
        "executor": "device (CUDA)" if backend == "cuda" else "host (numba)",
        "device": device,
        "versions": {"python": platform.python_version(), **versions(names)},
    }


def _as_dict(report: Report, sample: MuonSample, about: dict[str, Any]) -> dict[str, Any]:
    return {
        **about,
        "input": sample.origin,
        "results": {
            k: None if isinstance(v, float) and math.isnan(v) else v for k, v in report.results.items()
        },
        "histogram": {
            "edges": report.edges.tolist(),
            "counts": report.counts.tolist(),
            "best_counts": report.best_counts.tolist(),
        },
        "seconds": report.seconds,
        "families": report.families,
        "check": {"agrees": not report.differences, "differences": report.differences},
    }


def _show(report: Report, sample: MuonSample, about: dict[str, Any], output: Path | None) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    ran = Table.grid(padding=(0, 2))
    ran.add_column(style="bold")
    ran.add_column()
    ran.add_row("sample", Text(f"{sample.origin}: {sample.events:,} events, {sample.muons:,} muons"))
    ran.add_row("device", Text(about["device"]))
    ran.add_row("executor", about["executor"])
    ran.add_row("kernels", Text(_kernels(report.families)))
    ran.add_row("versions", ", ".join(f"{name} {version}" for name, version in about["versions"].items()))
    console.print(ran)
    console.print()

    results = Table(title="Results", title_justify="left")
    results.add_column("quantity")
    results.add_column("value", justify="right")
    for name, value in report.results.items():
        results.add_row(name, _number(value))
    console.print(results)
    console.print()

    times = Table(title="Time per step, ms", title_justify="left")
    times.add_column("step")
    for heading in ("first run", "second run", "awkward's own, on the CPU"):
        times.add_column(heading, justify="right")
    columns = ("first", "second", "stock_cpu")
    for name, seconds in report.seconds.items():
        times.add_row(name, *(_milliseconds(seconds.get(column)) for column in columns))
    times.add_section()
    sums = (sum(seconds.get(column, 0.0) for seconds in report.seconds.values()) for column in columns)
    times.add_row("all", *(_milliseconds(total) for total in sums))
    console.print(times)
    console.print()

    if output is not None:
        console.print(Text(f"Plot: {output}"), soft_wrap=True)
    if report.differences:
        console.print(
            "Check FAILED: these results are not those of awkward's own CPU kernels:",
            style="bold red",
            soft_wrap=True,
        )
        for difference in report.differences:
            console.print(Text(f"  {difference}"), soft_wrap=True)
    else:
        console.print(
            "Check passed: event by event, the results are those of awkward's own CPU kernels.",
            style="green",
            soft_wrap=True,
        )


def _kernels(families: dict[str, bool]) -> str:
    theirs = sorted(name.removeprefix("awkward_") for name, ours in families.items() if not ours)
    text = f"{len(families) - len(theirs)} of the {len(families)} used are this project's"
    return f"{text}, the others awkward's own: {', '.join(theirs)}" if theirs else text


def _number(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if math.isnan(value) else f"{value:.3f}"


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1000 * seconds:,.1f}"


def _plot(report: Report, sample: MuonSample, about: dict[str, Any], output: Path) -> None:
    from awkward_cudakernels.commands import _plot

    title = f"{sample.events:,} events ({sample.origin}), {about['device'].split(',')[0]}"
    try:
        _plot.spectrum(report.edges, report.counts, report.best_counts, title, output)
    except OSError as err:
        raise Problem(f"The plot cannot be written to {output}: {err.strerror or err}.") from err
