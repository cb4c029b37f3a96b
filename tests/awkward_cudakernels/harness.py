"""The differential harness: every specialization of ``kernels.json`` against awkward's compiled CPU kernel.

A *case* is one call: values for the inputs, sizes for the outputs. Everything else is derived by running the compiled
CPU kernel (the *oracle*) on it twice, with two different poisons in the outputs and around every array:

- an output element that keeps both poisons is not written by the oracle: it is not compared, or, in the families whose
  outputs are filled by several calls, must be left alone;
- an output element that differs otherwise depends on memory outside the arrays: the case is illegal (``IllegalCase``);
- a changed guard zone means that the oracle itself leaves its buffers: the case is illegal.

The code under test then gets fresh arguments, and must leave every guard zone and every input alone.
"""

from __future__ import annotations

import ctypes
import functools
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from awkward_cudakernels.signatures import Argument, Specialization

#: Fill bytes: two for the oracle's two runs. As elements: no valid offset, no bool, a NaN-free float.
POISONS = (0xA5, 0x5A)

#: Elements before and after every array that nobody may touch. The odd number before misaligns every other case.
GUARD = 64

#: What awkward's error struct says for "no element" and "no attempt".
NONE = 2**63 - 1

SEED = 20260


class IllegalCase(AssertionError):
    """The oracle reads or writes outside the arrays of a case: a defect of the generator, not of a kernel."""


# What a generator gives for an argument, besides plain scalars and NumPy arrays


@dataclass(frozen=True)
class Out:
    """An output of ``size`` elements. With ``compare`` false only its guard zones are looked at (workspaces)."""

    size: int
    compare: bool = True


@dataclass(frozen=True)
class InOut:
    """An output that the kernel also reads: its content before the call."""

    content: np.ndarray


@dataclass(frozen=True)
class Pointers:
    """An input of pointers to arrays. ``ctypes`` says that awkward's NumPy backend passes it as a ctypes pointer."""

    arrays: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class OutPointers:
    """An array of pointers to outputs of the given sizes."""

    sizes: tuple[int, ...]


@dataclass
class Block:
    """One allocation: guard, data, guard."""

    argument: Argument
    label: str
    whole: Any
    front: int
    size: int
    fill: int
    original: np.ndarray | None  # for inputs and in-out arrays
    kind: str  # "in", "out", "inout", "scratch"

    @property
    def view(self) -> Any:
        return self.whole[self.front : self.front + self.size]

    def download(self) -> np.ndarray:
        return self.whole if isinstance(self.whole, np.ndarray) else self.whole.get()

    def guards_intact(self, whole: np.ndarray) -> bool:
        raw = whole.view(np.uint8)
        start, stop = self.front * whole.itemsize, (self.front + self.size) * whole.itemsize
        return bool((raw[:start] == self.fill).all() and (raw[stop:] == self.fill).all())


class Arguments(list):
    """The positional arguments of one call, and the blocks behind them."""

    blocks: list[Block]


@dataclass(frozen=True)
class Outcome:
    """What one call did: an error, or the outputs by label; the written elements where the oracle says so."""

    error: tuple[str, int | None, int | None] | None
    outputs: dict[str, np.ndarray]
    written: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Rules:
    """How the outputs of a family are compared, where bitwise is more than the oracle defines.

    ``bounds``: for a floating output, the largest allowed absolute difference of each element, from the case's values
    and the output's dtype.
    ``relevant``: for an output, how many of its leading elements mean anything, from the oracle's outputs.
    ``keeps``: elements that the oracle does not write must be left alone: other calls fill them.
    ``check``: replaces the comparison altogether: (values by name, expected outputs, actual outputs) to problems; None
    for "compare as usual".
    """

    bounds: dict[str, Callable[[dict[str, Any], np.dtype], np.ndarray]] = field(default_factory=dict)
    relevant: dict[str, Callable[[dict[str, np.ndarray]], int]] = field(default_factory=dict)
    keeps: bool = False
    check: (
        Callable[[dict[str, Any], dict[str, np.ndarray], dict[str, np.ndarray]], list[str] | None] | None
    ) = None


@dataclass(frozen=True, eq=False)
class Case:
    specialization: Specialization
    name: str
    values: dict[str, Any]
    number: int
    rules: Rules

    def make(self, poison: int = POISONS[0], executor: str = "host") -> Arguments:
        """Fresh arguments: NumPy arrays on the host, CuPy arrays on the device."""
        arguments = Arguments()
        arguments.blocks = []

        def block(argument: Argument, label: str, content: np.ndarray | int, kind: str) -> Any:
            size = content if isinstance(content, int) else len(content)
            front = GUARD + self.number % 2
            dtype = argument.dtype
            whole = np.full((front + size + GUARD) * dtype.itemsize, poison, np.uint8).view(dtype)
            if not isinstance(content, int):
                whole[front : front + size] = content
            if executor == "device":
                import cupy

                whole = cupy.asarray(whole)
            original = None if isinstance(content, int) else content
            arguments.blocks.append(Block(argument, label, whole, front, size, poison, original, kind))
            return arguments.blocks[-1].view

        def pointers(views: list[Any], as_ctypes: bool) -> Any:
            if executor == "device":
                import cupy

                return cupy.asarray(np.array([x.data.ptr for x in views], np.intp))
            addresses = np.array([x.ctypes.data for x in views], np.intp)
            if as_ctypes:
                return addresses.ctypes.data_as(ctypes.POINTER(ctypes.POINTER(ctypes.c_int64)))
            return addresses

        for argument in self.specialization.arguments:
            value, name = self.values[argument.name], argument.name
            if isinstance(value, Out):
                kind = "out" if value.compare else "scratch"
                arguments.append(block(argument, name, int(value.size), kind))
            elif isinstance(value, InOut):
                arguments.append(block(argument, name, value.content, "inout"))
            elif isinstance(value, OutPointers):
                views = [
                    block(argument, f"{name}[{i}]", int(size), "out") for i, size in enumerate(value.sizes)
                ]
                arguments.append(pointers(views, False))
            elif isinstance(value, Pointers):
                views = [block(argument, f"{name}[{i}]", x, "in") for i, x in enumerate(value.arrays)]
                arguments.append(pointers(views, True))
            elif isinstance(value, np.ndarray):
                arguments.append(block(argument, name, value, "in"))
            else:
                arguments.append(value)
        return arguments

    @functools.cached_property
    def expected(self) -> Outcome:
        """What the oracle does."""
        runs = []
        for poison in POISONS:
            arguments = self.make(poison)
            result = oracle(self.specialization.key, "host")(*arguments)
            problems = _untouched(arguments)
            if problems:
                raise IllegalCase(f"{self}: the oracle itself: {'; '.join(problems)}")
            runs.append((_host_error(result), _outputs(arguments)))
        (error, first), (error2, second) = runs
        if error != error2:
            raise IllegalCase(f"{self}: the oracle's error depends on memory outside the arrays")
        if error is not None:
            return Outcome(error, {})
        written = {}
        for label, a in first.items():
            b = second[label]
            same = (_rows(a) == _rows(b)).all(axis=1)
            poisoned = (_rows(a) == POISONS[0]).all(axis=1) & (_rows(b) == POISONS[1]).all(axis=1)
            if not (same | poisoned).all():
                where = np.flatnonzero(~(same | poisoned))[0]
                raise IllegalCase(f"{self}: {label}[{where}] depends on memory outside the arrays")
            written[label] = same
        for label, relevant in self.rules.relevant.items():
            written[label] = written[label] & (np.arange(len(written[label])) < relevant(first))
        return Outcome(None, first, written)

    def __str__(self) -> str:
        return f"{self.specialization} {self.name}"

    __repr__ = __str__


def oracle(key: Any, executor: str) -> Callable[..., Any]:
    """awkward's compiled CPU kernel, whatever backend is registered."""
    import awkward_cpp.cpu_kernels
    from awkward._kernels import NumpyKernel

    return NumpyKernel(awkward_cpp.cpu_kernels.kernel[key], key)


def kernel_for(key: Any, executor: str) -> Callable[..., Any]:
    """The code under test."""
    import awkward_cudakernels

    return awkward_cudakernels.kernel_for(key, executor)


def implemented() -> frozenset[str]:
    """The families that have a kernel in the registry."""
    import awkward_cudakernels

    return frozenset(awkward_cudakernels.registry())


@functools.lru_cache(maxsize=4)
def cases(specialization: Specialization, seed: int = SEED) -> list[Case]:
    """Every case of a specialization. The same for the same seed, in every process."""
    import generators

    if specialization.family not in generators.GENERATORS:
        return []
    generate, rules = generators.GENERATORS[specialization.family]
    rng = np.random.default_rng([seed, zlib.crc32(str(specialization).encode())])
    names = [x.name for x in specialization.arguments]
    out = []
    for number, (name, values) in enumerate(generate(generators.Context(specialization, rng))):
        assert set(values) == set(names), f"{specialization} {name}: {set(values) ^ set(names)}"
        out.append(Case(specialization, name, values, number, rules))
    assert len({x.name for x in out}) == len(out), f"{specialization}: two cases of one name"
    return out


def problems(
    case: Case,
    executor: str = "host",
    implementation: Callable[[Any, str], Callable[..., Any]] = kernel_for,
) -> list[str]:
    """Run the implementation on a case. One line for each difference from the oracle; empty if equal."""
    expected = case.expected
    arguments = case.make(POISONS[case.number % 2], executor)
    try:
        kernel = implementation(case.specialization.key, executor)
        if executor == "device":
            error = _device_error(kernel, arguments, case.specialization)
        else:
            error = _host_error(kernel(*arguments))
    except Exception as exception:
        raise AssertionError(f"{case}: the kernel raised {exception!r}") from exception
    lines = _untouched(arguments)
    lines += _compare_errors(expected.error, error, executor)
    if expected.error is None and error is None:
        actual = _outputs(arguments)
        lines += _compare_outputs(case, expected, actual)
    return [f"{case}: {x}" for x in lines]


def all_problems(
    specialization: Specialization,
    executor: str = "host",
    implementation: Callable[[Any, str], Callable[..., Any]] = kernel_for,
    seed: int = SEED,
) -> Iterator[str]:
    for case in cases(specialization, seed):
        yield from problems(case, executor, implementation)


def _rows(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(np.uint8).reshape(len(array), array.itemsize)


def _host_error(result: Any) -> tuple[str, int | None, int | None] | None:
    if result is None or result.str is None:
        return None

    def number(x: int | None) -> int | None:
        return None if x is None or x == NONE else int(x)

    return result.str.decode(), number(result.id), number(result.attempt)


def _device_error(
    kernel: Callable[..., Any], arguments: Arguments, specialization: Specialization
) -> tuple[str, int | None, int | None] | None:
    import errorflag

    result = kernel(*arguments)
    assert result is None, f"a kernel on the device returns None, not {result!r}"
    try:
        errorflag.synchronize()
    except ValueError as error:
        if not hasattr(error, "message"):
            raise
        assert error.kernel == specialization.family, error.kernel
        return error.message, error.index, None
    return None


def _untouched(arguments: Arguments) -> list[str]:
    lines = []
    for block in arguments.blocks:
        whole = block.download()
        if not block.guards_intact(whole):
            lines.append(f"{block.label}: memory outside the array was written")
        if block.kind == "in":
            content = whole[block.front : block.front + block.size]
            if not np.array_equal(_rows(content), _rows(np.asarray(block.original, content.dtype))):
                lines.append(f"{block.label}: an input was changed")
    return lines


def _outputs(arguments: Arguments) -> dict[str, np.ndarray]:
    return {
        x.label: x.download()[x.front : x.front + x.size].copy()
        for x in arguments.blocks
        if x.kind in ("out", "inout")
    }


def _compare_errors(expected: Any, actual: Any, executor: str) -> list[str]:
    if expected is None or actual is None:
        if expected is not actual:
            return [f"expected {_show(expected)}, got {_show(actual)}"]
        return []
    message, index, attempt = expected
    equal = message == actual[0] and (index is None or index == actual[1])
    if executor == "host":
        equal = equal and attempt == actual[2]
    return [] if equal else [f"expected {_show(expected)}, got {_show(actual)}"]


def _show(error: Any) -> str:
    return "no error" if error is None else f"error {error[0]!r} at {error[1]} (attempt {error[2]})"


def _compare_outputs(case: Case, expected: Outcome, actual: dict[str, np.ndarray]) -> list[str]:
    if case.rules.check is not None:
        lines = case.rules.check(case.values, expected.outputs, actual)
        if lines is not None:
            return lines
    lines = []
    poison = POISONS[case.number % 2]
    for label, right in expected.outputs.items():
        left, written = actual[label], expected.written[label]
        name = label.partition("[")[0]
        if name in case.rules.bounds and right.dtype.kind == "f":
            bad = written & ~_within(left, right, case.rules.bounds[name](case.values, right.dtype))
        else:
            bad = written & ~_equal(left, right)
        if bad.any():
            where = np.flatnonzero(bad)
            i = where[0]
            lines.append(
                f"{label}[{i}] is {left[i]!r}, not {right[i]!r} ({len(where)} of {len(right)} differ)"
            )
        if case.rules.keeps:
            changed = ~written & (_rows(left) != poison).any(axis=1)
            if changed.any():
                lines.append(f"{label}[{np.flatnonzero(changed)[0]}] is not this call's to write")
    return lines


def _equal(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    same = (_rows(left) == _rows(right)).all(axis=1)
    if left.dtype.kind == "f":
        same |= np.isnan(left) & np.isnan(right)
    return same


def _within(left: np.ndarray, right: np.ndarray, bound: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.abs(left.astype(np.float64) - right.astype(np.float64))
        close = np.isfinite(right) & np.isfinite(left) & (difference <= bound)
    return close | _equal(left, right) | (np.isnan(left) & np.isnan(right)) | (left == right)
