"""Random layouts through the public functions that use kernels, against awkward's own kernels.

The same examples in every run. ``AWKWARD_CUDAKERNELS_EXAMPLES=500`` tries that many random ones of
each operation instead.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import awkward as ak
import numpy as np
import pretended_cupy
import pytest
from hypothesis import HealthCheck, given, reject, settings
from layouts import (
    ALL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    NUMBERS,
    PLAIN,
    TIMES,
    Choices,
    Layouts,
    an_array,
    choices,
)
from operations import Undefined, problems, reached

from awkward_cudakernels import environment

EXAMPLES = os.environ.get("AWKWARD_CUDAKERNELS_EXAMPLES")
SETTINGS = settings(
    max_examples=int(EXAMPLES or 50),
    derandomize=EXAMPLES is None,
    database=None,
    deadline=None,
    print_blob=EXAMPLES is not None,
    suppress_health_check=list(HealthCheck),
)

REAL = ("bool", *INTEGERS, *FLOATS)
"""What sorts."""


@dataclass
class Case:
    """A call: ``function(*arrays, **options)``."""

    function: Callable[..., Any]
    arrays: tuple[ak.Array, ...]
    options: dict[str, Any] = field(default_factory=dict)
    tolerance: float = 0.0

    def __call__(self, *arrays: ak.Array) -> Any:
        return self.function(*arrays, **self.options)

    def __str__(self) -> str:
        name = getattr(self.function, "__qualname__", repr(self.function))
        options = "".join(f", {key}={value!r}" for key, value in self.options.items())
        lines = [f"{name}(<{len(self.arrays)} arrays>{options})"]
        return "\n".join([*lines, *(f"{array.to_list()}\n{array.layout!r}" for array in self.arrays)])


OPERATIONS: dict[str, Callable[[Choices], Case]] = {}


def operation(function: Callable[[Choices], Case]) -> Callable[[Choices], Case]:
    OPERATIONS[function.__name__] = function
    return function


def check(case: Case, backend: str) -> None:
    if backend == "cuda" and any("time" in str(array.type) for array in case.arrays):
        reject()  # CuPy has no times
    if backend == "cuda" and case.function in (ak.sort, ak.argsort):
        if any(re.search(r"\{\}|\(\)", str(array.type)) for array in case.arrays):
            reject()  # awkward carries records without fields beyond their length
    try:
        found = problems(case, *case.arrays, backend=backend, tolerance=case.tolerance)
    except Undefined:
        reject()
    if found:
        pytest.fail("\n".join([str(case), *found]), pytrace=False)


def plain(draw: Choices, depth: int = 3, **options: Any) -> ak.Array:
    """An array that most operations accept, sometimes one that they may not."""
    if not draw.rarely(5):
        options = {"classes": PLAIN, **options}
    return an_array(draw, depth, **options)


def lists(draw: Choices, length: int | None = None, **options: Any) -> ak.Array:
    """An array whose elements are lists."""
    size = draw.pick([3, 0, 1, 2, 4, 5]) if length is None else length
    kind = getattr(Layouts(draw, **options), draw.pick(["offsets", "lists", "regular"]))
    return ak.Array(kind(size, draw.integer(0, 3)))


def axis(draw: Choices, array: ak.Array) -> int:
    """Mostly an axis that the array has."""
    deepest = max(array.layout.minmax_depth)
    if draw.flag():
        return -1
    beyond = draw.rarely(20)
    return draw.integer(-deepest - beyond, deepest - 1 + beyond)


def flags(draw: Choices, size: int) -> ak.Array:
    return ak.Array(np.array(draw.integers(size, 0, 1), bool))


# Slices


def getitem(array: ak.Array, *parts: ak.Array, where: tuple[Any, ...] = ()) -> Any:
    """A slice by constants, and by arrays where these say so: ``"array 0"``, ``"array 1"``, ..."""
    items = tuple(parts[int(x[6:])] if isinstance(x, str) and x.startswith("array ") else x for x in where)
    return array[items if len(items) != 1 else items[0]]


def bound(draw: Choices) -> int | None:
    return draw.pick([None, *range(-4, 7)])


def a_range(draw: Choices) -> slice:
    return slice(bound(draw), bound(draw), draw.pick([None, 1, 2, -1, -2, 3]))


@operation
def slice_by_integer(draw: Choices) -> Case:
    return Case(getitem, (an_array(draw),), {"where": (draw.integer(-3, 3),)})


@operation
def slice_by_range(draw: Choices) -> Case:
    return Case(getitem, (an_array(draw),), {"where": (a_range(draw),)})


@operation
def slice_lists_by_integer(draw: Choices) -> Case:
    where = (slice(None), draw.pick([0, 0, -1, 1, 2, -3]))
    return Case(getitem, (lists(draw),), {"where": where})


@operation
def slice_lists_by_range(draw: Choices) -> Case:
    return Case(getitem, (lists(draw),), {"where": (slice(None), a_range(draw))})


def an_item(draw: Choices) -> Any:
    kind = draw.integer(0, 5)
    if kind == 0:
        return draw.integer(-2, 2)
    return a_range(draw) if kind < 4 else (None if kind == 4 else Ellipsis)


@operation
def slice_by_tuple(draw: Choices) -> Case:
    where = tuple(an_item(draw) for _ in range(draw.integer(1, 4)))
    return Case(getitem, (lists(draw),), {"where": where})


def a_number(draw: Choices, size: int, missing: bool, far: bool) -> int | None:
    """A position in a list of that size, or one past its end if `far`; None sometimes if `missing`."""
    if (missing and draw.rarely(3)) or (size == 0 and not far):
        return None
    return draw.integer(-size, size - 1 + far)


def positions(draw: Choices, size: int, missing: bool = False) -> ak.Array:
    """An array of positions in a list of that size; a few of them may be out of range."""
    far = draw.rarely()
    values = [a_number(draw, size, missing, far) for _ in range(draw.integer(0, 5))]
    if not missing:
        values = [x for x in values if x is not None]
        dtype = draw.pick(["int64", "int32", "uint8", "int8"])
        return ak.Array(np.array([abs(x) if dtype == "uint8" else x for x in values], dtype))
    index = ak.index.Index64(np.array([-1 if x is None else i for i, x in enumerate(values)], np.int64))
    content = ak.contents.NumpyArray(np.array([x or 0 for x in values], np.int64))
    return ak.Array(ak.contents.IndexedOptionArray(index, content))


@operation
def slice_by_array(draw: Choices) -> Case:
    array = an_array(draw)
    return Case(getitem, (array, positions(draw, len(array))), {"where": ("array 0",)})


@operation
def slice_by_array_with_none(draw: Choices) -> Case:
    array = an_array(draw)
    return Case(getitem, (array, positions(draw, len(array), missing=True)), {"where": ("array 0",)})


@operation
def slice_lists_by_array(draw: Choices) -> Case:
    array, size, missing = lists(draw), draw.integer(1, 3), draw.rarely(3)
    where = (slice(None), "array 0", *draw.pick([[], [0], [slice(None, 1)]]))
    return Case(getitem, (array, positions(draw, size, missing)), {"where": where})


@operation
def slice_by_array_and_range(draw: Choices) -> Case:
    array = lists(draw)
    where = ("array 0", a_range(draw), *draw.pick([[], [0], [slice(None, 1)]]))
    return Case(getitem, (array, positions(draw, len(array))), {"where": where})


@operation
def slice_by_several_arrays(draw: Choices) -> Case:
    array = lists(draw)
    count = draw.integer(0, 3)
    rows = draw.integers(count, -len(array), max(len(array) - 1, 0))
    columns = draw.integers(count, -1, 1)
    parts = tuple(ak.Array(np.array(x, np.int64)) for x in (rows, columns))
    return Case(getitem, (array, *parts), {"where": ("array 0", "array 1")})


@operation
def slice_by_mask(draw: Choices) -> Case:
    array = an_array(draw)
    return Case(getitem, (array, flags(draw, len(array))), {"where": ("array 0",)})


def jagged(sizes: list[int], elements: Callable[[int], list[Any]]) -> ak.Array:
    """A list for every list of another array, made from the length of that."""
    content = [elements(size) for size in sizes]
    offsets = ak.index.Index64(np.cumsum([0, *map(len, content)]))
    flat = [x for part in content for x in part]
    layout = ak.from_iter(flat, highlevel=False) if flat else ak.contents.NumpyArray(np.zeros(0, np.int64))
    return ak.Array(ak.contents.ListOffsetArray(offsets, layout))


def jagged_positions(draw: Choices, sizes: list[int]) -> ak.Array:
    missing, far = draw.rarely(3), draw.rarely()

    def elements(size: int) -> list[Any]:
        found = [a_number(draw, size, missing, far) for _ in range(draw.integer(0, 3))]
        return found if missing else [x for x in found if x is not None]

    return jagged(sizes, elements)


def lengths(array: ak.Array) -> list[int]:
    return [len(x) for x in ak.to_list(array)]


@operation
def slice_by_jagged_positions(draw: Choices) -> Case:
    array = lists(draw)
    return Case(getitem, (array, jagged_positions(draw, lengths(array))), {"where": ("array 0",)})


@operation
def slice_by_jagged_mask(draw: Choices) -> Case:
    array, missing, wrong = lists(draw), draw.rarely(3), draw.rarely()

    def elements(size: int) -> list[Any]:
        return draw.picks(size + wrong, [True, False, None] if missing else [True, False])

    where = ak.values_astype(jagged(lengths(array), elements), bool)
    return Case(getitem, (array, where), {"where": ("array 0",)})


@operation
def slice_inner_lists_by_jagged_positions(draw: Choices) -> Case:
    layouts, outer, size = Layouts(draw), draw.integer(0, 3), draw.integer(1, 2)
    inner = getattr(layouts, draw.pick(["offsets", "lists", "regular"]))(outer * size, 1)
    array = ak.Array(ak.contents.RegularArray(inner, size, outer))
    if draw.flag():
        array = ak.from_regular(array, axis=1)
    where = jagged_positions(draw, [2] * size)
    return Case(getitem, (array, where), {"where": (slice(None), "array 0")})


@operation
def slice_by_own_positions(draw: Choices) -> Case:
    def by_positions(array: ak.Array, at: int, keep: bool) -> Any:
        where = ak.local_index(array, axis=at)
        return array[where[where % 2 == 0]] if keep else array[where % 2 == 0]

    array = plain(draw)
    return Case(by_positions, (array,), {"at": axis(draw, array), "keep": draw.flag()})


@operation
def slice_by_argmax(draw: Choices) -> Case:
    def largest(array: ak.Array, at: int) -> Any:
        return array[ak.argmax(array, axis=at, keepdims=True)]

    array = plain(draw, dtypes=REAL)
    return Case(largest, (array,), {"at": axis(draw, array)})


@operation
def slice_by_field(draw: Choices) -> Case:
    array = ak.Array(Layouts(draw).record(draw.integer(0, 4), 3))
    where = draw.pick([*array.fields, array.fields, "x"])
    return Case(lambda a, where: a[1:][where], (array,), {"where": where})


# Reducers


def reducer(name: str, dtypes: tuple[str, ...], tolerance: float = 0.0) -> None:
    def draw_case(draw: Choices) -> Case:
        array = plain(draw, dtypes=(*dtypes, "int64", "float64"))
        at = None if draw.rarely(5) else axis(draw, array)
        options = {"axis": at, "keepdims": draw.flag(), "mask_identity": draw.flag()}
        return Case(getattr(ak, name), (array,), options, tolerance)

    draw_case.__name__ = f"reduce_{name}"
    operation(draw_case)


for name in ("count", "count_nonzero", "any", "all"):
    reducer(name, (*NUMBERS, *TIMES))
for name in ("sum", "prod"):
    reducer(name, NUMBERS)
for name in ("min", "max", "argmin", "argmax"):
    reducer(name, (*NUMBERS, *TIMES))
for name in ("mean", "var", "std"):
    reducer(name, NUMBERS, 1e-6)
for name in ("ptp", "nansum", "nanmax", "nanargmin"):
    reducer(name, REAL)


@operation
def moments(draw: Choices) -> Case:
    function = draw.pick([ak.corr, ak.covar, ak.linear_fit])
    array = plain(draw, dtypes=("int32", "float64"), depth=2)
    return Case(lambda a: function(a, a + 1, axis=-1), (array,), tolerance=1e-6)


@operation
def moment(draw: Choices) -> Case:
    array = plain(draw, dtypes=REAL)
    options = {"n": draw.integer(1, 3), "axis": axis(draw, array)}
    return Case(ak.moment, (array,), options, tolerance=1e-6)


@operation
def softmax(draw: Choices) -> Case:
    return Case(ak.softmax, (plain(draw, dtypes=FLOATS),), {"axis": -1}, 1e-6)


# Orders


@operation
def sort(draw: Choices) -> Case:
    array = plain(draw, dtypes=(*REAL, *TIMES))
    options = {"axis": axis(draw, array), "ascending": draw.flag(), "stable": draw.flag()}
    return Case(ak.sort, (array,), options)


@operation
def argsort(draw: Choices) -> Case:
    array = plain(draw, dtypes=(*REAL, *TIMES))
    options = {"axis": axis(draw, array), "ascending": draw.flag(), "stable": True}
    return Case(ak.argsort, (array,), options)


@operation
def sort_strings(draw: Choices) -> Case:
    array = an_array(draw, classes=("strings", "offsets", "lists", "option", "bytemasked"))
    function = draw.pick([ak.sort, ak.argsort])
    return Case(function, (array,), {"axis": -1, "ascending": draw.flag()})


def some_unique(draw: Choices) -> ak.Array:
    """What awkward can find the unique elements of: not strings below lists or missing values."""
    if draw.rarely(4):
        return an_array(draw, classes=("strings",))
    return plain(draw, dtypes=REAL)


@operation
def unique(draw: Choices) -> Case:
    def distinct(array: ak.Array, at: int | None) -> Any:
        return ak.Array(ak._do.unique(ak.to_packed(array).layout, axis=at))

    return Case(distinct, (some_unique(draw),), {"at": draw.pick([-1, -1, None])})


@operation
def is_unique(draw: Choices) -> Case:
    def distinct(array: ak.Array, at: int | None) -> Any:
        return ak._do.is_unique(ak.to_packed(array).layout, axis=at)

    return Case(distinct, (some_unique(draw),), {"at": draw.pick([-1, None])})


@operation
def run_lengths(draw: Choices) -> Case:
    return Case(ak.run_lengths, (plain(draw, depth=2, classes=(*PLAIN, "strings")),))


# Combinations


@operation
def combinations(draw: Choices) -> Case:
    array = an_array(draw, 2)
    options = {"n": draw.integer(1, 4), "replacement": draw.flag(), "axis": axis(draw, array)}
    function = draw.pick([ak.combinations, ak.argcombinations])
    return Case(function, (array,), options)


@operation
def cartesian(draw: Choices) -> Case:
    function = draw.pick([ak.cartesian, ak.argcartesian])
    options = {"axis": draw.pick([1, 1, 0, 2]), "nested": draw.pick([None, True, [0]])}
    first = lists(draw)
    second = first[::-1] if draw.flag() else lists(draw)
    return Case(lambda a, b, **options: function([a, b], **options), (first, second), options)


# Missing values


@operation
def pad_none(draw: Choices) -> Case:
    array = an_array(draw)
    options = {"target": draw.integer(0, 5), "axis": axis(draw, array), "clip": draw.flag()}
    return Case(ak.pad_none, (array,), options)


@operation
def fill_none(draw: Choices) -> Case:
    value = draw.pick([0, 1.5, True, "x"])
    return Case(ak.fill_none, (an_array(draw),), {"value": value, "axis": draw.pick([None, -1, 0, 1])})


@operation
def drop_none(draw: Choices) -> Case:
    return Case(ak.drop_none, (an_array(draw),), {"axis": draw.pick([None, -1, 0, 1, 2])})


@operation
def is_none(draw: Choices) -> Case:
    array = an_array(draw)
    return Case(ak.is_none, (array,), {"axis": axis(draw, array)})


@operation
def mask(draw: Choices) -> Case:
    array = an_array(draw)
    return Case(ak.mask, (array, flags(draw, len(array))), {"valid_when": draw.flag()})


@operation
def project(draw: Choices) -> Case:
    kind = draw.pick(["indexed", "option", "bytemasked", "bitmasked", "unmasked"])
    array = ak.Array(getattr(Layouts(draw), kind)(draw.integer(0, 5), 2))

    def projected(array: ak.Array, mask: ak.Array) -> Any:
        return ak.Array(array.layout.project(ak.index.Index8(mask.layout.data.view(np.int8))))

    return Case(projected, (array, flags(draw, len(array))))


@operation
def firsts_and_singletons(draw: Choices) -> Case:
    function = draw.pick([ak.firsts, ak.singletons])
    return Case(function, (an_array(draw),), {"axis": draw.pick([0, 1, 1, -1])})


@operation
def nan_to_none(draw: Choices) -> Case:
    return Case(ak.nan_to_none, (plain(draw, dtypes=FLOATS),))


# Structure


@operation
def flatten(draw: Choices) -> Case:
    array = an_array(draw, classes=tuple(x for x in ALL if x != "record" or draw.rarely(4)))
    return Case(ak.flatten, (array,), {"axis": draw.pick([1, 1, None, 0, 2, -1])})


@operation
def flatten_union(draw: Choices) -> Case:
    first = lists(draw, classes=("numbers", "offsets"))
    second = lists(draw, classes=("strings",))
    both = ak.concatenate([first, second])
    where = draw.integers(draw.integer(0, 6) if len(both) else 0, 0, len(both) - 1)
    return Case(ak.flatten, (both[where],), {"axis": 1})


@operation
def ravel(draw: Choices) -> Case:
    return Case(ak.ravel, (an_array(draw),))


@operation
def unflatten(draw: Choices) -> Case:
    array = an_array(draw)
    if draw.flag():
        return Case(ak.unflatten, (array,), {"counts": draw.integer(0, 3)})
    ends = sorted(draw.integers(draw.integer(0, 4), 0, len(array)))
    counts = list(np.diff([0, *ends, len(array)]))
    if draw.rarely():
        counts.append(1)
    return Case(ak.unflatten, (array, ak.Array(np.array(counts, np.int64))))


@operation
def unflatten_lists(draw: Choices) -> Case:
    def inside(array: ak.Array) -> Any:
        return ak.unflatten(array, ak.flatten(ak.ones_like(ak.local_index(array, axis=1)), axis=1), axis=1)

    return Case(inside, (lists(draw),))


@operation
def concatenate(draw: Choices) -> Case:
    options = {"axis": draw.pick([0, 0, 1, 1, 2, -1])}
    first = an_array(draw, 2)
    second = an_array(draw, 2, None if draw.flag() else len(first))
    return Case(lambda a, b, **options: ak.concatenate([a, b], **options), (first, second), options)


@operation
def concatenate_lists(draw: Choices) -> Case:
    first = lists(draw)
    layouts = Layouts(draw)
    name = draw.pick(["offsets", "lists", "regular", "bytemasked", "option"])
    second = ak.Array(getattr(layouts, name)(len(first), 2))
    return Case(lambda a, b: ak.concatenate([a, b, a], axis=1), (first, second))


@operation
def num(draw: Choices) -> Case:
    array = an_array(draw)
    return Case(ak.num, (array,), {"axis": axis(draw, array)})


@operation
def local_index(draw: Choices) -> Case:
    array = an_array(draw)
    return Case(ak.local_index, (array,), {"axis": axis(draw, array)})


@operation
def to_regular(draw: Choices) -> Case:
    array = ak.Array(Layouts(draw).regular(draw.integer(0, 4), 3))
    if draw.flag():
        array = ak.from_regular(array, axis=None)
    if draw.rarely(4):
        array = lists(draw)
    return Case(ak.to_regular, (array,), {"axis": draw.pick([1, None, 2, -1])})


@operation
def from_regular(draw: Choices) -> Case:
    array = ak.Array(Layouts(draw).any(draw.integer(0, 4), 3, ("numbers",)))
    return Case(ak.from_regular, (array,), {"axis": draw.pick([1, None, 2, -1])})


@operation
def to_packed(draw: Choices) -> Case:
    return Case(ak.to_packed, (an_array(draw),))


@operation
def validity(draw: Choices) -> Case:
    def broken(array: ak.Array) -> Any:
        return ak.validity_error(array)

    return Case(broken, (an_array(draw),))


@operation
def zip_and_unzip(draw: Choices) -> Case:
    def zipped(a: ak.Array, limit: int | None) -> Any:
        return ak.unzip(ak.zip({"x": a, "i": ak.local_index(a, axis=0)}, depth_limit=limit))

    return Case(zipped, (an_array(draw),), {"limit": draw.pick([None, 1, 2])})


# Two arrays


def pair(draw: Choices, **options: Any) -> tuple[ak.Array, ak.Array]:
    """Arrays that broadcast with each other, or may not."""
    first = plain(draw, **options)
    kind = draw.integer(0, 2)
    if kind == 0:
        return first, first[::-1][::-1]
    if kind == 1:
        return first, ak.Array(np.arange(len(first)))
    return first, plain(draw, length=len(first), **options)


@operation
def broadcast_arrays(draw: Choices) -> Case:
    return Case(ak.broadcast_arrays, pair(draw))


@operation
def arithmetic(draw: Choices) -> Case:
    function = draw.pick([np.add, np.multiply, np.equal, np.less, np.maximum])
    arrays = pair(draw, dtypes=(*REAL, *COMPLEX))
    return Case(lambda a, b: function(a, b), arrays)


@operation
def where(draw: Choices) -> Case:
    first, second = pair(draw)
    return Case(ak.where, (flags(draw, len(first)), first, second))


# Strings


def texts(draw: Choices, **options: Any) -> ak.Array:
    classes = ("strings", "offsets", "lists", "regular", "option", "indexed")
    return an_array(draw, classes=classes, **options)


@operation
def compare_strings(draw: Choices) -> Case:
    first = texts(draw)
    second = first[::-1] if draw.flag() else texts(draw, length=len(first))
    function = draw.pick([np.equal, np.not_equal])
    return Case(lambda a, b: function(a, b), (first, second))


@operation
def strings_to_numpy(draw: Choices) -> Case:
    array = ak.Array(Layouts(draw).strings(draw.integer(0, 5), 0))

    def converted(array: ak.Array) -> Any:
        return ak.to_numpy(ak.to_backend(array, "cpu"))

    return Case(converted, (array,))


@operation
def to_numpy(draw: Choices) -> Case:
    def converted(array: ak.Array) -> Any:
        return ak.to_numpy(ak.to_backend(array, "cpu"), allow_missing=False)

    return Case(converted, (plain(draw),))


@pytest.fixture(scope="module", autouse=True)
def coverage():
    """Prints how many kernels were reached; ``pytest -s`` shows it."""
    yield
    families = {key[0] for key in reached}
    print(f"\nreached on the host: {len(families)} families, {len(reached)} specializations")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of NaN and overflow
@pytest.mark.parametrize("name", OPERATIONS)
@SETTINGS
@given(draw=choices)
def test_host(name, draw):
    check(OPERATIONS[name](draw), "cpu")


@pytest.mark.skipif(environment.why_no_cuda() is None, reason="test_device does the same on the GPU")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", OPERATIONS)
@SETTINGS
@given(draw=choices)
def test_array_layer(name, draw):
    with pretended_cupy.instead():
        check(OPERATIONS[name](draw), "cuda")


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", OPERATIONS)
@SETTINGS
@given(draw=choices)
def test_device(name, draw):
    check(OPERATIONS[name](draw), "cuda")
