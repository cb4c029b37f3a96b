"""``bench --against NAME``: this project's kernels against another implementation of them.

A module ``awkward_cudakernels.bench.against_NAME`` with a function ``rows`` is all that it takes::

    def rows(settings: Settings, say: Callable[[str], None]) -> Iterator[dict[str, Any]]: ...

Each dictionary is one row: ``row`` (a name), ``lists``, and numbers by column, for example
``{"row": "reduce_sum", "lists": 200_000, "ours_us": 6.6, "legacy_us": 8.0}``; or ``error``, a sentence.
All other keys become columns, in the order of the first row: numbers, of µs and ms where they end in
``_us`` and ``_ms``, or texts. ``settings.wants(name)`` says whether a row is asked for; ``say`` tells the
user what is being done.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

from awkward_cudakernels import bench
from awkward_cudakernels.bench.settings import Settings

__all__ = ["names", "rows"]

_PREFIX = "against_"


def names() -> list[str]:
    """What there is to compare with."""
    modules = pkgutil.iter_modules(bench.__path__)
    return sorted(m.name.removeprefix(_PREFIX) for m in modules if m.name.startswith(_PREFIX))


def rows(name: str, settings: Settings, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """The rows of one comparison, each with ``side`` set to its name."""
    module = importlib.import_module(f"{bench.__name__}.{_PREFIX}{name}")
    for row in module.rows(settings, say):
        yield {"section": "against", "kind": "time", "side": name, **row}
