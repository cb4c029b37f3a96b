"""What the host knows of indexes: their first and last number, and which are equal, as offsets are often asked."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary, WeakSet, ref

known: dict[int, list[ref[Any]]] = {}
"""Indexes of which something is known, by the memory of their arrays."""
_equals: WeakKeyDictionary[Any, WeakSet[Any]] = WeakKeyDictionary()


def memory_of(array: Any) -> int:
    """What identifies the memory of an array for as long as there is one in it: all views of an array have the same."""
    base = getattr(array, "base", None)
    while base is not None:
        array, base = base, getattr(base, "base", None)
    return id(array)


def _watch(index: Any) -> None:
    """Before the first thing is known of an index: so that it is forgotten when a kernel writes into it."""
    if hasattr(index, "_ends") or index in _equals:
        return
    key = memory_of(index._data)

    def drop(dead: Any) -> None:
        others = [one for one in known.pop(key, ()) if one is not dead]
        if others:
            known[key] = others

    known.setdefault(key, []).append(ref(index, drop))


def remember_ends(index: Any, first: Any, last: Any) -> tuple[Any, Any]:
    """Keeps the first and the last number of an index, for as long as nothing writes into it."""
    _watch(index)
    index._ends = first, last
    return index._ends


def remember_equal(one: Any, other: Any) -> None:
    """Keeps that two indexes are equal, for as long as nothing writes into either."""
    for index, to in ((one, other), (other, one)):
        _watch(index)
        _equals.setdefault(index, WeakSet()).add(to)


def are_known_equal(one: Any, other: Any) -> bool:
    """Whether two indexes have been found equal."""
    found = _equals.get(one)
    return found is not None and other in found


def forget(array: Any) -> None:
    """Called for every array that a kernel writes: what the host knows of its memory is no longer true."""
    for reference in known.pop(memory_of(array), ()):
        index = reference()
        if index is None:
            continue
        vars(index).pop("_ends", None)
        for other in _equals.pop(index, ()):
            if other in _equals:
                _equals[other].discard(index)
