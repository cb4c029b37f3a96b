"""Tables of a run, written into a document between marker comments."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from awkward_cudakernels.bench import tables

__all__ = ["replace", "write"]

_PLACE = re.compile(
    r"(?P<begin><!-- bench: (?P<name>[\w-]+) -->\n)(?P<old>.*?)(?P<end><!-- /bench -->)", re.DOTALL
)


def replace(text: str, contents: dict[str, str]) -> tuple[str, list[str], list[str]]:
    """Puts contents into their places.

    A place is ``<!-- bench: NAME -->``, lines, ``<!-- /bench -->``; the lines are replaced.

    Args:
        text: the document.
        contents: Markdown by name. A place whose name is not among them stays as it is.

    Returns:
        The new text, the names of places that were filled, and of those that were left.
    """
    filled: list[str] = []
    left: list[str] = []

    def fill(place: re.Match[str]) -> str:
        name = place["name"]
        if name not in contents:
            left.append(name)
            return place[0]
        filled.append(name)
        return f"{place['begin']}\n{contents[name].strip()}\n\n{place['end']}"

    return _PLACE.sub(fill, text), filled, left


def contents(result: dict[str, Any]) -> dict[str, str]:
    """Markdown of every table of a run, and ``about``: what it ran on.

    Of a run with ``--against`` only, what it ran on is ``about-against``, and the rest is left.
    """
    made = {table.name: tables.markdown(table) for table in tables.all_tables(result["rows"])}
    if {row["section"] for row in result["rows"]} == {"against"}:
        return {"against": made["against"], "about-against": about(result["about"])}
    # A run without failures must clear those of the one before.
    made.setdefault("failures", "None.")
    made["about"] = about(result["about"])
    return made


def about(facts: dict[str, Any]) -> str:
    """One paragraph on what a run ran on."""
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return (
        f"{facts['device']}; {facts['cpu']}. {versions}. {facts['date']}, "
        f"`{facts['command']}`, {facts['seconds']:.0f} s."
    )


def write(result: dict[str, Any], path: Path) -> tuple[list[str], list[str]]:
    """Fills the places of a document in a file; returns the names that were filled, and left.

    Raises:
        OSError: the file cannot be read or written.
    """
    text, filled, left = replace(path.read_text(encoding="utf-8"), contents(result))
    path.write_text(text, encoding="utf-8")
    return filled, left
