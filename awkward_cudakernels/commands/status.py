"""``status``: how far the migration of awkward's kernels has come."""

from __future__ import annotations

import json
from typing import Any

import click

from awkward_cudakernels.commands import Problem


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
def command(as_json: bool) -> None:
    """Count the kernels written on the primitives, fallen back on, and missing."""
    import awkward_cudakernels

    try:
        status = awkward_cudakernels.status()
    except ValueError as err:
        raise Problem(str(err)) from None
    if as_json:
        click.echo(json.dumps(status, indent=2))
    else:
        _show(status)


def _show(status: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    families, specializations = status["families"], status["specializations"]
    total = families["total"]
    table = Table(title=f"Kernels of awkward {status['awkward']}", title_justify="left")
    table.add_column("kernel families")
    table.add_column("count", justify="right")
    table.add_column("share", justify="right")
    for label, key in (
        ("written on the primitives", "primitives"),
        ("raw CUDA (legacy_cu)", "legacy_cu"),
        ("missing: awkward's own is used", "missing"),
    ):
        table.add_row(label, str(families[key]), _share(families[key], total))
    table.add_section()
    table.add_row("all", str(total), _share(total, total))

    console = Console()
    console.print(table)
    if status.get("migration"):
        console.print(_migration(status))
    implemented, every = specializations["implemented"], specializations["total"]
    console.print(f"Specializations (one per combination of dtypes): {implemented} of {every} implemented.")
    if status["missing"]:
        console.print("Missing families:", style="bold")
        for name in status["missing"]:
            console.print(f"  {name}", highlight=False)


def _migration(status: dict[str, Any]) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(
        title="Families, by how awkward ran them on CUDA; kernels are their specializations",
        title_justify="left",
        box=box.SIMPLE,
        show_footer=True,
    )
    columns = {
        "families": "families",
        "specializations": "kernels",
        "primitives": "primitives",
        "raw_available": "raw\navailable",
        "raw_in_force": "raw in\nforce",
        "missing": "missing",
    }
    table.add_column("", footer="all")
    for name, header in columns.items():
        total = str(sum(row[name] for row in status["migration"]))
        table.add_column(header, justify="right", footer=total)
    for row in status["migration"]:
        table.add_row(row["history"], *(str(row[name]) for name in columns))
    return table


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}%" if whole else "-"
