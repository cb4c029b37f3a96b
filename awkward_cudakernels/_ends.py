"""The ends of indexes that the host has read: offsets are asked for their first and last number often."""

from __future__ import annotations

from typing import Any
from weakref import ref

known_ends: dict[int, list[ref[Any]]] = {}
"""Indexes whose first and last element the host has read, by the identity of their arrays."""


def remember_ends(index: Any, first: Any, last: Any) -> tuple[Any, Any]:
    """Keeps what the host knows of an index, for as long as nothing writes into it."""
    key = id(index._data)

    def drop(dead: Any) -> None:
        others = [one for one in known_ends.pop(key, ()) if one is not dead]
        if others:
            known_ends[key] = others

    if not hasattr(index, "_ends"):
        known_ends.setdefault(key, []).append(ref(index, drop))
    index._ends = first, last
    return index._ends


def forget_ends(array: Any) -> None:
    """Called for every array that a kernel writes: what the host knows of it is no longer true."""
    for reference in known_ends.pop(id(array), ()):
        index = reference()
        if index is not None:
            del index._ends
