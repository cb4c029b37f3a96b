"""Every example runs, checks itself and prints both times, on both executors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = {path.stem for path in (ROOT / "examples").glob("*.py")} - {"common"}


def execute(name: str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), *sys.path])  # the packages need not be installed
    return subprocess.run(
        [sys.executable, ROOT / "examples" / f"{name}.py", *options],
        env={**os.environ, "PYTHONPATH": path, **environment},
        text=True,
        capture_output=True,
        timeout=600,
    )


def run(name: str, *options: str) -> str:
    done = execute(name, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check_times(output: str, *names: str) -> None:
    for name in names:
        (line,) = [line for line in output.splitlines() if line.startswith(name)]
        number, unit = line.split()[-2:]
        assert float(number) > 0
        assert unit == "ms"


@pytest.mark.parametrize("name", sorted(EXAMPLES - {"raw_kernel"}))
def test_on_the_host(name: str) -> None:
    output = run(name, "--size", "20000")
    check_times(output, "with primitives", "plain NumPy")
    if name in ("csr_gather", "pipeline"):
        assert "raised by synchronize()" in output


@pytest.mark.gpu
@pytest.mark.parametrize("name", sorted(EXAMPLES - {"raw_kernel"}))
def test_on_the_device(name: str) -> None:
    output = run(name, "--device", "--size", "200000")
    check_times(output, "with primitives", "plain CuPy")
    if name in ("csr_gather", "pipeline"):
        assert "raised by synchronize()" in output
    if name == "pipeline":
        assert "replayed as a CUDA graph: the same results" in output
        assert output.count("negative pulse height") == 2
        check_times(output, "replayed as a CUDA graph  ")


@pytest.mark.gpu
def test_the_raw_kernel() -> None:
    output = run("raw_kernel")
    assert "logarithm of zero in compiled CUDA code (logarithm)" in output
    check_times(output, "raw kernel with errorflag", "plain CuPy, checked")


def test_the_raw_kernel_says_so_where_there_is_no_gpu() -> None:
    done = execute("raw_kernel", CUDA_VISIBLE_DEVICES="-1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("This example needs a GPU to run on: ")
    assert len(done.stdout.splitlines()) == 1


def test_a_device_that_is_not_there_is_one_sentence() -> None:
    done = execute("run_length", "--device", CUDA_VISIBLE_DEVICES="-1")
    assert done.returncode == 1
    assert done.stderr.startswith("--device: ")
    assert len(done.stderr.splitlines()) == 1
