"""The command line: its subcommands, ``status`` and ``doctor``."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

import awkward_cudakernels
from awkward_cudakernels import doctor, environment
from awkward_cudakernels.cli import main
from primitives import _compilers


def invoke(*arguments: str):
    return CliRunner().invoke(main, list(arguments))


def test_every_subcommand_has_a_help_text():
    names = main.list_commands(None)
    assert {"demo", "doctor", "status"} <= set(names)
    for name in names:
        result = invoke(name, "--help")
        assert result.exit_code == 0
        assert importlib.import_module(f"awkward_cudakernels.commands.{name}").command.help
    assert all(name in invoke("--help").output for name in names)


def test_an_unknown_subcommand():
    result = invoke("nonsense")
    assert result.exit_code == 2
    assert "No such command" in result.stderr


def test_python_dash_m():
    done = subprocess.run(
        [sys.executable, "-m", "awkward_cudakernels", "--help"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0
    assert "demo" in done.stdout


# -- status --------------------------------------------------------------------------------------------------


def test_status_json_is_what_the_registry_says():
    status = json.loads(invoke("status", "--json").stdout)
    assert status == json.loads(json.dumps(awkward_cudakernels.status()))
    families = status["families"]
    assert families["total"] == families["primitives"] + families["legacy_cu"] + families["missing"]
    assert len(status["missing"]) == families["missing"]
    assert 0 <= status["specializations"]["implemented"] <= status["specializations"]["total"]


def test_status_table(monkeypatch):
    status = {
        "awkward": "2.14.0",
        "families": {"total": 146, "primitives": 73, "legacy_cu": 1, "missing": 72},
        "specializations": {"total": 494, "implemented": 123},
        "missing": ["awkward_something"],
    }
    monkeypatch.setattr(awkward_cudakernels, "status", lambda: status)
    result = invoke("status")
    assert result.exit_code == 0
    for text in ("awkward 2.14.0", "73", "50%", "123 of 494", "awkward_something"):
        assert text in result.output


# -- doctor --------------------------------------------------------------------------------------------------


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(environment, "driver", lambda: None)


def states(diagnosis: doctor.Diagnosis) -> dict[str, str]:
    return {check.name: check.state for check in diagnosis.checks}


def test_a_machine_without_a_gpu_is_usable(no_gpu):
    result = invoke("doctor", "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 0, result.output
    assert found["usable"]
    assert found["executor"] == "host"
    by_name = {check["name"]: check for check in found["checks"]}
    for name in ("Python", "awkward", "numpy", "numba", "kernel table", "array layer", "cache folder", "host executor"):
        assert by_name[name]["state"] == "ok", by_name[name]
    assert by_name["NVIDIA driver"]["state"] == by_name["device"]["state"] == "missing"
    for check in found["checks"]:
        assert check["state"] in ("ok", "missing", "wrong")
        assert check["found"]
        # one sentence for whatever is not ok
        assert bool(check["advice"]) == (check["state"] != "ok"), check
        assert check["advice"] == "" or check["advice"].endswith(".")


def test_the_table_says_the_same(no_gpu):
    result = invoke("doctor")
    assert result.exit_code == 0
    assert "NVIDIA driver" in result.output
    assert "The kernels run on the CPU" in result.output


def test_a_missing_base_package_makes_it_unusable(no_gpu, monkeypatch):
    versions = environment.versions
    monkeypatch.setattr(
        environment, "versions", lambda names: versions([name for name in names if name != "numba"])
    )
    result = invoke("doctor", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["executor"] == "none"
    (numba,) = [check for check in found["checks"] if check["name"] == "numba"]
    assert numba["state"] == "missing"
    assert "pip install" in numba["advice"]


def test_a_failing_host_executor_makes_it_unusable(no_gpu, monkeypatch):
    def register(backend):
        raise RuntimeError("kernels are on holiday")

    monkeypatch.setattr(awkward_cudakernels, "register", register)
    diagnosis = doctor.diagnose()
    assert not diagnosis.usable
    assert states(diagnosis)["host executor"] == "wrong"
    assert "kernels are on holiday" in diagnosis.checks[-1].found


@pytest.mark.parametrize(
    ("installed", "driver", "state", "advice"),
    [
        ({}, (12, 4), "missing", 'pip install "awkward-cudakernels[cu12]"'),
        ({}, (13, 0), "missing", 'pip install "awkward-cudakernels[cu13]"'),
        ({"cuda-bindings": "12.9.1"}, (13, 0), "missing", 'pip install "awkward-cudakernels[cu12]"'),
        ({"cupy-cuda12x": "14.2.0", "cupy-cuda13x": "14.2.0"}, (13, 0), "wrong", "Uninstall"),
        ({"cupy-cuda13x": "14.2.0"}, (12, 4), "wrong", "extra cu12 instead"),
    ],
)
def test_cupy_against_the_driver(monkeypatch, installed, driver, state, advice):
    def version(name):
        if name not in installed:
            raise importlib.metadata.PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr("importlib.metadata.version", version)
    monkeypatch.setattr("importlib.metadata.requires", lambda name: [])
    monkeypatch.setattr(_compilers, "driver", lambda: (None, driver))
    check = doctor._cupy(_compilers.extra(), environment.Driver(driver, ()))
    assert check.state == state
    assert advice in check.advice


def test_version_bounds_come_from_the_metadata(monkeypatch):
    requirements = [
        "numpy>=2.0",
        'numpy<2.5; extra == "cu12"',
        'cuda-core[cu12]>=1.2,<2; extra == "cu12"',
    ]
    monkeypatch.setattr("importlib.metadata.requires", lambda name: requirements)
    monkeypatch.setattr(environment, "versions", lambda names: {"cuda-core": "1.1.0", "numpy": "2.6.0"})
    assert doctor._package("numpy").state == "ok"
    assert doctor._package("numpy", extra="cu12").state == "wrong"
    old = doctor._package("cuda-core", extra="cu12")
    assert old.state == "wrong"
    assert old.found.startswith("1.1.0, not ")


def test_old_devices_and_drivers():
    old = environment.Device("Old", (7, 0), 16 << 30)
    new = environment.Device("New", (9, 0), 80 << 30)
    checks = list(doctor._devices(environment.Driver((12, 0), (old, new))))
    assert [check.state for check in checks] == ["wrong", "ok"]
    assert checks[1].found == "New, compute capability 9.0, 80 GiB"
    assert doctor._driver(environment.Driver((11, 8), ())).state == "wrong"


@pytest.mark.gpu
def test_this_gpu_is_usable():
    diagnosis = doctor.diagnose()
    assert diagnosis.executor == "device", diagnosis
    assert environment.why_no_cuda() is None
