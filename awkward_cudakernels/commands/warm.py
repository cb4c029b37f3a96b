"""``warm``: compile everything now, so that no first call has to."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from concurrent.futures import BrokenExecutor
from typing import TYPE_CHECKING, Any

import click

from awkward_cudakernels.commands import Problem

if TYPE_CHECKING:
    from awkward_cudakernels._warm import Filled


def _cores() -> int:
    """One process on every core; more than 32 would only add to their 400 MB each."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(cores or 1, 32)


@click.command()
@click.option(
    "--arch",
    "architectures",
    multiple=True,
    metavar="sm_XY",
    help="An architecture to compile for, such as sm_90; may be repeated. No GPU is needed. "
    "By default, that of this machine's GPUs.",
)
@click.option("--host", is_flag=True, help="Compile what runs on the CPU.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=_cores,
    help="How many processes compile at once, of 400 MB each; by default, one on every core.",
)
@click.option(
    "--only",
    default="",
    metavar="TEXT",
    help="Compile only the kernels whose name contains this, such as reduce_sum.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
def command(
    architectures: tuple[str, ...], host: bool, jobs: int, only: str, as_json: bool
) -> None:
    """Fill the disk cache: compile every kernel for every dtype, unless it is there.

    Exit code 0 if the cache has everything, 1 if something could not be compiled, 2 if nothing was
    tried: the message says why.
    """
    devices = () if architectures or host else _devices()
    targets = _known(list(dict.fromkeys([*architectures, *devices])))
    _check_cache()

    from awkward_cudakernels import _warm

    start = time.perf_counter()
    if not _warm.builds(only):
        raise Problem(f"No kernel's name contains {only!r}.")
    try:
        with _progress(as_json) as progress:
            filled = _warm.fill([*targets, _warm.HOST] if host else targets, jobs, progress, only)
    except BrokenExecutor:
        raise Problem(
            "One of the compiling processes was killed, perhaps for lack of memory: try fewer --jobs. "
            "What is compiled is kept."
        ) from None
    if devices and not only:
        _warm.prepare_devices()
    seconds = time.perf_counter() - start
    if as_json:
        click.echo(json.dumps(_report(filled, seconds), indent=2))
    else:
        _show(filled, seconds)
    sys.exit(1 if any(result.failed for result in filled) else 0)


def _devices() -> list[str]:
    """The architectures of this machine's GPUs."""
    from awkward_cudakernels import environment

    driver = environment.driver()
    if driver is None or not driver.devices:
        reason = environment.why_no_cuda() or "there is no GPU"
        raise Problem(
            f"There is nothing to compile for, because {reason}: name an architecture, as in "
            "--arch sm_90, or say --host to compile what runs on the CPU."
        )
    return ["sm_{}{}".format(*device.compute_capability) for device in driver.devices]


LEAST = 75
"""The oldest architecture that the kernels are for."""


def _known(names: list[str]) -> list[str]:
    """The architectures, if the compilers know all of them."""
    if not names:
        return names
    from primitives import _compilers

    for name in names:
        if not re.fullmatch(r"sm_\d+[af]?", name):
            raise Problem(f"{name!r} is no architecture: it must be like sm_90.")
    try:
        known = _compilers.architectures()
    except _compilers.CompilerError as error:
        raise Problem(f"{str(error)[0].upper()}{str(error)[1:]}.") from None
    known = tuple(name for name in known if int(name.removeprefix("sm_")) >= LEAST)
    for name in names:
        if int(name.removeprefix("sm_").rstrip("af")) < LEAST:
            raise Problem(f"{name} is older than sm_{LEAST}, the least that these kernels run on.")
        if name.rstrip("af") not in known:
            raise Problem(
                f"The installed CUDA compilers do not know {name}: they know {', '.join(known)}."
            )
    return names


def _check_cache() -> None:
    from primitives import _cache

    folder = _cache.cache_folder()
    if folder is None:
        raise Problem(
            f"The disk cache is switched off by {_cache.VARIABLE}: there is nothing to fill."
        )
    probe = folder / f".warm-{os.getpid()}"
    if not _cache.write_atomically(probe, b""):
        raise Problem(
            f"The cache folder {folder} cannot be written: make it writable, or name another in "
            f"{_cache.VARIABLE}."
        )
    probe.unlink(missing_ok=True)


class _progress:
    """A progress bar on stderr, of which `_warm.fill` tells the length."""

    def __init__(self, hidden: bool) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        self._bar = Progress(
            TextColumn("compiling"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            disable=hidden,
        )
        self._task = self._bar.add_task("compiling", total=None, visible=False)

    def __enter__(self) -> _progress:
        self._bar.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._bar.stop()

    def __call__(self, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=total, visible=total > 0)


def _report(filled: list[Filled], seconds: float) -> dict[str, Any]:
    from primitives import _cache

    return {
        "folder": str(_cache.cache_folder()),
        "seconds": round(seconds, 2),
        "targets": {
            result.target: {
                "built": result.built,
                "kept": result.kept,
                "bytes": result.bytes,
                "failed": dict(result.failed),
            }
            for result in filled
        },
    }


def _show(filled: list[Filled], seconds: float) -> None:
    from rich.console import Console

    from primitives import _cache

    console = Console(highlight=False)
    for result in filled:
        console.print(
            f"{result.target}: built {result.built}, {result.kept} were there, "
            f"{result.bytes / 2**20:.1f} MiB in all",
            soft_wrap=True,
        )
    console.print(f"{seconds:.1f} s, in {_cache.cache_folder()}", soft_wrap=True)
    for result in filled:
        for message, count in result.failed.most_common():
            times = f" ({count} times)" if count > 1 else ""
            click.echo(f"{result.target} failed{times}: {message}", err=True)
