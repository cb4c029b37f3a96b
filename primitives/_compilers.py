"""The CUDA compilers: which architectures they know, and what to install where they do not work.

Asked only before a compilation and after one that failed, so nothing here is in the way of a launch.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

DISTRIBUTION = "awkward-cudakernels"
_NEEDED = ("numba-cuda", "cuda-core", "cuda-bindings", "cuda-pathfinder")
_CUPY = {"cu12": "cupy-cuda12x", "cu13": "cupy-cuda13x"}
LIBRARIES = {"nvrtc": "NVRTC", "nvJitLink": "nvJitLink", "nvvm": "libNVVM"}
"""What cuda-pathfinder calls the libraries of the compilers, and what NVIDIA does."""


class CompilerError(RuntimeError):
    """The CUDA compilers are missing or cannot be used; the message says what to do."""


@cache
def architectures() -> tuple[str, ...]:
    """The architectures that the installed NVRTC compiles for, such as ``"sm_90"``, oldest first.

    Raises:
        CompilerError: it is not installed.
    """
    try:
        from cuda.bindings import nvrtc

        status, found = nvrtc.nvrtcGetSupportedArchs()
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise RuntimeError(f"NVRTC does not tell its architectures: {status.name}")
    except Exception as error:
        raise explain(error) or error from error
    return tuple(f"sm_{number}" for number in sorted(found))


def explain(error: Exception) -> CompilerError | None:
    """Why a compilation failed, if that is because of what is, or is not, installed."""
    versions = {name: _version(name) for name in (*_NEEDED, "numpy", "numba")}
    missing = [name for name in _NEEDED if versions[name] is None]
    if missing:
        return CompilerError(
            f"compiling for the GPU needs {_and(missing)}, which {_is(missing)} not installed: {install(extra())}"
        )
    bounds = {name: wanted(name, extra()) for name in versions}
    wrong = [
        f"{name} {found} (it must be {bounds[name]})"
        for name, found in versions.items()
        if found is not None and not bounds[name].contains(found, prereleases=True)
    ]
    if wrong:
        return CompilerError(f"compiling for the GPU does not work with {_and(wrong)}: {install(extra())}")
    lost = [called for name, called in LIBRARIES.items() if library(name) is None]
    if lost:
        return CompilerError(
            f"compiling for the GPU needs {_and(lost)}, which cannot be found: "
            f"{install(extra())}, or set CUDA_HOME to a CUDA toolkit that has {'it' if len(lost) == 1 else 'them'}"
        )
    if isinstance(error, ImportError):
        return CompilerError(f"compiling for the GPU fails ({error}): {install(extra())}")
    return None


def _version(name: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def extra() -> str:
    """The extra that fits: by the CuPy that is installed, else by the compilers, else by the driver, else cu12."""
    installed = [of for of, cupy in _CUPY.items() if _version(cupy)]
    if len(installed) == 1:
        return installed[0]
    bindings = _version("cuda-bindings")
    if bindings is not None:
        return "cu12" if int(bindings.split(".")[0]) < 13 else "cu13"
    found = driver()
    return "cu12" if found is None or found[1] < (13, 0) else "cu13"


def driver() -> tuple[ctypes.CDLL, tuple[int, int]] | None:
    """The library of the NVIDIA driver and the newest CUDA version that it supports; None if there is no driver."""
    try:
        library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return None
    version = ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(version))
    return library, (version.value // 1000, version.value % 1000 // 10)


def wanted(name: str, extra: str | None = None) -> SpecifierSet:
    """Every bound on the version of a package, by the base dependencies of this distribution and by an extra."""
    from importlib import metadata

    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

    try:
        lines = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        lines = []  # a source tree
    found = SpecifierSet()
    for requirement in map(Requirement, lines):
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": extra or ""})
        if applies and requirement.name == name:
            found &= requirement.specifier
    return found


def install(extra: str) -> str:
    """What to do to have everything that an extra asks for."""
    return f'pip install "{DISTRIBUTION}[{extra}]"'


def library(name: str) -> str | None:
    """Where one of `LIBRARIES` is; None if it cannot be found."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        return str(load_nvidia_dynamic_lib(name).abs_path)
    except Exception:  # one class per way of not finding it
        return None


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"
