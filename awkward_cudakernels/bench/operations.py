"""Whole operations: what a user calls, from the first line of awkward's Python to the last kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import awkward as ak
import numpy as np

from awkward_cudakernels.bench import sides, timing
from awkward_cudakernels.bench.sample import Sample
from awkward_cudakernels.bench.settings import Settings

__all__ = [
    "BY_NAME",
    "OPERATIONS",
    "Operation",
    "check",
    "difference",
    "measure",
    "on_host",
    "prepare",
    "rows",
    "sizes",
]


class Step(NamedTuple):
    """One of the calls that an operation is made of, for awkward computes each before the next.

    Attributes:
        uses: which of the arguments, and after them of the results of the steps before, it takes.
        function: the call.
        reads: as of an `Operation`.
    """

    uses: tuple[int, ...]
    function: Callable[..., Any]
    reads: Callable[[Any], int] | None = None


@dataclass(frozen=True)
class Operation:
    """A function of arrays of a `Sample`.

    Attributes:
        name: the operation as code.
        inputs: the names of its arguments, attributes of `Sample`.
        function: what is timed.
        core: whether it is one of those whose first calls ``cold`` adds up.
        bound: whether a good implementation is bound by bandwidth at many lists.
        reads: bytes that must be read, of the first argument's layout; by default all buffers of the arguments.
        steps: what it is made of, if that is several calls.
    """

    name: str
    inputs: tuple[str, ...]
    function: Callable[..., Any]
    core: bool = False
    bound: bool = False
    reads: Callable[[Any], int] | None = None
    steps: tuple[Step, ...] = ()


def _core(name: str, inputs: str, function: Callable[..., Any], **more: Any) -> Operation:
    return Operation(name, tuple(inputs.split()), function, core=True, **more)


def _more(name: str, inputs: str, function: Callable[..., Any], **more: Any) -> Operation:
    return Operation(name, tuple(inputs.split()), function, **more)


def _nothing(layout: Any) -> int:
    return 0


def _offsets(layout: Any) -> int:
    return int(layout.offsets.data.nbytes)


def _content(layout: Any) -> int:
    return int(layout.content.data.nbytes)


def _contents_of_two(layout: Any) -> int:
    return 2 * _content(layout)


def _mask_and_offsets(layout: Any) -> int:
    return layout.length + _offsets(layout)


SECTOR = 32
"""Bytes that a GPU reads together."""


def _one_of_each(elements: slice) -> Callable[[Any], int]:
    """Offsets, and the sectors of memory that have one element of every list, which is not empty."""

    def reads(layout: Any) -> int:
        data = layout.content.data
        sectors = (layout.offsets.data[elements] - elements.start) * data.itemsize // SECTOR
        return _offsets(layout) + SECTOR * (1 + int((sectors[1:] != sectors[:-1]).sum()))

    return reads


_FIRST, _LAST = slice(0, -1), slice(1, None)


def _packed(lists: Any) -> int:
    """Starts, stops and the elements in between."""
    starts, stops = lists.starts.data, lists.stops.data
    return int(starts.nbytes + stops.nbytes + (stops - starts).sum() * lists.content.data.itemsize)


def _above(a: Any) -> Any:
    return a > 20


_ABOVE = Step((0,), _above, _content)


OPERATIONS = (
    # Slices
    _core("a[:, 0]", "d", lambda a: a[:, 0], bound=True, reads=_one_of_each(_FIRST)),
    _core("a[:, :2]", "a", lambda a: a[:, :2], bound=True),
    _core("a[a > 20]", "a", lambda a: a[a > 20], bound=True, steps=(_ABOVE, Step((0, 1), lambda a, m: a[m]))),
    _core("a[events]", "a selection", lambda a, events: a[events], bound=True, reads=_mask_and_offsets),
    _core("a[argmax]", "a best", lambda a, best: a[best]),
    _more("a[:, -1]", "d", lambda a: a[:, -1], bound=True, reads=_one_of_each(_LAST)),
    _more("a[:, 1:]", "a", lambda a: a[:, 1:], bound=True),
    _more("a[:, ::-1]", "a", lambda a: a[:, ::-1], bound=True),
    _more("a[argsort]", "a order", lambda a, order: a[order]),
    _more(
        "a[ak.num(a) == 2]",
        "a",
        lambda a: a[ak.num(a, axis=1) == 2],
        bound=True,
        steps=(
            Step((0,), lambda a: ak.num(a, axis=1), _offsets),
            Step((1,), lambda n: n == 2),
            Step((0, 2), lambda a, m: a[m], _mask_and_offsets),
        ),
    ),
    _more(
        "records[records.x > 20]",
        "records",
        lambda r: r[r.x > 20],
        bound=True,
        steps=(
            Step((0,), lambda r: r.x, _nothing),
            Step((1,), _above, _content),
            Step((0, 2), lambda r, m: r[m]),
        ),
    ),
    _more("a[ak.max(a) > 20]", "a", lambda a: a[ak.max(a, axis=1) > 20]),
    _more("records.x", "records", lambda r: r.x),
    # Element by element
    _core("a + b", "a b", lambda a, b: a + b, bound=True, reads=_contents_of_two),
    _more("a * 2", "a", lambda a: a * 2, bound=True, reads=_content),
    _more("np.sqrt(a)", "a", lambda a: np.sqrt(a), bound=True, reads=_content),
    _more("a > 20", "a", lambda a: a > 20, bound=True, reads=_content),
    _more("weights * a", "weights a", lambda w, a: w * a, bound=True),
    _more("np.maximum(a, b)", "a b", lambda a, b: np.maximum(a, b), bound=True, reads=_contents_of_two),
    _more(
        "ak.where(a > b, a, b)",
        "a b",
        lambda a, b: ak.where(a > b, a, b),
        bound=True,
        steps=(
            Step((0, 1), lambda a, b: a > b, _contents_of_two),
            Step((0, 1, 2), lambda a, b, m: ak.where(m, a, b), lambda a: _contents_of_two(a) + a.content.length),
        ),
    ),
    _more("ak.ones_like", "a", lambda a: ak.ones_like(a), reads=_nothing),
    _more("ak.values_astype float32", "a", lambda a: ak.values_astype(a, np.float32), bound=True, reads=_content),
    _more("ak.broadcast_arrays", "weights a", lambda w, a: ak.broadcast_arrays(w, a), bound=True),
    # Reducers
    _core("ak.sum axis=1", "a", lambda a: ak.sum(a, axis=1), bound=True),
    _core("ak.max axis=1", "a", lambda a: ak.max(a, axis=1), bound=True),
    _more("ak.min axis=1", "a", lambda a: ak.min(a, axis=1), bound=True),
    _more("ak.prod axis=1", "a", lambda a: ak.prod(a, axis=1), bound=True),
    _more("ak.count axis=1", "a", lambda a: ak.count(a, axis=1), bound=True, reads=_offsets),
    _core(
        "ak.any(a > 20) axis=1",
        "a",
        lambda a: ak.any(a > 20, axis=1),
        bound=True,
        steps=(_ABOVE, Step((1,), lambda m: ak.any(m, axis=1))),
    ),
    _more(
        "ak.all(a > 20) axis=1",
        "a",
        lambda a: ak.all(a > 20, axis=1),
        bound=True,
        steps=(_ABOVE, Step((1,), lambda m: ak.all(m, axis=1))),
    ),
    _core(
        "ak.argmax axis=1 keepdims",
        "a",
        lambda a: ak.argmax(a, axis=1, keepdims=True),
        bound=True,
    ),
    _more("ak.argmin axis=1", "a", lambda a: ak.argmin(a, axis=1), bound=True),
    _core("ak.mean axis=1", "a", lambda a: ak.mean(a, axis=1), bound=True),
    _core("ak.std axis=1", "a", lambda a: ak.std(a, axis=1)),
    _more("ak.var axis=1", "a", lambda a: ak.var(a, axis=1)),
    _core("ak.sum masked axis=1", "masked", lambda m: ak.sum(m, axis=1), bound=True),
    _core("ak.sum axis=0", "a", lambda a: ak.sum(a, axis=0)),
    _core("ak.argmax axis=0", "a", lambda a: ak.argmax(a, axis=0)),
    _core("ak.sum axis=None", "a", lambda a: ak.sum(a, axis=None), bound=True, reads=_content),
    _more("ak.mean axis=None", "a", lambda a: ak.mean(a, axis=None), bound=True, reads=_content),
    # Combining and sorting
    _core("ak.combinations 2", "a", lambda a: ak.combinations(a, 2, axis=1), bound=True),
    _core("ak.cartesian", "a c", lambda a, c: ak.cartesian([a, c], axis=1), bound=True),
    _more(
        "ak.cartesian nested",
        "a c",
        lambda a, c: ak.cartesian([a, c], axis=1, nested=True),
        bound=True,
    ),
    _core("ak.sort", "a", lambda a: ak.sort(a, axis=1)),
    _core("ak.argsort", "a", lambda a: ak.argsort(a, axis=1)),
    _more("ak.sort descending", "a", lambda a: ak.sort(a, axis=1, ascending=False)),
    # Missing values
    _core(
        "ak.fill_none(ak.pad_none 3)",
        "a",
        lambda a: ak.fill_none(ak.pad_none(a, 3, axis=1, clip=True), 0.0, axis=None),
        bound=True,
        steps=(
            Step((0,), lambda a: ak.pad_none(a, 3, axis=1, clip=True), _offsets),
            Step((1,), lambda p: ak.fill_none(p, 0.0, axis=None)),
        ),
    ),
    _core(
        "ak.mask(a, a > 20)",
        "a",
        lambda a: ak.mask(a, a > 20),
        bound=True,
        steps=(_ABOVE, Step((0, 1), lambda a, m: ak.mask(a, m), _nothing)),
    ),
    _core("ak.drop_none masked", "masked", lambda m: ak.drop_none(m, axis=1), bound=True),
    _core("ak.is_none masked", "masked", lambda m: ak.is_none(m, axis=1)),
    _more("ak.fill_none masked", "masked", lambda m: ak.fill_none(m, 0.0, axis=None), bound=True),
    _core("ak.firsts", "a", lambda a: ak.firsts(a, axis=1), bound=True, reads=_offsets),
    _more("ak.singletons", "firsts", lambda f: ak.singletons(f, axis=0), bound=True),
    # Structure
    _core("ak.num", "a", lambda a: ak.num(a, axis=1), bound=True, reads=_offsets),
    _core("ak.flatten", "a", lambda a: ak.flatten(a, axis=1)),
    _core("ak.unflatten", "flat lengths", lambda f, n: ak.unflatten(f, n, axis=0)),
    _core("ak.concatenate axis=1", "a c", lambda a, c: ak.concatenate([a, c], axis=1), bound=True),
    _more("ak.concatenate axis=0", "a c", lambda a, c: ak.concatenate([a, c], axis=0), bound=True),
    _core("ak.zip", "a b", lambda a, b: ak.zip({"x": a, "y": b})),
    _core(
        "ak.local_index", "a", lambda a: ak.local_index(a, axis=1), bound=True, reads=_offsets
    ),
    _more(
        "ak.to_packed a[events]",
        "a selection",
        lambda a, e: ak.to_packed(a[e]),
        bound=True,
        steps=(
            Step((0, 1), lambda a, e: a[e], _mask_and_offsets),
            Step((2,), lambda lists: ak.to_packed(lists), _packed),
        ),
    ),
    _more("ak.run_lengths", "sorted_integers", lambda i: ak.run_lengths(i), bound=True),
    _more("ak.from_regular", "regular", lambda r: ak.from_regular(r, axis=1)),
    _more("ak.to_regular", "threes", lambda t: ak.to_regular(t, axis=1)),
)

BY_NAME = {operation.name: operation for operation in OPERATIONS}


def rows(settings: Settings) -> list[str]:
    """The names of all operations."""
    return [operation.name for operation in OPERATIONS]


def sizes(settings: Settings) -> tuple[int, ...]:
    """The numbers of lists."""
    return settings.lists


def prepare(side: sides.Side, lists: int) -> Sample:
    """The arrays of all operations; each is made when it is needed."""
    return Sample(lists, side.backend)


def _arguments(side: sides.Side, operation: Operation, sample: Sample) -> list[Any]:
    with side.stock():
        return [sample.get(name) for name in operation.inputs]


def check(side: sides.Side, row: str, sample: Sample) -> dict[str, Any]:
    """First call, and whether the result is that of awkward's CPU backend."""
    operation = BY_NAME[row]
    arguments = _arguments(side, operation, sample)
    clock = sides.Clock()
    found = operation.function(*arguments)
    side.finish()
    first = clock.ms()
    result = {"first_ms": first}
    if not side.is_stock_cpu:
        with side.stock():
            host = Sample(sample.lists)
            expected = operation.function(*(host.get(name) for name in operation.inputs))
            problem = difference(on_host(found), expected)
        if problem:
            return {**result, "wrong": problem}
    return result


def measure(side: sides.Side, row: str, sample: Sample, seconds: float) -> dict[str, Any]:
    """Wall time of the operation. Of ours, if bandwidth bounds it, also its time when calls follow one
    another without a wait of the caller's, and the bytes that it must move."""
    operation = BY_NAME[row]
    arguments = _arguments(side, operation, sample)

    def call() -> Any:
        return operation.function(*arguments)

    result = side.wall(call, seconds)
    if operation.bound and side.name == "ours":
        result["queued_ms"] = timing.per_call_us(call, side.wait, side.finish, seconds) / 1e3
        result["bytes"] = must_move(operation, arguments)
    return result


# -- bytes ---------------------------------------------------------------------------------------


def _arrays(value: Any) -> Iterable[ak.Array]:
    if isinstance(value, ak.Array):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _arrays(item)


def _buffers(values: Iterable[ak.Array]) -> dict[int, int]:
    """Address and size of every distinct buffer."""
    found: dict[int, int] = {}
    for value in values:
        for buffer in ak.to_buffers(value)[2].values():
            address = getattr(buffer.data, "ptr", None)
            if address is None:
                address = buffer.__array_interface__["data"][0]
            found[address] = max(found.get(address, 0), buffer.nbytes)
    return found


def must_move(operation: Operation, arguments: list[Any]) -> int:
    """Bytes of the arguments that must be read, and of the result's buffers that are not theirs, of every step."""
    values = list(arguments)
    steps = operation.steps or (Step(tuple(range(len(values))), operation.function, operation.reads),)
    total = 0
    for step in steps:
        used = [values[number] for number in step.uses]
        values.append(step.function(*used))
        inputs = _buffers(_arrays(used))
        total += sum(inputs.values()) if step.reads is None else step.reads(used[0].layout)
        total += sum(
            size
            for address, size in _buffers(_arrays(values[-1])).items()
            if not any(start <= address < start + max(nbytes, 1) for start, nbytes in inputs.items())
        )
    return total


# -- comparing -----------------------------------------------------------------------------------


def on_host(value: Any) -> Any:
    """Arrays and numbers of a result, in host memory."""
    if isinstance(value, ak.Array):
        return ak.to_backend(value, "cpu")
    if isinstance(value, (tuple, list)):
        return [on_host(item) for item in value]
    return value.get() if hasattr(value, "get") else value


def difference(found: Any, expected: Any) -> str | None:
    """What is different, in a clause; None if nothing is. Numbers may differ by rounding."""
    if isinstance(expected, (tuple, list)):
        if len(found) != len(expected):
            return f"{len(found)} results instead of {len(expected)}"
        pairs = (difference(f, e) for f, e in zip(found, expected, strict=True))
        return next((problem for problem in pairs if problem), None)
    if isinstance(expected, ak.Array):
        if str(found.type) != str(expected.type):
            return f"type {found.type} instead of {expected.type}"
        found, expected = found.to_list(), expected.to_list()
    place = _first_difference(found, expected, ())
    return None if place is None else f"differs {place}"


def _first_difference(found: Any, expected: Any, at: tuple[Any, ...]) -> str | None:
    where = "at " + "".join(f"[{step!r}]" for step in at) if at else "in its value"
    if isinstance(expected, (list, tuple)):
        if not isinstance(found, (list, tuple)) or len(found) != len(expected):
            return f"{where}: another length"
        for i, (f, e) in enumerate(zip(found, expected, strict=True)):
            if f != e:
                problem = _first_difference(f, e, (*at, i))
                if problem is not None:
                    return problem
        return None
    if isinstance(expected, dict):
        if not isinstance(found, dict) or list(found) != list(expected):
            return f"{where}: other fields"
        parts = (_first_difference(found[key], expected[key], (*at, key)) for key in expected)
        return next((problem for problem in parts if problem), None)
    if found is None or expected is None or isinstance(expected, (str, bytes)):
        return None if found == expected else f"{where}: {found} instead of {expected}"
    close = bool(np.isclose(found, expected, rtol=1e-9, atol=1e-12, equal_nan=True))
    return None if close else f"{where}: {found} instead of {expected}"
