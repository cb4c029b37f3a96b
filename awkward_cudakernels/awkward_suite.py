"""Runs awkward's own tests on these kernels, and compares with awkward's own kernels.

The tests are in a checkout of awkward, of the version that is installed::

    python -m awkward_cudakernels.awkward_suite awkward/tests -n 2
    python -m awkward_cudakernels.awkward_suite awkward/tests-cuda --backend cuda -n 16

Each run is one process of pytest, for which this module is a plugin as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

PLUGIN = "awkward_cudakernels.awkward_suite"
WORST_FIRST = ("failed", "skipped", "passed")


# The plugin


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("awkward_cudakernels")
    group.addoption("--register", choices=("cpu", "cuda"), help="the backend to register")
    group.addoption("--outcomes", metavar="FILE", help="where to write each test's outcome")


def pytest_configure(config: Any) -> None:
    backend = config.getoption("--register")
    if backend is not None:
        import awkward_cudakernels

        awkward_cudakernels.register(backend)  # before any test module makes an array
    if config.getoption("--outcomes") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Outcomes(config.getoption("--outcomes")))
    if backend == "cuda":
        config.pluginmanager.register(_LeaveNoError())


class _Outcomes:
    """Writes the outcome of every test, the worst of its phases."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.found: dict[str, str] = {}

    def _add(self, report: Any) -> None:
        known = self.found.get(report.nodeid, "passed")
        self.found[report.nodeid] = min(known, report.outcome, key=WORST_FIRST.index)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._add(report)

    def pytest_collectreport(self, report: Any) -> None:
        if not report.passed:  # a module that cannot be imported, or skips itself
            self._add(report)

    def pytest_sessionfinish(self) -> None:
        self.path.write_text(json.dumps(self.found), encoding="utf-8")


class _LeaveNoError:
    """Raises an error that is pending on the device in the test that caused it."""

    def pytest_runtest_teardown(self) -> None:
        import awkward_cudakernels

        awkward_cudakernels.synchronize_cuda()


# The command


def run(
    tests: Path, backend: str | None, arguments: Sequence[str] = ()
) -> tuple[dict[str, str], float]:
    """Runs tests in a process of their own.

    Args:
        tests: a folder or file of tests.
        backend: what to register, ``"cpu"`` or ``"cuda"``; None for awkward's own kernels.
        arguments: for pytest.

    Returns:
        The outcome (``"passed"``, ``"failed"`` or ``"skipped"``) of every test, and the seconds taken.
    """
    packages = Path(__file__).parent.parent
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(packages), os.environ.get("PYTHONPATH")])),
    }
    with tempfile.TemporaryDirectory() as folder:
        outcomes = Path(folder, "outcomes.json")
        command = [
            sys.executable,
            "-m",
            "pytest",
            tests.name,
            "-p",
            PLUGIN,
            "--outcomes",
            str(outcomes),
        ]
        if backend is not None:
            command += ["--register", backend]
        begin = time.perf_counter()
        subprocess.run(
            [*command, *arguments], cwd=tests.absolute().parent, env=environment, check=False
        )
        seconds = time.perf_counter() - begin
        if not outcomes.exists():
            raise click.ClickException("pytest has not run: see its message above")
        return json.loads(outcomes.read_text(encoding="utf-8")), seconds


def _summary(name: str, outcomes: dict[str, str], seconds: float) -> str:
    counts = Counter(outcomes.values())
    return (
        f"{name:<8} "
        + ", ".join(f"{counts[x]:,} {x}" for x in reversed(WORST_FIRST))
        + f", {seconds:.0f} s"
    )


@click.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": ["-h", "--help"]}
)
@click.argument("tests", type=click.Path(exists=True, path_type=Path))
@click.argument("pytest_arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--backend", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option("--no-stock", is_flag=True, help="Do not run with awkward's own kernels first.")
def main(tests: Path, pytest_arguments: tuple[str, ...], backend: str, no_stock: bool) -> None:
    """Run awkward's TESTS with awkward's own kernels, then with these; fail if one passes only with the
    former. What is not an option of this command goes to pytest."""
    stock: dict[str, str] = {}
    lines = []
    if not no_stock:
        stock, seconds = run(tests, None, pytest_arguments)
        lines.append(_summary("awkward", stock, seconds))
    ours, seconds = run(tests, backend, pytest_arguments)
    lines.append(_summary("ours", ours, seconds))
    print("\n" + "\n".join(lines))
    if no_stock:
        bad = [test for test, outcome in ours.items() if outcome == "failed"]
        print(f"\n{len(bad)} failed")
    else:
        passed = {test for test, outcome in stock.items() if outcome == "passed"}
        bad = [test for test in passed if ours.get(test) != "passed"]
        print(f"\n{len(bad)} pass with awkward's own kernels only")
    for test in sorted(bad):
        print(f"  {test}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
