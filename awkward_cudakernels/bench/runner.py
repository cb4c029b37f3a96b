"""Starts the processes that measure, in an order that keeps them out of each other's way, and collects rows."""

from __future__ import annotations

import contextlib
import importlib
import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import astuple
from typing import Any

from awkward_cudakernels.bench import settings as plan
from awkward_cudakernels.bench.settings import Settings, Task
from awkward_cudakernels.bench.sides import SIDES

__all__ = ["Worker", "run"]

Row = dict[str, Any]
COMMAND = (sys.executable, "-m", "awkward_cudakernels.bench.worker")
PART_SECONDS = 15.0
TIMEOUT = 150.0
"""Seconds without a word from a worker: awkward's slowest compilation takes 13."""
ATTEMPTS = 8
ROUNDS = 3
"""How often each side has its turn: what else the machine does lasts seconds, and is not one side's."""
HOST_BOUND = 200_000
"""Lists up to which the host's time counts most, which is measured in every round; more in the first and the last."""
MEASURES = ("ms", "best_ms", "queued_ms", "us", "host_us")
"""What rows tell of time, of which the least counts."""


class Worker:
    """One side's process, restarted after what broke it.

    Args:
        side: whose code it runs.
        settings: passed on.
        tasks: what it does.
        emit: called with every row, from another thread.
        say: called with what it is doing.
    """

    def __init__(
        self,
        side: str,
        settings: Settings,
        tasks: Sequence[Task],
        emit: Callable[[Row], None],
        say: Callable[[str], None],
    ) -> None:
        self.side = side
        self.settings = settings
        self.tasks = list(tasks)
        self.emit = emit
        self.say = say
        self.ready = threading.Event()  # waits for its turn, or has ended
        self.go = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> Worker:
        self._thread.start()
        return self

    def turn(self) -> None:
        """Lets it do its tasks up to the next one of kind ``wait``."""
        self.ready.clear()
        self.go.set()

    def rests(self, seconds: float) -> bool:
        """Whether it waits for its turn, or has done everything: now, or within so long."""
        until = time.monotonic() + seconds
        while self._thread.is_alive() and not self.ready.is_set() and time.monotonic() < until:
            self.ready.wait(0.2)  # lets Ctrl-C in
        return self.ready.is_set() or not self._thread.is_alive()

    def stop(self) -> None:
        """Ends the process."""
        self._stopped = True
        self.go.set()
        if self._process is not None and self._process.poll() is None:
            self._process.kill()

    def _run(self) -> None:
        try:
            tasks = self.tasks
            for _ in range(ATTEMPTS):
                tasks = self._attempt(tasks)
                if not tasks or self._stopped:
                    return
            for task in tasks:
                self._fail(task, "not measured: the process broke too often before")
        finally:
            self.ready.set()

    def _fail(self, task: Task, why: str) -> None:
        if task.kind != "wait":
            where = {
                "kind": task.kind,
                "section": task.section,
                "row": task.row,
                "lists": task.lists,
            }
            self.emit({**where, "side": self.side, "error": why})

    def _attempt(self, tasks: list[Task]) -> list[Task]:
        """Runs a process on tasks; returns those that are left for another one."""
        request = {
            "side": self.side,
            "settings": self.settings.as_dict(),
            "tasks": [astuple(task) for task in tasks],
        }
        command = [*COMMAND, json.dumps(request)]
        with tempfile.TemporaryFile("w+") as errors:
            self._process = process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
            )
            lines: queue.Queue[str | None] = queue.Queue()
            assert process.stdout is not None
            reader = threading.Thread(target=_forward, args=(process.stdout, lines), daemon=True)
            reader.start()
            done, started = 0, False
            why = ""
            while True:
                try:
                    line = lines.get(timeout=TIMEOUT)
                except queue.Empty:
                    why = f"no answer in {TIMEOUT:.0f} s"
                    process.kill()
                    break
                if line is None:
                    break
                event = json.loads(line)
                kind = event.pop("event")
                if kind == "waiting":
                    self._wait(process)
                    done += 1
                elif kind == "start":
                    started = True
                    self._announce(event)
                else:
                    started = False
                    done += 1
                    self.emit(event)
            code = process.wait()
            reader.join()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            if self._stopped or not code or done == len(tasks):
                return []
            last = max(done - 1, 0)  # of code BROKEN: its row says why
            if started or not done:
                last = done
                errors.seek(0)
                text = [line.strip() for line in errors.read().splitlines() if line.strip()]
                why = why or f"exit code {code}: {text[-1][:300] if text else 'no message'}"
                self._fail(tasks[last], why)
            return self._without(tasks[last], tasks[last + 1 :])

    def _without(self, broken: Task, tasks: list[Task]) -> list[Task]:
        """The tasks that are not of the row that broke the process."""
        left = []
        for task in tasks:
            if (task.section, task.row) == (broken.section, broken.row):
                self._fail(task, f"not measured: broke the process at {broken.lists:,} lists")
            else:
                left.append(task)
        return left

    def _wait(self, process: subprocess.Popen[str]) -> None:
        self.ready.set()
        self.go.wait()
        self.go.clear()
        if not self._stopped and process.poll() is None and process.stdin is not None:
            try:
                process.stdin.write("go\n")
                process.stdin.flush()
            except OSError:
                pass

    def _announce(self, event: Row) -> None:
        what = "first calls" if event["kind"] == "check" else f"{event['lists']:,}"
        self.say(f"{event['section']}, {SIDES[self.side]}, {what}: {event['row']}")


def _forward(lines: Any, to: queue.Queue[str | None]) -> None:
    for line in lines:
        to.put(line)
    to.put(None)


def _tasks(
    kind: str, sections: Sequence[str], settings: Settings, lists: int | None = None
) -> list[Task]:
    found: list[Task] = []
    for name in sections:
        section = importlib.import_module(f"awkward_cudakernels.bench.{name}")
        sizes = section.sizes(settings) if lists is None else (lists,)
        found += plan.tasks(kind, name, section.rows(settings), sizes, settings)
    return found


def _in_rounds(tasks: list[Task]) -> list[Task]:
    """All of them; then, after a wait each, those again that take no longer than the host does, and all at last."""
    again = [task for task in tasks if task.lists <= HOST_BOUND]
    return [*tasks, *(ROUNDS - 2) * [Task("wait"), *again], Task("wait"), *tasks]


def _take_faster(first: Row, row: Row) -> None:
    """Puts into a row what another round has found, where that is faster, or where it has found something else."""
    for name, value in row.items():
        first[name] = min(value, first[name]) if name in MEASURES and name in first else value


def run(
    sections: Sequence[str],
    settings: Settings,
    *,
    awkward_cuda: bool,
    cold_awkward: bool,
    against: str | None,
    say: Callable[[str], None],
) -> Generator[tuple[str, list[Row]], None, None]:
    """Measures; yields the name of each part that is finished, and the rows since the one before.

    Args:
        sections: of `settings.SECTIONS`.
        settings: how much.
        awkward_cuda: whether awkward's own CUDA backend is measured too.
        cold_awkward: whether its first calls are measured in a process without anything else at work.
        against: what else to compare with, or None.
        say: called with what is being done, from any thread.
    """
    lock = threading.Lock()
    collected: list[Row] = []

    known: dict[tuple[Any, ...], Row] = {}

    def emit(row: Row) -> None:
        """Collects a row; of several rounds, the fastest."""
        key = tuple(row.get(name) for name in ("kind", "section", "row", "lists", "side"))
        with lock:
            first = known.get(key)
            if first is None:
                known[key] = row
                collected.append(row)
            else:
                _take_faster(first, row)

    def take() -> list[Row]:
        with lock:
            rows = list(collected)
            collected.clear()
        return rows

    workers: list[Worker] = []

    def start(side: str, tasks: list[Task]) -> Worker:
        """A worker at work."""
        worker = Worker(side, settings, tasks, emit, say)
        workers.append(worker)
        return worker.start()

    def parts(worker: Worker) -> Generator[tuple[str, list[Row]], None, None]:
        """What there is now and then, until a worker rests."""
        while not worker.rests(PART_SECONDS):
            yield "part", take()

    try:
        for section in ("launch", "rates", "layers"):
            if section in sections:
                yield from parts(start("ours", _tasks("time", [section], settings)))
                yield section, take()

        compared = [section for section in sections if section in plan.HOST_SECTIONS]
        checks = _tasks("check", compared, settings, plan.CHECK_LISTS)
        times = _tasks("time", compared, settings)
        theirs: Worker | None = None
        if compared:
            if settings.device and awkward_cuda:
                # awkward compiles for minutes, on one core: meanwhile, what needs other cores only.
                theirs = start("awkward", [*checks, Task("wait"), *_in_rounds(times)])
            yield from parts(start("cpu", times))

        def alone() -> None:
            while theirs is not None and not theirs.rests(0.2):
                pass

        if "cold" in sections:
            from awkward_cudakernels.bench import cold

            for row in cold.rows(cold_awkward, alone, say):
                emit({"section": "cold", "kind": "time", "lists": cold.LISTS, **row})
            yield "cold", take()

        if compared:
            alone()
            whole = [section for section in compared if section != "kernels"]
            floor = _tasks("time", whole, settings, plan.FLOOR_LISTS)
            by_turns = [start("floor", [Task("wait"), *_in_rounds(floor)])]
            yield from parts(by_turns[0])
            by_turns.append(start("ours", [*checks, Task("wait"), *_in_rounds(times)]))
            yield from parts(by_turns[1])
            by_turns += [] if theirs is None else [theirs]
            for _ in range(ROUNDS):
                for worker in by_turns:
                    worker.turn()
                    yield from parts(worker)
            yield "compared", take()

        if against is not None:
            from awkward_cudakernels.bench import against as other

            for row in other.rows(against, settings, say):
                emit(row)
            yield "against", take()
    finally:
        for worker in workers:
            worker.stop()
        rest = take()
        if rest:
            interrupted.extend(rest)


interrupted: list[Row] = []
"""Rows of a run that did not reach its end."""
