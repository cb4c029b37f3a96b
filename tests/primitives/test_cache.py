"""The disk cache: what spoils it, what shares it, and what its keys depend on."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from primitives import _cache, _compilers, _device, _host, cache_info, device_function, op
from primitives._run import Build, record
from primitives._segmented import _SEGMENTED_REDUCE
from primitives._transform import _TRANSFORM, transform

ROOT = Path(__file__).parents[2]
CONTENT = bytes(range(256)) * 40


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache folder, in use."""
    path = tmp_path / "cache"
    monkeypatch.setenv(_cache.VARIABLE, str(path))
    monkeypatch.setattr(_cache, "built", type(_cache.built)())
    return path


def run(script: str, cache: Path | str, tmp_path: Path, **env: str) -> dict:
    """What a script prints as JSON, in a process of its own."""
    process = start(script, cache, tmp_path, **env)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


def start(script: str, cache: Path | str, tmp_path: Path, **env: str) -> subprocess.Popen[str]:
    file = tmp_path / "script.py"  # ops need a source file
    if not file.exists() or file.read_text() != textwrap.dedent(script):
        file.write_text(textwrap.dedent(script))
    environment = {**os.environ, _cache.VARIABLE: str(cache), **env}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, str(file)],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


# Entries


def never():
    raise AssertionError("the entry is there")


def test_an_entry_is_built_once(folder):
    assert _cache.load("cubin", "a" * 40) is None
    assert _cache.load_or_build("cubin", "a" * 40, lambda: CONTENT) == CONTENT
    assert _cache.load_or_build("cubin", "a" * 40, never) == CONTENT
    assert _cache.built == {"cubin": 1}


def flip(data: bytes, position: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[:31],
        lambda data: data[:32],
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: data + b"x",
        lambda data: flip(data, 0),
        lambda data: flip(data, 32),
        lambda data: flip(data, len(data) - 1),
        lambda data: b"\x7fELF of somebody else" * 100,
        lambda data: bytes(len(data)),
    ],
    ids=[
        "empty", "part of the checksum", "no content", "one byte short", "half", "one byte more",
        "wrong checksum", "first byte", "last byte", "foreign", "zeros",
    ],
)  # fmt: skip
def test_a_spoilt_entry_is_rebuilt(folder, spoil):
    _cache.store("cubin", "name", CONTENT)
    file = folder / "cubin" / "name"
    whole = file.read_bytes()
    file.write_bytes(spoil(whole))
    assert _cache.load("cubin", "name") is None
    assert _cache.load_or_build("cubin", "name", lambda: CONTENT) == CONTENT
    assert file.read_bytes() == whole


def test_an_entry_that_is_a_folder_is_none(folder):
    (folder / "cubin" / "name").mkdir(parents=True)
    assert _cache.load("cubin", "name") is None
    assert _cache.load_or_build("cubin", "name", lambda: CONTENT) == CONTENT


def test_an_entry_deleted_while_running_is_rebuilt(folder):
    _cache.load_or_build("cubin", "name", lambda: CONTENT)
    (folder / "cubin" / "name").unlink()
    assert _cache.load_or_build("cubin", "name", lambda: CONTENT) == CONTENT
    shutil.rmtree(folder)
    assert _cache.load_or_build("cubin", "name", lambda: CONTENT) == CONTENT
    assert _cache.built == {"cubin": 3}
    assert _cache.load("cubin", "name") == CONTENT


@pytest.mark.parametrize("setting", ["0", "off", "OFF", "no", "false", ""])
def test_the_variable_switches_it_off(setting, monkeypatch):
    monkeypatch.setenv(_cache.VARIABLE, setting)
    assert _cache.cache_folder() is None
    assert not _cache.store("cubin", "name", CONTENT)
    assert _cache.load("cubin", "name") is None
    assert _cache.load_or_build("cubin", "name", lambda: CONTENT) == CONTENT
    assert _cache.load("cubin", "name") is None
    info = cache_info()
    assert (info["enabled"], info["path"], info["entries"]) == (False, None, 0)


def test_the_variable_moves_it(tmp_path, monkeypatch):
    for place in (tmp_path / "one", tmp_path / "two" / "three"):
        monkeypatch.setenv(_cache.VARIABLE, str(place))
        assert _cache.load("cubin", "name") is None
        assert _cache.store("cubin", "name", CONTENT)
        assert (place / "cubin" / "name").is_file()
        assert cache_info()["path"] == str(place)


def test_a_relative_folder_stays_where_it_was_first(tmp_path, monkeypatch):
    monkeypatch.setenv(_cache.VARIABLE, "relative-cache")
    monkeypatch.chdir(tmp_path)
    assert _cache.store("cubin", "name", CONTENT)
    monkeypatch.chdir("/")
    assert _cache.load("cubin", "name") == CONTENT
    _cache._folder.cache_clear()


def test_without_the_variable_it_is_the_users(monkeypatch):
    import platformdirs

    monkeypatch.delenv(_cache.VARIABLE, raising=False)
    expected = platformdirs.user_cache_dir("awkward-cudakernels", appauthor=False)
    assert _cache.cache_folder() == Path(expected)


def test_info_counts_entries_and_bytes(folder):
    assert cache_info() == {
        "path": str(folder), "enabled": True, "entries": 0, "bytes": 0, "built": 0,
    }  # fmt: skip
    _cache.load_or_build("cubin", "a" * 40, lambda: CONTENT)
    _cache.load_or_build("cccl", "b" * 40, lambda: CONTENT)
    info = cache_info()
    assert (info["entries"], info["bytes"], info["built"]) == (2, 2 * (len(CONTENT) + 32), 2)


def test_others_may_read_entries(folder):
    _cache.store("cubin", "name", CONTENT)
    mask = os.umask(0)
    os.umask(mask)
    assert (folder / "cubin" / "name").stat().st_mode & 0o777 == 0o666 & ~mask


# Folders that cannot be used


def test_a_folder_that_cannot_be_made(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv(_cache.VARIABLE, str(tmp_path / "file" / "cache"))
    assert _cache.load_or_build("cubin", "name", lambda: CONTENT) == CONTENT
    assert not _cache.store("cubin", "name", CONTENT)
    assert cache_info()["entries"] == 0


def test_a_full_disk(folder, monkeypatch):
    def refuse(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    assert _cache.load_or_build("cubin", "name", lambda: CONTENT) == CONTENT
    monkeypatch.undo()
    assert not [file for file in folder.rglob("*") if file.is_file()]


def everything_is_allowed() -> bool:
    """Whether modes of files do not matter, as for root."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0)
        allowed = os.access(folder, os.R_OK)
        os.chmod(folder, 0o700)
    return allowed


not_as_root = pytest.mark.skipif(everything_is_allowed(), reason="this user may read and write everything")


@pytest.fixture
def modes(folder):
    """Changes the modes of the folder, until the end of the test."""
    _cache.store("cubin", "there", CONTENT)

    def change(mode: int) -> None:
        os.chmod(folder / "cubin", mode)
        os.chmod(folder, mode)

    yield change
    os.chmod(folder, 0o700)
    os.chmod(folder / "cubin", 0o700)


@not_as_root
def test_a_read_only_folder_is_read(folder, modes):
    modes(0o500)
    assert _cache.load_or_build("cubin", "there", never) == CONTENT
    assert _cache.load_or_build("cubin", "new", lambda: CONTENT) == CONTENT
    assert _cache.load("cubin", "new") is None


@not_as_root
def test_an_unreadable_folder_is_as_none(folder, modes):
    modes(0o000)
    assert _cache.load_or_build("cubin", "there", lambda: CONTENT) == CONTENT
    assert not _cache.store("cubin", "new", CONTENT)


def test_no_permission_is_as_no_entry(folder, monkeypatch):
    """As the two tests above, for those who test as root."""
    _cache.store("cubin", "there", CONTENT)

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    for owner, name in (
        (Path, "read_bytes"), (Path, "mkdir"), (os, "open"), (os, "replace"), (os, "unlink"),
    ):  # fmt: skip
        monkeypatch.setattr(owner, name, refuse)
    monkeypatch.setattr("builtins.open", refuse)
    assert _cache.load("cubin", "there") is None
    assert _cache.load_or_build("cubin", "there", lambda: CONTENT) == CONTENT
    assert not _cache.store("cubin", "there", CONTENT)


# Locks


def test_reading_takes_no_lock(folder, monkeypatch):
    _cache.store("cubin", "name", CONTENT)
    monkeypatch.setattr(_cache, "building", lambda *args: never())
    assert _cache.load_or_build("cubin", "name", never) == CONTENT


def test_no_lock_stays_behind(folder):
    _cache.load_or_build("cubin", "name", lambda: CONTENT)
    with pytest.raises(ZeroDivisionError):
        _cache.load_or_build("cubin", "other", lambda: bytes(1 // 0))
    assert [file.name for file in (folder / "cubin").iterdir()] == ["name"]
    assert _cache.load_or_build("cubin", "other", lambda: CONTENT) == CONTENT


HOLDER = """
import sys, time
from primitives import _cache

with _cache.building("cubin", "name"):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(folder, tmp_path):
    process = start(HOLDER, folder, tmp_path)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


@pytest.mark.skipif(sys.platform == "win32", reason="kills a process as POSIX does")
def test_the_lock_of_a_killed_process_is_free(folder, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    begin = time.monotonic()
    assert _cache.load_or_build("cubin", "name", lambda: CONTENT) == CONTENT
    assert time.monotonic() - begin < 30


def test_a_lock_that_is_held_for_too_long_is_passed(folder, holder, monkeypatch):
    monkeypatch.setattr(_cache, "LOCK_SECONDS", 0.3)
    assert _cache.load_or_build("cubin", "name", lambda: CONTENT) == CONTENT
    assert _cache.load("cubin", "name") == CONTENT


@pytest.mark.parametrize("error", [NotImplementedError("no flock here"), OSError(38, "no locks")])
def test_a_file_system_without_locks(folder, monkeypatch, error):
    import filelock

    def refuse(*args, **kwargs):
        raise error

    monkeypatch.setattr(filelock.FileLock, "acquire", refuse)
    assert _cache.load_or_build("cubin", "name", lambda: CONTENT) == CONTENT
    assert _cache.load("cubin", "name") == CONTENT


# Keys: what changes the code changes the name, what does not does not


@device_function
def inner(x):
    return x + 1


@device_function
def other_inner(x):
    return x + 2


def calling(function):
    @device_function
    def outer(x):
        return function(x) * 2

    return outer


def plain(i, out):
    out[i] = i


def shifted(number):
    def shift(i, out):
        out[i] = i + number

    return shift


def applied(function):
    def apply(i, out):
        out[i] = function(i)

    return apply


CONSTANT = 5


def with_constant(i, out):
    out[i] = CONSTANT


def documented(i, out):
    """Which the compiled code does not depend on."""
    out[i] = i


def documented_otherwise(i, out):
    """Not even if it is another."""
    out[i] = i


def build_of(function, kinds=("l",), template=_TRANSFORM, variant=(), errors=()):
    return Build(template, tuple(variant), (op(errors=errors)(function),), (tuple(kinds),))


def device_name(build: Build, arch: str = "sm_90") -> str:
    source = _device.template_source(build.template, dict(build.variant), build.groups)
    return _device.entry_name(source, build.ops, build.groups, arch)


def host_name(build: Build) -> str:
    return _host.entry_name(build.template, dict(build.variant), build.ops, build.groups)


both = pytest.mark.parametrize("name", [device_name, host_name], ids=["device", "host"])


@both
def test_the_same_has_the_same_name(name):
    assert name(build_of(plain)) == name(build_of(plain))
    assert name(build_of(shifted(3))) == name(build_of(shifted(3)))
    assert name(build_of(documented)) == name(build_of(documented_otherwise))
    assert name(build_of(plain, "?")) == name(build_of(plain, "B")), "booleans are bytes"
    assert name(build_of(plain, "l")) == name(build_of(plain, [np.dtype(np.int64).char]))


@both
@pytest.mark.parametrize(
    "one, two",
    [
        (build_of(plain), build_of(shifted(0))),
        (build_of(shifted(1)), build_of(shifted(2))),
        (build_of(shifted(1)), build_of(shifted(1.0))),
        (build_of(shifted(0.0)), build_of(shifted(-0.0))),
        (build_of(shifted(math.inf)), build_of(shifted(math.nan))),
        (build_of(applied(inner)), build_of(applied(other_inner))),
        (build_of(applied(calling(inner))), build_of(applied(calling(other_inner)))),
        (build_of(plain, "l"), build_of(plain, "i")),
        (build_of(plain, "l"), build_of(plain, "L")),
        (build_of(plain, "l"), build_of(plain, ["*l"])),
        (build_of(plain, "d"), build_of(plain, ["float"])),
        (build_of(plain, ["int"]), build_of(plain, ["uint"])),
        (build_of(plain, "f"), build_of(plain, "F")),
        (build_of(plain), build_of(plain, errors=("one",))),
        (build_of(plain, errors=("one",)), build_of(plain, errors=("one", "two"))),
    ],
    ids=[
        "source", "closure", "type of closure", "sign of closure", "inf and nan",
        "device function", "what that calls", "size", "sign", "loaded", "array or number",
        "kind of number", "complex", "an error", "number of errors",
    ],
)  # fmt: skip
def test_what_changes_the_code_changes_the_name(name, one, two):
    assert name(one) != name(two)


@both
def test_a_global_constant_is_in_the_name(name, monkeypatch):
    before = name(build_of(with_constant))
    monkeypatch.setattr(sys.modules[__name__], "CONSTANT", 6)
    assert name(build_of(with_constant)) != before


@both
def test_messages_are_not_in_the_name(name):
    """They stay on the host: only their number is compiled."""
    assert name(build_of(plain, errors=("one",))) == name(build_of(plain, errors=("another",)))


def reduction(**changes):
    functions = [lambda acc, s: None, lambda acc, s, p: None, lambda a, b, s: None, lambda acc, s: None]
    variant = {"OFFSET": "l", "T": "d", "WIDTH": 1, "GROUP": 1, **changes}
    ops = tuple(map(op, functions))
    return Build(_SEGMENTED_REDUCE, tuple(variant.items()), ops, ((), (), (), ()))


@both
@pytest.mark.parametrize(
    "change", [{"OFFSET": "i"}, {"T": "f"}, {"WIDTH": 2}, {"GROUP": 32}], ids=lambda x: next(iter(x))
)
def test_the_variant_is_in_the_name(name, change):
    assert name(reduction()) == name(reduction())
    assert name(reduction()) != name(reduction(**change))


@both
def test_the_text_of_the_template_is_in_the_name(name):
    changed = dataclasses.replace(_TRANSFORM, host=_TRANSFORM.host + "\npass\n")
    changed.__dict__["device"] = _TRANSFORM.device + "\n// changed\n"
    assert name(build_of(plain)) != name(build_of(plain, template=changed))


def test_the_architecture_is_in_the_name():
    names = {device_name(build_of(plain), arch) for arch in ("sm_75", "sm_90", "sm_90a", "sm_120")}
    assert len(names) == 4


@pytest.fixture
def fresh_keys():
    """Forgets what keys keep for the process, before and after."""
    caches = (_device._versions, _device._lowering, _device._prelude, _host._dependencies)
    for function in caches:
        function.cache_clear()
    yield
    for function in caches:
        function.cache_clear()


@both
@pytest.mark.parametrize(
    "distribution", ["llvmlite", "numba", "numba-cuda", "cuda-core", "nvidia-cuda-nvrtc"]
)
def test_versions_are_in_the_name(name, distribution, monkeypatch, fresh_keys):
    before = name(build_of(plain))
    original = _cache.installed
    asked = []

    def installed(*names):
        asked.extend(names)
        return original(*names) + (f", {distribution} 99" if distribution in names else "")

    monkeypatch.setattr(_cache, "installed", installed)
    for function in (_device._versions, _host._dependencies):
        function.cache_clear()
    assert (name(build_of(plain)) != before) == (distribution in asked)
    assert {"numba-cuda", "llvmlite", "nvidia-cuda-nvrtc"} <= set(asked) or "numba" in asked


@both
@pytest.mark.parametrize(
    "file", ["_source.py", "_intrinsics_device.py", "_intrinsics_host.py", "_lto.py", "prelude.cuh"]
)
def test_this_package_is_in_the_name(name, file, monkeypatch, fresh_keys):
    before = name(build_of(plain))
    monkeypatch.undo()
    for function in (_device._lowering, _device._prelude, _host._dependencies):
        function.cache_clear()
    read_bytes, read_text = Path.read_bytes, Path.read_text

    def changed_bytes(self):
        return read_bytes(self) + (b"# changed" if self.name == file else b"")

    def changed_text(self, **kwargs):
        return read_text(self, **kwargs) + ("// changed" if self.name == file else "")

    monkeypatch.setattr(Path, "read_bytes", changed_bytes)
    monkeypatch.setattr(Path, "read_text", changed_text)
    other_executors = {"_intrinsics_host.py"} if name is device_name else {
        "_intrinsics_device.py", "_lto.py", "prelude.cuh",
    }  # fmt: skip
    assert (name(build_of(plain)) != before) == (file not in other_executors)


def test_the_processor_is_in_the_name(monkeypatch, fresh_keys):
    before = host_name(build_of(plain))
    monkeypatch.setenv("NUMBA_CPU_NAME", "another")
    _host._dependencies.cache_clear()
    assert host_name(build_of(plain)) != before


def test_installed_versions_are_those_of_the_metadata():
    import importlib.metadata

    found = dict(part.split() for part in _cache.installed("numba", "llvmlite", "numpy").split(", "))
    assert found == {name: importlib.metadata.version(name) for name in ("numba", "llvmlite", "numpy")}
    assert _cache.installed("no-such-distribution") == ""


# The host executor


@op
def double(i, out, x):
    out[i] = 2 * x[i]


def host_build() -> Build:
    x = np.zeros(3)
    with record() as builds:
        transform(double, 3, x, x)
    return builds[0]


def doubled() -> list[float]:
    """What a loop computes that is loaded or built anew."""
    build = host_build()
    kernel = _host.compile(build.template, {}, build.ops, build.groups)
    x, out = np.array([1.0, 2.0, 3.0]), np.zeros(3)
    kernel.launch(double, 3, 1, [3, out.ctypes.data, x.ctypes.data], -1)
    return out.tolist()


def test_a_loop_is_built_once(folder):
    assert _host.size_in_cache(*arguments_of(host_build())) is None
    assert doubled() == [2, 4, 6]
    assert doubled() == [2, 4, 6]
    assert _cache.built == {"host": 1}
    assert _host.size_in_cache(*arguments_of(host_build())) > 1000
    assert cache_info()["entries"] == 1


def arguments_of(build: Build):
    return build.template, dict(build.variant), build.ops, build.groups


def test_a_loop_from_the_cache_needs_no_source(folder, monkeypatch):
    """Neither is the op parsed, nor does numba compile."""
    doubled()
    monkeypatch.setattr("primitives._source.parse", lambda function: never())
    monkeypatch.setattr(_cache, "building", lambda *args: never())
    import numba.core.compiler

    monkeypatch.setattr(numba.core.compiler, "compile_extra", lambda *args, **kwargs: never())
    assert doubled() == [2, 4, 6]


def test_loops_without_a_cache(monkeypatch):
    monkeypatch.setenv(_cache.VARIABLE, "off")
    assert doubled() == [2, 4, 6]


def test_loops_in_a_folder_that_cannot_be_made(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv(_cache.VARIABLE, str(tmp_path / "file"))
    assert doubled() == [2, 4, 6]
    assert (tmp_path / "file").read_text() == "in the way"


def test_loops_on_a_full_disk(folder, monkeypatch):
    import numba.core.caching

    def refuse(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(numba.core.caching.IndexDataCacheFile, "save", refuse)
    assert doubled() == [2, 4, 6]
    assert cache_info()["entries"] == 0
    monkeypatch.undo()
    monkeypatch.setenv(_cache.VARIABLE, str(folder))
    assert doubled() == [2, 4, 6]
    assert cache_info()["entries"] == 1


def test_a_copied_cache_is_as_good(folder, tmp_path, monkeypatch):
    """Copying changes the times of files, by which numba tells whether they belong together."""
    doubled()
    shutil.copytree(folder, tmp_path / "copy", copy_function=shutil.copyfile)
    shutil.rmtree(folder)
    monkeypatch.setenv(_cache.VARIABLE, str(tmp_path / "copy"))
    import numba.core.compiler

    monkeypatch.setattr(numba.core.compiler, "compile_extra", lambda *args, **kwargs: never())
    assert doubled() == [2, 4, 6]
    assert _cache.built == {"host": 1}


LOOP = """
import json
import numpy as np
from primitives import _cache, op, transform

@op
def double(i, out, x):
    out[i] = 2 * x[i]

out = np.zeros(3)
transform(double, 3, out, np.array([1.0, 2.0, 3.0]))
print(json.dumps([out.tolist(), _cache.built.total()]))
"""


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    """A cache folder with one loop, and a copy of it for each who asks."""
    original = tmp_path_factory.mktemp("loop")
    assert run(LOOP, original / "cache", original) == [[2, 4, 6], 1]
    return original / "cache"


@pytest.mark.parametrize(
    "pattern, what",
    [
        ("*.nbi", "truncated"), ("*.nbi", "foreign pickle"), ("*.nbi", "deleted"),
        ("*.nbc", "truncated"), ("*.nbc", "foreign"), ("*.nbc", "one bit"),
        ("k*.py", "empty"), ("k*.py", "one bit"),
    ],
)  # fmt: skip
def test_spoilt_files_of_numba_are_rebuilt(loop, pattern, what, tmp_path):
    import pickle

    folder = tmp_path / "cache"
    shutil.copytree(loop, folder)
    (file,) = folder.rglob(pattern)
    data = file.read_bytes()
    if what == "deleted":
        file.unlink()
    else:
        file.write_bytes(
            {
                "truncated": data[: len(data) // 2],
                "empty": b"",
                "foreign": b"not what numba wrote" * 50,
                "foreign pickle": pickle.dumps({"something": "else"}),
                "one bit": flip(data, len(data) // 2),
            }[what]
        )
    assert run(LOOP, folder, tmp_path) == [[2, 4, 6], 1]
    for file in folder.rglob("*"):
        assert not file.name.startswith("."), "neither a lock nor a half-written file stays"
    if what == "truncated":
        assert run(LOOP, folder, tmp_path) == [[2, 4, 6], 0]


def test_loops_where_numba_keeps_its_files_elsewhere(tmp_path):
    elsewhere = {"NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    assert run(LOOP, tmp_path / "cache", tmp_path, **elsewhere) == [[2, 4, 6], 1]
    assert run(LOOP, tmp_path / "cache", tmp_path, **elsewhere) == [[2, 4, 6], 0]
    for file in (tmp_path / "numba").rglob("*.nb?"):
        file.write_bytes(b"spoilt")
    assert run(LOOP, tmp_path / "cache", tmp_path, **elsewhere) == [[2, 4, 6], 1]


# The device executor, which compiles without a device


def device_build() -> Build:
    return host_build()


@pytest.mark.compile
def test_a_cubin_is_built_once(folder):
    arguments = arguments_of(device_build())
    cubin = _device.build(*arguments, "sm_90")
    assert cubin[:4] == b"\x7fELF"
    assert _device.build(*arguments, "sm_90") == cubin
    assert _device.build(*arguments, "sm_80") != cubin
    assert _cache.built == {"cubin": 2}
    for file in (folder / "cubin").iterdir():
        file.write_bytes(file.read_bytes()[:-7])
    assert _device.build(*arguments, "sm_90")[:4] == b"\x7fELF"
    assert _cache.built == {"cubin": 3}


@pytest.mark.compile
@pytest.mark.parametrize("setting", ["off", "/dev/null/cache"])
def test_a_cubin_without_a_cache(setting, monkeypatch):
    monkeypatch.setenv(_cache.VARIABLE, setting)
    assert _device.build(*arguments_of(device_build()), "sm_90")[:4] == b"\x7fELF"


CUBIN = """
import json, sys
import numpy as np
from primitives import _cache, _device, _source, op, transform
from primitives._run import record

@op
def double(i, out, x):
    out[i] = 2 * x[i]

x = np.zeros(3)
with record() as builds:
    transform(double, 3, x, x)
build = builds[0]
cubin = _device.build(build.template, dict(build.variant), build.ops, build.groups, "sm_90")
assert cubin[:4] == b"\\x7fELF"
heavy = ["numba", "llvmlite", "filelock", "cuda.core", "cuda.bindings", "cupy_backends.cuda.libs.nvrtc"]
print(json.dumps([_cache.built.total(), [name for name in heavy if name in sys.modules]]))
"""


@pytest.mark.compile
def test_a_cubin_from_the_cache_needs_no_compiler(tmp_path):
    built, loaded = run(CUBIN, tmp_path / "cache", tmp_path)
    assert built == 1 and "numba" in loaded
    without_parsing = CUBIN.replace(
        "x = np.zeros(3)\n", "x = np.zeros(3)\n_source.parse = None  # which nobody calls\n", 1
    )
    (tmp_path / "two").mkdir()
    assert run(without_parsing, tmp_path / "cache", tmp_path / "two") == [0, []]


# Many processes


MANY = """
import json, sys, time
from pathlib import Path
import numpy as np
from primitives import _cache, _device, op, transform
from primitives._run import record

@op
def one(i, out, x):
    out[i] = x[i] + 1

@op
def two(i, out, x):
    out[i] = x[i] + 2

@op
def three(i, out, x):
    out[i] = x[i] + 3

executor, folder = {executor!r}, Path({folder!r})
(folder / f"ready-{{time.monotonic_ns()}}-{{id(folder)}}").touch()
while not (folder / "go").exists():
    time.sleep(0.01)
x, out = np.arange(4.0), np.zeros(4)
for number, function in enumerate((one, two, three), start=1):
    if executor == "host":
        transform(function, 4, out, x)
        assert out.tolist() == [number + k for k in range(4)]
    else:
        with record() as builds:
            transform(function, 4, out, x)
        build = builds[0]
        cubin = _device.build(build.template, dict(build.variant), build.ops, build.groups, "sm_90")
        assert cubin[:4] == b"\\x7fELF"
print(json.dumps(_cache.built.total()))
"""


@pytest.mark.parametrize("executor", ["host", pytest.param("device", marks=pytest.mark.compile)])
def test_eight_processes_at_once_build_each_entry_once(executor, tmp_path):
    script = MANY.format(executor=executor, folder=str(tmp_path))
    cache = tmp_path / "cache"
    processes = [start(script, cache, tmp_path) for _ in range(8)]
    while len(list(tmp_path.glob("ready-*"))) < 8:
        assert all(process.poll() in (None, 0) for process in processes)
        time.sleep(0.05)
    (tmp_path / "go").touch()
    built = []
    for process in processes:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        built.append(json.loads(out.splitlines()[-1]))
    assert sum(built) == 3, built
    assert not list(cache.rglob(".*"))


# Without compilers


@pytest.mark.compile
class TestWithoutCompilers:
    """What a build says that misses the cache, where something it needs is not there."""

    def message(self, folder) -> str:
        with pytest.raises(_compilers.CompilerError) as caught:
            _device.build(*arguments_of(device_build()), "sm_90")
        text = str(caught.value)
        assert "\n" not in text and 'pip install "awkward-cudakernels[cu1' in text
        return text

    @pytest.fixture
    def forget(self):
        _compilers.architectures.cache_clear()
        yield
        _compilers.architectures.cache_clear()

    @pytest.mark.parametrize(
        "module, distribution",
        [("numba.cuda", "numba-cuda"), ("cuda.core", "cuda-core"), ("cuda.bindings", "cuda-bindings")],
    )
    def test_not_installed(self, folder, module, distribution, monkeypatch, forget):
        version = _compilers._version
        monkeypatch.setattr(_compilers, "_version", lambda x: None if x == distribution else version(x))
        monkeypatch.setitem(sys.modules, module, None)
        monkeypatch.delitem(sys.modules, "primitives._lto", raising=False)
        if module == "numba.cuda":
            import numba

            monkeypatch.delattr(numba, "cuda", raising=False)
        assert f"needs {distribution}, which is not installed" in self.message(folder)

    def test_an_import_that_fails(self, folder, monkeypatch):
        monkeypatch.setitem(sys.modules, "cuda.core", None)
        assert "compiling for the GPU fails (import of cuda.core" in self.message(folder)

    @pytest.mark.parametrize("library, name", list(_compilers.LIBRARIES.items()))
    def test_a_library_that_is_not_found(self, folder, library, name, monkeypatch):
        def fail(*args, **kwargs):
            raise RuntimeError("cannot load it")

        find = _compilers.library
        monkeypatch.setattr(_compilers, "library", lambda x: None if x == library else find(x))
        monkeypatch.setattr(_device, "_link", fail)
        assert f"needs {name}, which cannot be found" in self.message(folder)

    def test_a_version_that_does_not_fit(self, folder, monkeypatch):
        import cuda.core

        def fail(*args, **kwargs):
            raise AttributeError("this version has no such thing")

        monkeypatch.setattr(cuda.core, "Program", fail)
        monkeypatch.setattr(
            "importlib.metadata.requires", lambda name: ['numba-cuda<0.20; extra == "cu12"',
            'numba-cuda<0.20; extra == "cu13"', "numpy>=1"],
        )  # fmt: skip
        text = self.message(folder)
        assert "does not work with numba-cuda" in text and "(it must be <0.20)" in text

    def test_an_error_of_another_kind_stays(self, folder, monkeypatch):
        def fail(*args, **kwargs):
            raise MemoryError("not about the installation")

        monkeypatch.setattr(_device, "_link", fail)
        with pytest.raises(MemoryError):
            _device.build(*arguments_of(device_build()), "sm_90")

    def test_an_architecture_that_is_not_known(self, folder):
        with pytest.raises(_compilers.CompilerError, match=r"do not know sm_20: they know .*sm_90"):
            _device.build(*arguments_of(device_build()), "sm_20")

    def test_what_is_in_the_cache_needs_none(self, folder, monkeypatch):
        cubin = _device.build(*arguments_of(device_build()), "sm_90")
        monkeypatch.setattr(_compilers, "_version", lambda name: None)
        monkeypatch.setitem(sys.modules, "cuda.core", None)
        assert _device.build(*arguments_of(device_build()), "sm_90") == cubin
