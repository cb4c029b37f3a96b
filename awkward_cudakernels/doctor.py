"""What the kernels need, and what of it is here: the checks of ``awkward-cudakernels doctor``.

The versions wanted are read from this distribution's own metadata, so they are written once, in
``pyproject.toml``.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet

from awkward_cudakernels import environment
from primitives import _compilers

__all__ = ["Check", "Diagnosis", "diagnose"]


@dataclass(frozen=True)
class Check:
    """One thing looked at.

    Attributes:
        name: of the thing.
        state: "ok"; "missing", when something that could be there is not; "wrong", when it is of no use.
        found: what is there, in a few words.
        advice: one sentence on what to do, empty if nothing needs doing.
        needed: whether even the host executor needs it.
    """

    name: str
    state: str
    found: str
    advice: str = ""
    needed: bool = False


@dataclass(frozen=True)
class Diagnosis:
    """All checks; ``executor`` is "device", "host" or "none", the best that can be used."""

    executor: str
    checks: tuple[Check, ...]

    @property
    def usable(self) -> bool:
        return self.executor != "none"


def diagnose() -> Diagnosis:
    """Look at everything; changes nothing, apart from the cache of the kernels tried."""
    base = [_python()]
    base += [_package(name, needed=True) for name in ("awkward", "numpy", "numba", "pyarrow")]
    base.append(_kernel_table())
    base.append(_array_layer())

    driver = environment.driver()
    extra = _compilers.extra()
    cuda = [_driver(driver), *_devices(driver), _cupy(extra, driver)]
    for name in ("cuda-core", "cuda-cccl", "numba-cuda"):
        cuda.append(_package(name, extra=extra))
    cuda += [_library(name, extra) for name in _compilers.LIBRARIES]

    host = _try("host", "cpu")
    checks = [*base, *cuda, _cache(), host]
    host_usable = all(check.state == "ok" for check in (*base, host) if check.needed)
    executor = "host" if host_usable else "none"
    if host_usable and all(check.state == "ok" for check in cuda):
        device = _try("device", "cuda")
        checks.append(device)
        executor = "device" if device.state == "ok" else executor
    return Diagnosis(executor, tuple(checks))


# -- Python and its packages ---------------------------------------------------------------------------------


def _python() -> Check:
    version = platform.python_version()
    try:
        wanted = importlib.metadata.metadata(_compilers.DISTRIBUTION)["Requires-Python"]
    except importlib.metadata.PackageNotFoundError:
        # Run from a folder: what it asks for is not on record.
        return Check("Python", "ok", version, needed=True)
    if not SpecifierSet(wanted).contains(version, prereleases=True):
        advice = f"Use a Python of version {wanted}."
        return Check("Python", "wrong", version, advice, needed=True)
    return Check("Python", "ok", version, needed=True)


def _package(name: str, *, extra: str | None = None, needed: bool = False) -> Check:
    wanted = _compilers.wanted(name, extra)
    version = environment.versions([name]).get(name)
    if version is None:
        advice = f'Run pip install "{name}{wanted}".' if extra is None else _install(extra)
        return Check(name, "missing", "not installed", advice, needed)
    if not wanted.contains(version, prereleases=True):
        return Check(name, "wrong", f"{version}, not {wanted}", f'Run pip install "{name}{wanted}".', needed)
    return Check(name, "ok", version, needed=needed)


def _install(extra: str) -> str:
    return f"To use a GPU, run {_compilers.install(extra)}."


def _kernel_table() -> Check:
    name = "kernel table"
    try:
        from awkward_cudakernels import signatures

        differences = signatures.compare_with_installed()
    except Exception as err:
        return Check(name, "wrong", _short(err), "Reinstall this package and awkward.")
    if differences:
        found = "\n".join([f"{len(differences)} differences from the installed awkward:", *differences])
        return Check(name, "wrong", found, "Install the version of awkward that this package asks for.")
    return Check(name, "ok", "as in the installed awkward")


def _array_layer() -> Check:
    name = "array layer"
    try:
        from awkward_cudakernels import arraylayer

        differences = arraylayer.unlike_installed()
    except Exception as err:
        return Check(name, "wrong", _short(err), "Reinstall this package and awkward.")
    if differences:
        found = "\n".join([f"{len(differences)} functions of awkward are not replaced:", *differences])
        return Check(name, "wrong", found, "Install the version of awkward that this package asks for.")
    return Check(name, "ok", "fits the installed awkward")


# -- CUDA ----------------------------------------------------------------------------------------------------


def _driver(driver: environment.Driver | None) -> Check:
    name = "NVIDIA driver"
    if driver is None:
        return Check(name, "missing", "none", "To use a GPU, install NVIDIA's driver.")
    found = f"supports CUDA up to {driver.cuda[0]}.{driver.cuda[1]}"
    if driver.cuda < (12, 0):
        return Check(name, "wrong", found, "Install a driver that supports CUDA 12 or newer.")
    return Check(name, "ok", found)


def _devices(driver: environment.Driver | None) -> Iterator[Check]:
    if driver is None or not driver.devices:
        advice = "To use a GPU, run on a machine that has one and lets this process see it."
        yield Check("device", "missing", "none", advice)
        return
    for number, device in enumerate(driver.devices):
        name = f"device {number}"
        if device.compute_capability < (7, 5):
            advice = "Use a GPU of compute capability 7.5 or higher: the compilers know no older ones."
            yield Check(name, "wrong", str(device), advice)
        else:
            yield Check(name, "ok", str(device))


def _cupy(extra: str, driver: environment.Driver | None) -> Check:
    name = "CuPy"
    installed = environment.versions(["cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x", "cupy"])
    if not installed:
        return Check(name, "missing", "not installed", _install(extra))
    found = ", ".join(f"{package} {version}" for package, version in installed.items())
    if len(installed) > 1:
        return Check(name, "wrong", found, "Uninstall all but one of these: they share their files.")
    package, version = next(iter(installed.items()))
    wanted = _compilers.wanted(package, extra)
    if not wanted.contains(version, prereleases=True):
        return Check(name, "wrong", f"{found}, not {wanted}", f'Run pip install "{package}{wanted}".')
    if driver is not None and package == "cupy-cuda13x" and driver.cuda < (13, 0):
        advice = "The driver is older than CUDA 13: install this package with its extra cu12 instead of cu13."
        return Check(name, "wrong", found, advice)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module("cupy")
    except Exception as err:
        return Check(name, "wrong", f"{found}: {_short(err)}", f"Reinstall {package}.")
    return Check(name, "ok", found)


def _library(name: str, extra: str) -> Check:
    found = _compilers.library(name)
    if found is None:
        return Check(name, "missing", "not found", _install(extra))
    return Check(name, "ok", found)


# -- this package --------------------------------------------------------------------------------------------


def _cache() -> Check:
    name = "cache folder"
    try:
        cache: Any = importlib.import_module("primitives._cache")
        info = cache.cache_info()
    except Exception as err:
        return Check(name, "wrong", _short(err), "Reinstall this package.")
    if not info["enabled"]:
        return Check(name, "ok", f"switched off by {cache.VARIABLE}: every process compiles anew")
    path = Path(info["path"])
    found = f"{path}: {info['entries']} entries, {info['bytes'] / 2**20:.1f} MiB"
    probe = path / f".doctor-{os.getpid()}"
    if not cache.write_atomically(probe, b""):
        return Check(name, "wrong", found, "Make this folder writable, or every process compiles anew.")
    probe.unlink(missing_ok=True)
    return Check(name, "ok", found)


def _try(executor: str, backend: str) -> Check:
    """Run one small operation on an executor and look at its result."""
    name = f"{executor} executor"
    needed = executor == "host"
    try:
        import awkward as ak

        import awkward_cudakernels

        awkward_cudakernels.register(backend)
        try:
            array = ak.to_backend(ak.Array([[1, 2], [], [3]]), backend)
            found = ak.to_list(ak.sum(array[array > 1], axis=1))
        finally:
            awkward_cudakernels.unregister()
    except Exception as err:
        advice = "Put right what is named above, and report this if nothing is."
        return Check(name, "wrong", f"fails: {_short(err)}", advice, needed)
    if found != [2, 0, 3]:
        return Check(name, "wrong", f"computes {found} for [2, 0, 3]", "Please report this.", needed)
    return Check(name, "ok", "computes what it should", needed=needed)


def _short(err: BaseException) -> str:
    lines = str(err).strip().splitlines() or [""]
    return f"{type(err).__name__}: {lines[0][:120]}"
