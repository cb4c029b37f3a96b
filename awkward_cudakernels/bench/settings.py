"""What is measured, as the command line says it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["FLOOR_LISTS", "LISTS", "QUICK_LISTS", "SECTIONS", "Settings", "Task", "parse_sizes"]

SECTIONS = ("launch", "rates", "layers", "cold", "kernels", "operations", "dilepton")
HOST_SECTIONS = ("kernels", "operations", "dilepton")
"""The sections that mean something without a GPU."""

LISTS = (1_000, 200_000, 2_000_000, 20_000_000)
QUICK_LISTS = (1_000, 200_000)
HOST_LISTS = (1_000, 200_000)
EVENTS = (1_000_000, 10_000_000)
QUICK_EVENTS = (100_000,)
FLOOR_LISTS = 100
CHECK_LISTS = 1_000
"""Lists on which every result is compared with awkward's CPU backend."""


@dataclass(frozen=True)
class Settings:
    """How much is measured.

    Attributes:
        device: whether there is a GPU to measure.
        lists: sizes of the sections ``kernels`` and ``operations``; ``rates`` takes those from 200,000,
            ``layers`` 200,000 and the largest.
        events: sizes of ``dilepton``.
        only: a regular expression that a row's name must match somewhere, or None.
        seconds: how long one number is measured, at least three runs.
        patience: what is predicted to take more seconds per run on a CPU is skipped.
    """

    device: bool
    lists: tuple[int, ...] = LISTS
    events: tuple[int, ...] = EVENTS
    only: str | None = None
    seconds: float = 0.06
    patience: float = 1.5

    def wants(self, name: str) -> bool:
        """Whether a row of this name is measured."""
        return self.only is None or re.search(self.only, name) is not None

    def as_dict(self) -> dict[str, Any]:
        """As plain data, for a worker or a file."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Settings:
        """The inverse of `as_dict`, also after JSON made lists of the tuples."""
        return cls(**{**data, "lists": tuple(data["lists"]), "events": tuple(data["events"])})


@dataclass(frozen=True)
class Task:
    """One thing for a worker to do.

    ``kind`` is ``"check"`` (first call, and the result compared with awkward's CPU backend), ``"time"``,
    or ``"wait"`` (until the runner says go; the other fields do not matter).
    """

    kind: str
    section: str = ""
    row: str = ""
    lists: int = 0


def parse_sizes(text: str) -> tuple[int, ...]:
    """Sizes from ``"1000,200000"`` or ``"1k,200k,20M"``, ascending.

    Raises:
        ValueError: the text is none; the message is one sentence.
    """
    sizes = set()
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"([\d_]+)([kM]?)", part)
        if match is None or int(match[1]) == 0:
            raise ValueError(f"{part!r} is not a number of lists: write for example 1000,200k,20M")
        sizes.add(int(match[1]) * {"": 1, "k": 1_000, "M": 1_000_000}[match[2]])
    if not sizes:
        raise ValueError("No number of lists is given: write for example 1000,200k,20M")
    return tuple(sorted(sizes))


def tasks(
    kind: str, section: str, rows: Iterable[str], sizes: Iterable[int], settings: Settings
) -> list[Task]:
    """Tasks of one section, size by size, for the rows that are wanted."""
    wanted = [row for row in rows if settings.wants(row)]
    return [Task(kind, section, row, size) for size in sizes for row in wanted]
