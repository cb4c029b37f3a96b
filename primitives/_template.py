"""A primitive's kernel template: the loop around the ops, once for the host and once for the device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

MANY = 1 << 23
"""From so many indexes or segments on, a thread takes four: a GPU takes longer to start a block than small ops do for
256 of them. With fewer, the last blocks would be too few to fill it."""
SHARING_BLOCKS = 1056
"""Blocks that share a range, or pieces of unknown number: eight for every multiprocessor of a large GPU."""

TOGETHER = -1
"""The grid of a kernel whose blocks wait for each other: as many as the device runs at once."""


@dataclass(frozen=True)
class Slot:
    """A place for an op in a template.

    Args:
        leading: the types of the parameters before the caller's arguments: ``"int64"``, ``"T"``
            or ``"T*"`` for a pointer to the template's element type.
        element: the position of the leading parameter that an error of the op names.
    """

    leading: tuple[str, ...]
    element: int


@dataclass(frozen=True, eq=False)
class Template:
    """The loop of a primitive.

    Args:
        name: also the name of its device file, ``device/<name>.cuh``.
        slots: the ops that it calls, ``op0``, ``op1``, ...
        parameters: ``(name, type)`` of what it takes besides word, base and the ops' arguments:
            ``int64``, ``uint64``, or a pointer such as ``OFFSET*``, where upper-case names are
            element types given by the variant.
        host: the body of the host loop. It can use the parameters, and ``ARGS0``, ``ARGS1``, ...
            for what follows an op's leading arguments.
        kernels: the names of its device kernels, which take the same parameters; a grid of one number is
            the first one's, those of size 0 are not launched, and one whose blocks wait for each other is
            `TOGETHER`. Parameters named
            ``state, capacity`` are device memory that is zero before and after every launch.
        restrict: whether what an op reads of an array is not what it writes to another: its loads can then
            pass its stores for other indexes.
        state_bytes: bytes of state per unit of capacity, for a variant; the layout is in the device file.
    """

    name: str
    slots: tuple[Slot, ...]
    parameters: tuple[tuple[str, str], ...]
    host: str
    kernels: tuple[str, ...] = ("kernel",)
    restrict: bool = False
    state_bytes: Callable[[Mapping[str, Any]], int] | None = None

    @cached_property
    def device(self) -> str:
        """The text of the device file."""
        path = Path(__file__).parent / "device" / f"{self.name}.cuh"
        return path.read_text(encoding="utf-8")

    @cached_property
    def state_position(self) -> int:
        """Where among the parameters the state is; its capacity follows. -1 if there is none."""
        names = [name for name, _ in self.parameters]
        return names.index("state") if "state" in names else -1
