"""The CUDA compilers: which architectures they know, and what to install where they do not work.

Asked only before a compilation and after one that failed, so nothing here is in the way of a launch.
"""

from __future__ import annotations

from functools import cache

DISTRIBUTION = "awkward-cudakernels"
_NEEDED = ("numba-cuda", "cuda-core", "cuda-bindings", "cuda-pathfinder")
_LIBRARIES = {"nvrtc": "NVRTC", "nvJitLink": "nvJitLink", "nvvm": "libNVVM"}


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
    versions = {name: _version(name) for name in _NEEDED}
    missing = [name for name, version in versions.items() if version is None]
    if missing:
        return CompilerError(
            f"compiling for the GPU needs {_and(missing)}, which {_is(missing)} not installed: "
            f"{_install()}"
        )
    wrong = [
        f"{name} {versions[name]} (it must be {wanted})"
        for name, wanted in _wanted().items()
        if not _fits(name, wanted)
    ]
    if wrong:
        return CompilerError(
            f"compiling for the GPU does not work with {_and(wrong)}: {_install()}"
        )
    lost = [name for library, name in _LIBRARIES.items() if not _is_there(library)]
    if lost:
        return CompilerError(
            f"compiling for the GPU needs {_and(lost)}, which cannot be found: {_install()}, or set "
            f"CUDA_HOME to a CUDA toolkit that has {'it' if len(lost) == 1 else 'them'}"
        )
    if isinstance(error, ImportError):
        return CompilerError(f"compiling for the GPU fails ({error}): {_install()}")
    return None


def _version(name: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _wanted() -> dict[str, str]:
    """The versions that this distribution's extra asks for, of what is installed."""
    from importlib import metadata

    from packaging.requirements import Requirement

    try:
        lines = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return {}  # a source tree
    found: dict[str, str] = {}
    for requirement in map(Requirement, lines):
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": _extra()})
        known = requirement.name in (*_NEEDED, "numpy", "numba") and _version(requirement.name)
        if applies and known and str(requirement.specifier):
            both = [found[requirement.name]] if requirement.name in found else []
            found[requirement.name] = ",".join([*both, str(requirement.specifier)])
    return found


def _fits(name: str, wanted: str) -> bool:
    from packaging.specifiers import SpecifierSet

    version = _version(name)
    return version is None or SpecifierSet(wanted).contains(version, prereleases=True)


def _is_there(library: str) -> bool:
    from cuda.pathfinder import load_nvidia_dynamic_lib

    try:
        load_nvidia_dynamic_lib(library)
    except Exception:  # one class per way of not finding it
        return False
    return True


def _extra() -> str:
    """The extra for the CUDA generation that is installed, as far as one is."""
    bindings = _version("cuda-bindings")
    if bindings is not None:
        return "cu12" if int(bindings.split(".")[0]) < 13 else "cu13"
    return "cu13" if _version("cupy-cuda13x") else "cu12"


def _install() -> str:
    other = "cu13" if _extra() == "cu12" else "cu12"
    return f'pip install "{DISTRIBUTION}[{_extra()}]" (or [{other}])'


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"
