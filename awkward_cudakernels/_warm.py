"""Everything that the kernels compile, found by calling each of them once per way it can go.

A kernel chooses what it launches by what the host knows: dtypes, sizes and flags. So each
specialization is called with small arrays of its dtypes and with numbers from a few values, while
primitives only record what they would launch. A test compares the result with what the kernels
compile for the cases of the differential tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from primitives import scalar_of
from primitives._run import Build, record

from ._registry import registry
from .signatures import Argument, Specialization, families

ELEMENTS = 256
"""Length of the arrays: with few lists these are long ones, with many short ones."""

NUMBERS = (1, 30, 0, 2)
"""What numbers are: all the same, or one of them another. Sizes are among them."""


@cache
def builds() -> tuple[Build, ...]:
    """What all registered kernels compile, for all specializations; the same in every process."""
    found: dict[Any, Build] = {}
    for name, function in sorted(registry().items()):
        family = families().get(name)
        if family is None:
            continue  # of an older awkward; no backend asks for it
        for specialization in family.specializations:
            for arguments in _calls(specialization):
                with record() as recorded:
                    try:
                        function(*arguments)
                    except ValueError:
                        pass  # these sizes do not go together; what was launched before counts
                for build in recorded:
                    found.setdefault(identity(build), build)
    return tuple(found.values())


def identity(build: Build) -> tuple[Any, ...]:
    """What two builds have in common that compile to the same code: booleans are bytes."""
    variant = tuple((name, _byte(value)) for name, value in build.variant)
    groups = tuple(tuple(_byte(kind) for kind in group) for group in build.groups)
    return build.template, variant, build.ops, groups


def _byte(kind: Any) -> Any:
    return "B" if kind == "?" else kind


def _calls(specialization: Specialization) -> Iterator[list[Any]]:
    """Arguments that reach everything that the kernel can launch, and many that do so again."""
    arguments = specialization.arguments
    numbers = [place for place, argument in enumerate(arguments) if argument.depth == 0]
    for usual in NUMBERS:
        call = [_value(argument, usual) for argument in arguments]
        yield call
        for place in numbers:
            for other in NUMBERS:
                if other != usual:
                    changed = list(call)
                    changed[place] = _value(arguments[place], other)
                    yield changed
        for place in numbers:
            if arguments[place].name == "at":
                # awkward's slices make an index an array without dimensions: see the registry.
                changed = list(call)
                changed[place] = scalar_of(np.asarray(usual))
                yield changed


def _value(argument: Argument, number: int) -> Any:
    dtype = argument.dtype
    if argument.depth == 2:
        return _array(np.dtype(np.intp))  # addresses
    if argument.depth == 1:
        return _array(dtype)
    return bool(number) if dtype == np.bool_ else dtype.type(number).item()


@cache
def _array(dtype: np.dtype[Any]) -> Any:
    return np.zeros(ELEMENTS, dtype)
