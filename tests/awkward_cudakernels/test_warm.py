"""`awkward-cudakernels warm`, and that what it compiles is what kernels need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import BrokenExecutor
from pathlib import Path

import harness
import pytest
from click.testing import CliRunner

from awkward_cudakernels import _warm, environment, kernel_for, registry
from awkward_cudakernels.commands.warm import command
from awkward_cudakernels.signatures import families, specializations
from primitives import _cache, _compilers
from primitives._run import record

ROOT = Path(__file__).parents[2]
FEW = "_localindex"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache folder, in use; processes of a pool find this package too."""
    monkeypatch.setenv(_cache.VARIABLE, str(tmp_path / "cache"))
    path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
    return tmp_path / "cache"


def warm(*arguments):
    return CliRunner().invoke(command, [*arguments, "--jobs", "2"], catch_exceptions=False)


# What is enumerated


def test_it_is_all_that_the_differential_tests_compile():
    ours = {_warm.identity(build) for build in _warm.builds()}
    missing = {}
    for key, specialization in specializations().items():
        kernel = kernel_for(key, "host")
        for case in harness.cases(specialization):
            with record() as builds:
                kernel(*case.make())
            for build in builds:
                if _warm.identity(build) not in ours:
                    missing[_warm.identity(build)] = f"{case}: {build.template.name} {build.ops}"
    assert not missing, "\n".join(missing.values())


@pytest.mark.parametrize("name", sorted(registry()))
def test_every_kernel_compiles_something(name):
    found = _warm.builds_of(name, registry()[name])
    assert found
    if name in families():
        for specialization in families()[name].specializations:
            assert len(list(_warm._calls(specialization.arguments))) > 1


def test_nothing_is_there_twice():
    builds = _warm.builds()
    assert len(builds) == len({_warm.identity(build) for build in builds})
    names = [_warm._device.entry_name(
        _warm._device.template_source(build.template, dict(build.variant), build.groups),
        build.ops, build.groups, "sm_90",
    ) for build in builds]  # fmt: skip
    assert len(set(names)) == len(names)


NAMES = """
import json
from awkward_cudakernels import _warm
from primitives import _device
print(json.dumps([
    _device.entry_name(
        _device.template_source(build.template, dict(build.variant), build.groups),
        build.ops, build.groups, "sm_90",
    )
    for build in _warm.builds()
]))
"""


def test_every_process_finds_the_same_in_the_same_order(folder):
    """The processes of the pool are told numbers of builds."""
    found = [
        subprocess.run(
            [sys.executable, "-c", NAMES],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert found[0] == found[1]
    assert len(json.loads(found[0])) == len(_warm.builds())


def test_both_sizes_of_groups_are_reached():
    groups = {
        dict(build.variant)["GROUP"] for build in _warm.builds() if build.template.name == "segmented_reduce"
    }
    assert groups == {1, 32}


# The command


@pytest.mark.compile
def test_a_second_run_builds_nothing(folder):
    result = warm("--arch", "sm_90", "--arch", "sm_80", "--only", FEW, "--json")
    assert result.exit_code == 0, result.output
    first = json.loads(result.stdout)
    count = len(_warm.builds(FEW))
    assert first["folder"] == str(folder)
    assert set(first["targets"]) == {"sm_90", "sm_80"}
    for target in first["targets"].values():
        assert (target["built"], target["kept"], target["failed"]) == (count, 0, {})
    files = list((folder / "cubin").iterdir())
    assert len(files) == 2 * count
    assert sum(x["bytes"] for x in first["targets"].values()) == sum(
        file.stat().st_size - 32 for file in files
    )

    second = json.loads(warm("--arch", "sm_90", "--only", FEW, "--json").stdout)
    target = second["targets"]["sm_90"]
    assert (target["built"], target["kept"]) == (0, count)
    assert target["bytes"] == first["targets"]["sm_90"]["bytes"]


@pytest.mark.compile
def test_what_is_missing_or_spoilt_is_built(folder):
    warm("--arch", "sm_90", "--only", FEW)
    one, two, *_ = (folder / "cubin").iterdir()
    one.unlink()
    two.write_bytes(two.read_bytes()[:100])
    result = warm("--arch", "sm_90", "--only", FEW)
    assert f"sm_90: built 2, {len(_warm.builds(FEW)) - 2} were there" in result.stdout


def test_the_host(folder):
    first, second = warm("--host", "--only", FEW), warm("--host", "--only", FEW)
    count = len(_warm.builds(FEW))
    assert f"host: built {count}, 0 were there" in first.stdout
    assert f"host: built 0, {count} were there" in second.stdout
    assert str(folder) in first.stdout


@pytest.mark.compile
def test_a_warm_process_compiles_nothing(folder):
    """A fresh one, from the import of this package to the cubin, without numba."""
    warm("--arch", "sm_90", "--only", FEW)
    script = f"""
import sys
from awkward_cudakernels import _warm
from primitives import _cache, _device
for build in _warm.builds({FEW!r}):
    _device.build(build.template, dict(build.variant), build.ops, build.groups, "sm_90")
assert not _cache.built.total()
loaded = {{"numba", "llvmlite", "filelock", "cuda.core", "rich", "click"}} & set(sys.modules)
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_two_at_once_share_the_work(folder):
    arguments = ["warm", "--host", "--only", FEW, "--jobs", "1", "--json"]
    processes = [
        subprocess.Popen([sys.executable, "-m", "awkward_cudakernels", *arguments], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    found = [json.loads(process.communicate()[0])["targets"]["host"] for process in processes]
    count = len(_warm.builds(FEW))
    assert sum(target["built"] for target in found) == count
    assert all(target["built"] + target["kept"] == count for target in found)


def test_what_fails_is_told(folder, monkeypatch):
    filled = _warm.Filled("sm_90", built=3, bytes=10, failed=_warm.Counter({"OpError: why": 2}))
    monkeypatch.setattr(_warm, "fill", lambda *args: [filled])
    result = warm("--host")
    assert result.exit_code == 1
    assert "sm_90 failed (2 times): OpError: why" in result.stderr
    result = warm("--host", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["targets"]["sm_90"]["failed"] == {"OpError: why": 2}


def refused(*arguments):
    result = warm(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr and len(result.stderr.strip().splitlines()) == 1
    return result.stderr


def test_neither_a_gpu_nor_an_architecture(folder, monkeypatch):
    monkeypatch.setattr(environment, "driver", lambda: None)
    text = refused()
    assert "this machine has no NVIDIA driver" in text
    assert "--arch sm_90" in text and "--host" in text


def test_the_architecture_of_the_gpu(folder, monkeypatch):
    devices = tuple(environment.Device("a GPU", capability, 0) for capability in ((8, 0), (12, 0), (8, 0)))
    monkeypatch.setattr(environment, "driver", lambda: environment.Driver((12, 9), devices))
    monkeypatch.setattr(_compilers, "architectures", lambda: ("sm_80", "sm_120"))
    asked = []
    monkeypatch.setattr(_warm, "fill", lambda targets, *rest: asked.extend(targets) or [])
    monkeypatch.setattr(_warm, "prepare_devices", lambda: asked.append("devices"))
    assert warm().exit_code == 0
    assert asked == ["sm_80", "sm_120", "devices"]


@pytest.mark.parametrize("name", ["hopper", "90", "sm_", "sm90", "compute_90", "sm_90x"])
def test_what_is_no_architecture(folder, name):
    assert f"'{name}' is no architecture" in refused("--arch", name)


@pytest.mark.compile
def test_an_architecture_that_the_compilers_do_not_know(folder):
    text = refused("--arch", "sm_90", "--arch", "sm_999")
    assert "do not know sm_999" in text and "sm_90" in text


def test_no_compilers(folder, monkeypatch):
    def missing():
        raise _compilers.CompilerError("compiling for the GPU needs numba-cuda, so install it")

    monkeypatch.setattr(_compilers, "architectures", missing)
    assert "Compiling for the GPU needs numba-cuda, so install it." in refused("--arch", "sm_90")


def test_the_cache_is_switched_off(monkeypatch):
    monkeypatch.setenv(_cache.VARIABLE, "off")
    assert f"switched off by {_cache.VARIABLE}" in refused("--host")


def test_the_folder_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv(_cache.VARIABLE, str(tmp_path / "file"))
    assert "cannot be written" in refused("--host")


def test_a_process_that_is_killed(folder, monkeypatch):
    def fill(*args):
        raise BrokenExecutor("a process in the pool was terminated abruptly")

    monkeypatch.setattr(_warm, "fill", fill)
    assert "try fewer --jobs" in refused("--host")


def test_no_such_kernel(folder):
    assert "No kernel's name contains 'nonsense'" in refused("--host", "--only", "nonsense")


OPERATIONS = """
import sys
import awkward as ak
import numpy as np
import awkward_cudakernels
from primitives import _cache

awkward_cudakernels.register()
counts = np.random.default_rng(1).integers(0, 6, 3000)
for dtype in (np.float64, np.float32, np.int64, np.bool_):
    content = np.arange(counts.sum()).astype(dtype)
    a = ak.to_backend(ak.unflatten(ak.Array(content), counts), "cuda")
    for operation in (
        lambda: a[ak.num(a) > 0][:, 0],
        lambda: a[:, :2],
        lambda: a[a > 1],
        lambda: ak.sum(a, axis=1),
        lambda: ak.max(a, axis=1),
        lambda: a[ak.argmax(a, axis=1, keepdims=True)],
        lambda: ak.sum(a, axis=0),
        lambda: ak.any(a, axis=1),
        lambda: ak.sort(a),
        lambda: ak.argsort(a, ascending=False),
        lambda: ak.pad_none(a, 3, clip=True),
        lambda: ak.combinations(a, 2),
        lambda: ak.cartesian([a, a]),
        lambda: ak.concatenate([a, a], axis=1),
        lambda: ak.drop_none(ak.mask(a, a > 1)),
        lambda: ak.local_index(a),
        lambda: ak.to_list(a),
        lambda: a[ak.max(a, axis=1) > 1],
        lambda: ak.firsts(a) + ak.max(a, axis=1),
        lambda: (ak.mean(a), ak.std(a)),
    ):
        operation()
awkward_cudakernels.synchronize_cuda()
assert not _cache.built, _cache.built
assert "numba" not in sys.modules
"""


ARRAY_LAYER = """
import numpy as np
import awkward as ak
import pretended_cupy
from primitives import _run

compiled, compile = [], _run._compile

def noting(build, place):
    compiled.append(build)
    return compile(build, place)

_run._compile = noting
with pretended_cupy.instead():
    import awkward_cudakernels
    from awkward_cudakernels import _warm
    from awkward_cudakernels.bench.operations import OPERATIONS
    from awkward_cudakernels.bench.sample import Sample

    awkward_cudakernels.register()
    sample = Sample(300, "cuda")
    for operation in OPERATIONS:
        operation.function(*[sample.get(name) for name in operation.inputs])
    counts = np.random.default_rng(1).integers(0, 6, 300)
    for dtype in (np.float32, np.int64, np.int8, np.bool_):
        a = ak.to_backend(ak.unflatten(ak.Array(np.arange(counts.sum()).astype(dtype)), counts), "cuda")
        a[a > 1], a[ak.argmax(a, axis=1, keepdims=True)], a[[0, -1]], ak.to_regular(a[:, :0])[[1]]
        ak.fill_none(ak.pad_none(a, 3), 0), ak.cartesian([a, a]), ak.mean(a, axis=1), ak.std(a, axis=1)
        ak.concatenate([a, a], axis=1), ak.concatenate([a, a]), ak.singletons(ak.firsts(a))
        ak.run_lengths(a), ak.run_lengths(ak.flatten(a))
        one = ak.to_backend(ak.Array(np.arange(300).astype(dtype)), "cuda")
        first, largest = ak.firsts(a), ak.max(a, axis=1)
        first * 2, largest > 1, first + largest, largest * one, a[largest > 1], one[first > 1], ak.mean(a), ak.std(one)
        events = ak.zip({"a": a, "one": one}, depth_limit=1)
        events[one > 1].one * 2, events[one > 1][ak.num(events[one > 1].a) > 1].one + 1, events[largest > 1].one * 2
        a > one, one <= a, one == a, a + one, np.logical_and(one, a), a * 2.5 - one, (a * 2.5)[1:] * 2.5 * one[1:]
        for x in (a, a * 2, ak.values_astype(a, float), ak.values_astype(a, int), 0, 0.5, dtype(1)):
            ak.where(a > 1, a, x), ak.where(a > 1, x, a), ak.where(a > 1, x, 1), ak.where(a > 1, 0.5, x)
    awkward_cudakernels.unregister()
missing = {_warm.identity(build) for build in compiled} - {_warm.identity(build) for build in _warm.builds()}
assert len(compiled) > 60, len(compiled)
assert not missing, missing
"""


@pytest.mark.skipif(environment.why_no_cuda() is None, reason="CuPy is pretended, and a real one is there")
def test_it_is_all_that_the_array_layer_launches():
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    subprocess.run([sys.executable, "-c", ARRAY_LAYER], check=True, env={**os.environ, "PYTHONPATH": path})


@pytest.mark.gpu
@pytest.mark.slow
def test_this_gpu(folder):
    """All of it, in as many processes as there are cores; then nothing is left to compile."""
    result = CliRunner().invoke(command, ["--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    (target,) = json.loads(result.stdout)["targets"].values()
    assert target["built"] == len(_warm.builds())
    assert list((folder / "cccl").iterdir())
    result = CliRunner().invoke(command, ["--json"], catch_exceptions=False)
    (target,) = json.loads(result.stdout)["targets"].values()
    assert (target["built"], target["kept"]) == (0, len(_warm.builds()))
    subprocess.run([sys.executable, "-c", OPERATIONS], check=True)
