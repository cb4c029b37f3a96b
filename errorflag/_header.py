"""Where the device header is, and its text."""

from __future__ import annotations

from functools import cache
from pathlib import Path


def header_path() -> Path:
    """The folder to give a CUDA compiler as ``-I``; it holds ``errorflag.cuh``.

    Example:
        >>> import errorflag
        >>> sorted(path.name for path in errorflag.header_path().glob("*.cuh"))
        ['errorflag.cuh']
        >>> import cupy                                             # doctest: +SKIP
        >>> cupy.RawKernel(source, "f", options=(f"-I{errorflag.header_path()}",))  # doctest: +SKIP
    """
    return Path(__file__).parent


@cache
def header() -> str:
    """The text of ``errorflag.cuh``, to put in front of a kernel's source.

    Example:
        >>> import errorflag
        >>> "errorflag_report" in errorflag.header()
        True
    """
    return (header_path() / "errorflag.cuh").read_text(encoding="utf-8")
