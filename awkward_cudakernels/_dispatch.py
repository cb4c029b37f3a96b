"""Which implementation of a family runs on the device: its kernel on the primitives, or the raw one.

It is one table for the process, with ``primitives`` for every family until something asks for the raw
kernels (`legacy_cu`) of some: the environment variable ``AWKWARD_CUDAKERNELS_LEGACY``, a list of
families separated by commas, or ``all``, read once; and the context manager `legacy`.

A call does not look at the table: changing it replaces the function that every kernel is bound to. It
is for CUDA arrays only. There are no raw kernels for the host, where the same setting changes nothing.
"""

from __future__ import annotations

import difflib
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import legacy_cu
from primitives import _cache

from . import signatures

Function = Callable[..., None]

VARIABLE = "AWKWARD_CUDAKERNELS_LEGACY"
ALL = "all"

_lock = threading.RLock()
_entered: list[frozenset[str]] = []
"""What each `legacy` that was entered and not left asked for."""
_bound: WeakKeyDictionary[Any, Function] = WeakKeyDictionary()
"""The kernels of the device executor that are alive, with their functions on the primitives."""


@cache
def raw_kernels() -> dict[str, legacy_cu.Family]:
    """The raw kernels by family; their compiled code goes to the disk cache of the primitives."""
    legacy_cu.set_cache(_cache.load_or_build)
    return legacy_cu.kernels()


def in_force() -> frozenset[str]:
    """The families whose raw kernels run on the device now.

    Raises:
        ValueError: ``AWKWARD_CUDAKERNELS_LEGACY`` names something else; the message lists near names.
    """
    with _lock:
        return _environment().union(*_entered)


@contextmanager
def legacy(*families: str) -> Iterator[None]:
    """Runs the raw kernels of some families on the device, instead of those on the primitives.

    For the whole process, not only this thread, until the block ends; blocks may be nested, and may
    overlap in several threads: a family is raw while any of them asks for it. On the host executor
    it changes nothing.

    Args:
        families: names of families, or ``"all"``.

    Raises:
        ValueError: there is no raw kernel of that name; the message lists near names.
    """
    asked = known(families)
    with _lock:
        _entered.append(asked)
        _rebind(asked)
    try:
        yield
    finally:
        with _lock:
            _entered.remove(asked)  # or an equal one, which is as good
            _rebind(asked)


def bind(kernel: Any, family: str, function: Function) -> None:
    """Makes a kernel of the device executor follow the table.

    Args:
        kernel: its attribute `_impl` is the function that it calls, and is replaced.
        family: its name.
        function: its implementation on the primitives.
    """
    with _lock:
        _bound[kernel] = function
        kernel._impl = raw_kernels()[family] if family in in_force() else function


def _rebind(families: frozenset[str]) -> None:
    raw, now = raw_kernels(), in_force()
    for kernel, function in list(_bound.items()):
        if kernel.name in families:
            kernel._impl = raw[kernel.name] if kernel.name in now else function


@cache
def _environment() -> frozenset[str]:
    text = os.environ.get(VARIABLE, "")
    try:
        return known(filter(None, (part.strip() for part in text.split(","))))
    except ValueError as error:
        raise ValueError(f"{VARIABLE}: {error}") from None


def known(families: Iterable[str]) -> frozenset[str]:
    """The families that are named, ``all`` replaced by its meaning.

    Raises:
        ValueError: there is no raw kernel of that name; the message lists near names.
    """
    raw = raw_kernels()
    found: set[str] = set()
    for name in families:
        if name == ALL:
            found.update(raw)
        elif name in raw:
            found.add(name)
        elif name in signatures.families():
            raise ValueError(f"{name} has no raw kernel, only the one on the primitives")
        else:
            near = [other for other in raw if name.lower() in other.lower()][:5]
            near = near or difflib.get_close_matches(name, [ALL, *raw], n=3, cutoff=0.4)
            hint = f"did you mean {', '.join(near)}?" if near else f"see {', '.join(raw)}"
            raise ValueError(f"there is no raw kernel {name!r}: {hint}")
    return frozenset(found)
