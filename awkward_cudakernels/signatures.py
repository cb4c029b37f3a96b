"""The signature table: every kernel of awkward's specification, as data.

The table is ``kernels.json`` beside this module: 144 families and 494 specializations, as of awkward 2.14.0
(awkward-cpp 57). It is read on first use and kept.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "Argument",
    "Family",
    "Specialization",
    "compare_with_installed",
    "families",
    "specializations",
    "unlike_installed",
]

#: A kernel's name in awkward: the family, then the NumPy scalar type of each array argument.
Key = tuple[Any, ...]

_TYPE = re.compile(r"^(?:Const\[)?(?:List\[)*(\w+?)\]*$")

_DTYPES = {
    "bool": np.dtype(np.bool_),
    "int8_t": np.dtype(np.int8),
    "uint8_t": np.dtype(np.uint8),
    "int16_t": np.dtype(np.int16),
    "uint16_t": np.dtype(np.uint16),
    "int32_t": np.dtype(np.int32),
    "uint32_t": np.dtype(np.uint32),
    "int64_t": np.dtype(np.int64),
    "uint64_t": np.dtype(np.uint64),
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
}


@dataclass(frozen=True)
class Argument:
    """One argument of a kernel.

    ``type`` is spelled as in awkward's specification (``"Const[List[int64_t]]"``), ``direction`` is ``"in"`` or
    ``"out"`` (a few ``"out"`` arrays are also read: see the kernels), ``role`` says what the specification's own
    tests feed it, or is None.
    """

    name: str
    type: str
    direction: str
    role: str | None

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the scalar, or of the innermost elements of the array."""
        match = _TYPE.match(self.type)
        if match is None:
            raise ValueError(f"not a type of the kernel specification: {self.type!r}")
        return _DTYPES[match.group(1)]

    @property
    def depth(self) -> int:
        """0 for a scalar, 1 for an array, 2 for an array of pointers to arrays."""
        return self.type.count("List[")


@dataclass(frozen=True)
class Specialization:
    """One compiled kernel: a family with its dtypes."""

    name: str
    family: str
    arguments: tuple[Argument, ...]

    @functools.cached_property
    def key(self) -> Key:
        """What awkward's backends look the kernel up by: the family, then each array argument's scalar type."""
        return (self.family, *(x.dtype.type for x in self.arguments if x.depth))

    def __str__(self) -> str:
        return f"{self.family}[{'-'.join(np.dtype(x).name for x in self.key[1:])}]"


@dataclass(frozen=True)
class Family:
    """Kernels that differ only in dtypes.

    ``errors`` are the messages that its compiled CPU kernels can report, ``history`` says how awkward 2.14 runs it
    on CUDA.
    """

    name: str
    errors: tuple[str, ...]
    history: str
    specializations: tuple[Specialization, ...]


@functools.cache
def _argument(name: str, type: str, direction: str, role: str | None) -> Argument:
    return Argument(name, type, direction, role)


@functools.cache
def families() -> dict[str, Family]:
    """Every family, by name."""
    table = json.loads(Path(__file__).with_name("kernels.json").read_text(encoding="utf-8"))
    return {
        name: Family(
            name,
            tuple(family["errors"]),
            family["history"],
            tuple(
                Specialization(
                    specialization,
                    name,
                    tuple(
                        _argument(argument, type, direction, role)
                        for (argument, direction, role), type in zip(family["arguments"], types)
                    ),
                )
                for specialization, types in family["specializations"].items()
            ),
        )
        for name, family in table["families"].items()
    }


@functools.cache
def specializations() -> dict[Key, Specialization]:
    """Every specialization, by the key that awkward's backends use."""
    return {x.key: x for family in families().values() for x in family.specializations}


def compare_with_installed() -> list[str]:
    """Compare the table with the installed awkward-cpp's own.

    Returns one line for each difference: a kernel that only one of them has, a different symbol, a different
    number, type or direction of arguments. Empty for awkward 2.14.0 with awkward-cpp 57.
    """
    import awkward_cpp.cpu_kernels

    return _differences(specializations(), awkward_cpp.cpu_kernels.kernel)


@functools.cache
def unlike_installed() -> dict[Key, list[str]]:
    """The installed awkward's kernels that the table lacks, or has with another signature.

    Returns, for each key, the lines that say what is different. The kernels here are not called by these keys.
    """
    import awkward_cpp.cpu_kernels

    return _unlike(specializations(), awkward_cpp.cpu_kernels.kernel)


def _differences(ours: dict[Key, Specialization], installed: dict[Key, Any]) -> list[str]:
    lines = [f"{_show(key)}: not in the installed awkward" for key in ours if key not in installed]
    for found in _unlike(ours, installed).values():
        lines += found
    return sorted(lines)


def _unlike(ours: dict[Key, Specialization], installed: dict[Key, Any]) -> dict[Key, list[str]]:
    found = {key: list(_unlike_one(ours.get(key), key, installed[key])) for key in installed}
    return {key: lines for key, lines in found.items() if lines}


def _unlike_one(specialization: Specialization | None, key: Key, function: Any) -> Iterator[str]:
    if specialization is None:
        yield f"{_show(key)}: not in kernels.json"
        return
    arguments = specialization.arguments
    if function.__name__ != specialization.name:
        yield f"{_show(key)}: symbol {function.__name__} is {specialization.name} in kernels.json"
    if len(function.argtypes) != len(arguments):
        yield f"{_show(key)}: {len(function.argtypes)} arguments, {len(arguments)} in kernels.json"
        return
    for argument, ctype, direction in zip(arguments, function.argtypes, function.dir):
        theirs, mine = _describe(ctype), _described(argument.type)
        if theirs != mine:
            yield f"{_show(key)}: argument {argument.name} is {theirs}, {mine} in kernels.json"
        if direction != argument.direction:
            yield (
                f"{_show(key)}: argument {argument.name} is {direction!r}, {argument.direction!r} in kernels.json"
            )


# Both are cached, for there are few types, and `register` compares the two tables in every process.


@functools.cache
def _describe(ctype: Any) -> str:
    stars = ""
    while hasattr(ctype, "contents"):
        ctype, stars = ctype._type_, stars + "*"
    return stars + str(np.dtype(ctype).name)


@functools.cache
def _described(type: str) -> str:
    argument = Argument("", type, "", None)
    return "*" * argument.depth + str(argument.dtype.name)


def _show(key: Key) -> str:
    return f"{key[0]}[{'-'.join(np.dtype(x).name for x in key[1:])}]"
