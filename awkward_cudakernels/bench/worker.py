"""A process that measures one side: ``python -m awkward_cudakernels.bench.worker REQUEST``.

REQUEST is a JSON object: ``side``, ``settings`` and ``tasks``, the latter as lists of the fields of
`Task`. What happens is written to standard output, one JSON object a line:

- ``{"event": "start", "kind", "section", "row", "lists"}`` before each task;
- ``{"event": "row", "kind", "section", "row", "lists", "side", ...}`` after it, with what was measured, or
  with ``error``;
- ``{"event": "waiting"}`` for a task of kind ``wait``, which ends with a line on standard input.

Exit code `BROKEN` means that the device does not work any more in this process; the tasks after the last
one started are then for another process.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from awkward_cudakernels.bench.settings import Settings, Task

BROKEN = 3
PROPORTIONAL = 100_000
"""Lists from which time on a CPU is in proportion to them; with fewer it is mostly Python's."""


def serve(request: dict[str, Any], emit: Callable[[dict[str, Any]], None]) -> int:
    """Does the tasks of a request; returns the exit code."""
    from awkward_cudakernels.bench.sides import Side

    settings = Settings.from_dict(request["settings"])
    side = Side(request["side"], settings.device)
    sample: Any = None
    last_ms: dict[tuple[str, str], tuple[int, float]] = {}
    prepared: tuple[str, int] | None = None
    failed: dict[tuple[str, str], str] = {}  # errors of first calls
    for task in (Task(*fields) for fields in request["tasks"]):
        if task.kind == "wait":
            emit({"event": "waiting"})
            sys.stdin.readline()
            continue
        where = {"kind": task.kind, "section": task.section, "row": task.row, "lists": task.lists}
        emit({"event": "start", **where})
        section = importlib.import_module(f"awkward_cudakernels.bench.{task.section}")
        found: dict[str, Any]
        try:
            too_long = _too_long(side, settings, task, last_ms)
            if too_long:
                found = {"skipped": too_long}
            elif (task.section, task.row) in failed:
                found = {"error": failed[task.section, task.row]}
            else:
                if prepared != (task.section, task.lists):
                    sample = None
                    side.free()
                    sample = section.prepare(side, task.lists)
                    prepared = (task.section, task.lists)
                if task.kind == "check":
                    found = section.check(side, task.row, sample)
                else:
                    found = section.measure(side, task.row, sample, settings.seconds)
                    last_ms[task.section, task.row] = (task.lists, _ms(found))
        except Exception as error:
            found = {"error": describe(error)}
        emit({"event": "row", **where, "side": request["side"], **found})
        if "error" in found:
            if task.kind == "check":
                failed[task.section, task.row] = found["error"]
            _clear(side)
            if not side.is_alive():
                return BROKEN
    return 0


def _ms(found: dict[str, Any]) -> float:
    return float(found["ms"] if "ms" in found else found.get("us", 0.0) / 1e3)


def _too_long(
    side: Any, settings: Settings, task: Task, last_ms: dict[tuple[str, str], tuple[int, float]]
) -> str | None:
    """Why a task of a CPU is not worth its time; None if it is."""
    known = last_ms.get((task.section, task.row))
    if side.backend != "cpu" or task.kind != "time" or known is None or known[0] < PROPORTIONAL:
        return None
    predicted = known[1] / 1e3 * task.lists / known[0]
    return f"about {predicted:.0f} s, by proportion" if predicted > settings.patience else None


def _clear(side: Any) -> None:
    """After an error: drops what is pending, and cached memory."""
    try:
        side.finish()
    except Exception:
        pass
    try:
        side.free()
    except Exception:
        pass


def describe(error: BaseException) -> str:
    """An exception in one line: its type, and the first line of its text that says something."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__


def main() -> int:
    """The process: what libraries print goes to standard error."""
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def emit(event: dict[str, Any]) -> None:
        channel.write(json.dumps(event) + "\n")

    return serve(json.loads(sys.argv[1]), emit)


if __name__ == "__main__":
    sys.exit(main())
