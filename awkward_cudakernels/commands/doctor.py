"""``doctor``: is everything here that the kernels need?"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from awkward_cudakernels.doctor import Diagnosis

_STYLES = {"ok": "green", "missing": "yellow", "wrong": "bold red"}
_EXECUTORS = {
    "device": "The kernels run on the GPU.",
    "host": "The kernels run on the CPU; what is missing or wrong above keeps them from the GPU.",
    "none": "The kernels cannot run: put right what is missing or wrong above.",
}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
def command(as_json: bool) -> None:
    """Check this machine; exit code 0 if the kernels can run here, on the CPU at least, else 1."""
    from awkward_cudakernels.doctor import diagnose

    diagnosis = diagnose()
    if as_json:
        checks = [asdict(check) for check in diagnosis.checks]
        text = {"usable": diagnosis.usable, "executor": diagnosis.executor, "checks": checks}
        click.echo(json.dumps(text, indent=2))
    else:
        _show(diagnosis)
    sys.exit(0 if diagnosis.usable else 1)


def _show(diagnosis: Diagnosis) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column()
    table.add_column(overflow="fold")
    for check in diagnosis.checks:
        lines = Text(check.found)
        if check.advice:
            lines.append(f"\n{check.advice}", style="italic")
        table.add_row(Text(check.state, style=_STYLES[check.state]), Text(check.name), lines)
    console = Console(highlight=False)
    console.print(table)
    console.print()
    console.print(_EXECUTORS[diagnosis.executor], style="bold", soft_wrap=True)
