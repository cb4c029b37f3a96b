"""The ends of indexes that the host has read: offsets are asked for their first and last number often."""

from __future__ import annotations

from typing import Any
from weakref import ref

known_ends: dict[int, ref[Any]] = {}
"""Indexes whose first and last element the host has read, by the identity of their arrays."""


def remember_ends(index: Any, first: Any, last: Any) -> tuple[Any, Any]:
    """Keeps what the host knows of an index, for as long as nothing writes into it."""
    ends = index._ends = first, last
    key = id(index._data)
    known_ends[key] = ref(index, lambda _: known_ends.pop(key, None))
    return ends


def forget_ends(array: Any) -> None:
    """Called for every array that a kernel writes: what the host knows of it is no longer true."""
    reference = known_ends.pop(id(array), None)
    index = None if reference is None else reference()
    if index is not None:
        del index._ends
