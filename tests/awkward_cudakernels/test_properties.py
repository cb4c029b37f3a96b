"""Random layouts through the public functions that use kernels, against awkward's own kernels.

The same examples in every run. ``AWKWARD_CUDAKERNELS_EXAMPLES=500`` tries that many random ones of
each operation instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import awkward as ak
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from layouts import ALL, COMPLEX, FLOATS, INTEGERS, NUMBERS, PLAIN, TIMES, Layouts, arrays
from operations import Undefined, problems

EXAMPLES = os.environ.get("AWKWARD_CUDAKERNELS_EXAMPLES")
SETTINGS = settings(
    max_examples=int(EXAMPLES or 25),
    derandomize=EXAMPLES is None,
    database=None,
    deadline=None,
    print_blob=EXAMPLES is not None,
    suppress_health_check=list(HealthCheck),
)

Draw = Callable[[st.SearchStrategy[Any]], Any]

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


OPERATIONS: dict[str, Callable[[Draw], Case]] = {}


def operation(function: Callable[[Draw], Case]) -> Callable[[Draw], Case]:
    OPERATIONS[function.__name__] = function
    return function


def check(case: Case, backend: str) -> None:
    try:
        found = problems(case, *case.arrays, backend=backend, tolerance=case.tolerance)
    except Undefined:
        reject()
    if found:
        pytest.fail("\n".join([str(case), *found]), pytrace=False)


def plain(draw: Draw, depth: int = 3, **options: Any) -> ak.Array:
    """An array that most operations accept, sometimes one that they may not."""
    if draw(st.integers(0, 4)):
        options = {"classes": PLAIN, **options}
    return draw(arrays(depth, **options))


def lists(draw: Draw, **options: Any) -> ak.Array:
    """An array whose elements are lists."""
    layouts = Layouts(draw, **options)
    name = draw(st.sampled_from(["offsets", "lists", "regular"]))
    return ak.Array(getattr(layouts, name)(draw(st.integers(0, 5)), draw(st.integers(0, 3))))


def axis(draw: Draw, array: ak.Array) -> int:
    """Mostly an axis that the array has."""
    deepest = max(array.layout.minmax_depth)
    beyond = draw(st.integers(0, 19)) == 0
    return draw(st.one_of(st.just(-1), st.integers(-deepest - beyond, deepest - 1 + beyond)))


def flag(draw: Draw) -> bool:
    return draw(st.booleans())


# Slices


def getitem(array: ak.Array, *parts: ak.Array, where: tuple[Any, ...] = ()) -> Any:
    """A slice by constants, and by arrays where these say so: ``"array 0"``, ``"array 1"``, ..."""
    items = tuple(
        parts[int(x[6:])] if isinstance(x, str) and x.startswith("array ") else x for x in where
    )
    return array[items if len(items) != 1 else items[0]]


def bound(draw: Draw) -> int | None:
    return draw(st.one_of(st.none(), st.integers(-4, 6)))


def a_range(draw: Draw) -> slice:
    return slice(bound(draw), bound(draw), draw(st.sampled_from([None, 1, 2, -1, -2, 3])))


@operation
def slice_by_integer(draw: Draw) -> Case:
    return Case(getitem, (draw(arrays()),), {"where": (draw(st.integers(-3, 3)),)})


@operation
def slice_by_range(draw: Draw) -> Case:
    return Case(getitem, (draw(arrays()),), {"where": (a_range(draw),)})


@operation
def slice_lists_by_integer(draw: Draw) -> Case:
    where = (slice(None), draw(st.sampled_from([0, 0, -1, 1, 2, -3])))
    return Case(getitem, (lists(draw),), {"where": where})


@operation
def slice_lists_by_range(draw: Draw) -> Case:
    return Case(getitem, (lists(draw),), {"where": (slice(None), a_range(draw))})


def an_item(draw: Draw) -> Any:
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return draw(st.integers(-2, 2))
    return a_range(draw) if kind < 4 else (None if kind == 4 else Ellipsis)


@operation
def slice_by_tuple(draw: Draw) -> Case:
    where = tuple(an_item(draw) for _ in range(draw(st.integers(1, 4))))
    return Case(getitem, (lists(draw),), {"where": where})


def positions(draw: Draw, size: int, missing: bool = False) -> ak.Array:
    """An array of positions in a list of that size: a few of them may be out of range."""
    high = max(size - 1, 0) + (draw(st.integers(0, 9)) == 0)
    number = st.integers(-size, high)
    values = draw(st.lists(st.one_of(st.none(), number) if missing else number, max_size=5))
    dtype = draw(st.sampled_from(["int64", "int32", "uint8", "int8"]))
    if missing:
        return ak.values_astype(ak.Array(ak.contents.IndexedOptionArray(
            ak.index.Index64([-1 if x is None else i for i, x in enumerate(values)]),
            ak.contents.NumpyArray(np.array([x or 0 for x in values], np.int64)),
        )), "int64")  # fmt: skip
    return ak.Array(np.array([abs(x) for x in values] if dtype == "uint8" else values, dtype))


@operation
def slice_by_array(draw: Draw) -> Case:
    array = draw(arrays())
    return Case(getitem, (array, positions(draw, len(array))), {"where": ("array 0",)})


@operation
def slice_by_array_with_none(draw: Draw) -> Case:
    array = draw(arrays())
    return Case(getitem, (array, positions(draw, len(array), missing=True)), {"where": ("array 0",)})


@operation
def slice_lists_by_array(draw: Draw) -> Case:
    array, missing = lists(draw), flag(draw)
    size = draw(st.integers(1, 3))
    rest = draw(st.sampled_from([(), (0,), (slice(None, 1),)]))
    where = (slice(None), "array 0", *rest)
    return Case(getitem, (array, positions(draw, size, missing)), {"where": where})


@operation
def slice_by_several_arrays(draw: Draw) -> Case:
    array = lists(draw)
    count = draw(st.integers(0, 3))
    rows = draw(st.lists(st.integers(-len(array), max(len(array) - 1, 0)), min_size=count, max_size=count))
    columns = draw(st.lists(st.integers(-1, 1), min_size=count, max_size=count))
    parts = tuple(ak.Array(np.array(x, np.int64)) for x in (rows, columns))
    return Case(getitem, (array, *parts), {"where": ("array 0", "array 1")})


@operation
def slice_by_mask(draw: Draw) -> Case:
    array = draw(arrays())
    mask = draw(st.lists(st.booleans(), min_size=len(array), max_size=len(array)))
    return Case(getitem, (array, ak.Array(np.array(mask, bool))), {"where": ("array 0",)})


def jagged(draw: Draw, array: ak.Array, element: Callable[[int], st.SearchStrategy[Any]]) -> ak.Array:
    """One list for each list of an array: a strategy for its elements, from the list's length."""
    sizes = [len(x) for x in ak.to_list(array)]
    content = [draw(element(size)) for size in sizes]
    offsets = ak.index.Index64(np.cumsum([0, *map(len, content)]))
    flat: list[Any] = [x for part in content for x in part]
    layout = ak.from_iter(flat, highlevel=False) if flat else ak.contents.NumpyArray(np.zeros(0, np.int64))
    return ak.Array(ak.contents.ListOffsetArray(offsets, layout))


@operation
def slice_by_jagged_positions(draw: Draw) -> Case:
    array = lists(draw)
    missing = draw(st.integers(0, 3)) == 0
    far = draw(st.integers(0, 9)) == 0

    def element(size: int) -> st.SearchStrategy[Any]:
        if size == 0 and not far:
            return st.lists(st.none(), max_size=2 if missing else 0)
        number = st.integers(-size, size - 1 + far)
        return st.lists(st.one_of(st.none(), number) if missing else number, max_size=3)

    return Case(getitem, (array, jagged(draw, array, element)), {"where": ("array 0",)})


@operation
def slice_by_jagged_mask(draw: Draw) -> Case:
    array = lists(draw)
    value = st.one_of(st.none(), st.booleans()) if draw(st.integers(0, 3)) == 0 else st.booleans()
    wrong = draw(st.integers(0, 9)) == 0

    def element(size: int) -> st.SearchStrategy[Any]:
        return st.lists(value, min_size=size + wrong, max_size=size + wrong)

    return Case(getitem, (array, ak.values_astype(jagged(draw, array, element), bool)), {"where": ("array 0",)})


@operation
def slice_by_own_positions(draw: Draw) -> Case:
    def by_positions(array: ak.Array, at: int, keep: bool) -> Any:
        where = ak.local_index(array, axis=at)
        return array[where[where % 2 == 0]] if keep else array[where % 2 == 0]

    array = plain(draw)
    return Case(by_positions, (array,), {"at": axis(draw, array), "keep": flag(draw)})


@operation
def slice_by_argmax(draw: Draw) -> Case:
    def largest(array: ak.Array, at: int) -> Any:
        return array[ak.argmax(array, axis=at, keepdims=True)]

    array = plain(draw, dtypes=REAL)
    return Case(largest, (array,), {"at": axis(draw, array)})


@operation
def slice_by_field(draw: Draw) -> Case:
    array = ak.Array(Layouts(draw).record(draw(st.integers(0, 4)), 3))
    where = draw(st.sampled_from(["x", "0", ["x"], ["y", "x"]]))
    return Case(lambda a, where: a[1:][where], (array,), {"where": where})


# Reducers


def reducer(name: str, dtypes: tuple[str, ...], tolerance: float = 0.0) -> None:
    def draw_case(draw: Draw) -> Case:
        array = plain(draw, dtypes=(*dtypes, "int64", "float64"))
        at = None if draw(st.integers(0, 4)) == 0 else axis(draw, array)
        options = {"axis": at, "keepdims": flag(draw), "mask_identity": flag(draw)}
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
def moments(draw: Draw) -> Case:
    function = draw(st.sampled_from([ak.corr, ak.covar, ak.linear_fit]))
    array = plain(draw, dtypes=("int32", "float64"), depth=2)
    return Case(lambda a: function(a, a + 1, axis=-1), (array,), tolerance=1e-6)


@operation
def softmax(draw: Draw) -> Case:
    return Case(ak.softmax, (plain(draw, dtypes=FLOATS),), {"axis": -1}, 1e-6)


# Orders


@operation
def sort(draw: Draw) -> Case:
    array = plain(draw, dtypes=(*REAL, *TIMES))
    options = {"axis": axis(draw, array), "ascending": flag(draw), "stable": flag(draw)}
    return Case(ak.sort, (array,), options)


@operation
def argsort(draw: Draw) -> Case:
    array = plain(draw, dtypes=(*REAL, *TIMES))
    options = {"axis": axis(draw, array), "ascending": flag(draw), "stable": True}
    return Case(ak.argsort, (array,), options)


@operation
def sort_strings(draw: Draw) -> Case:
    array = draw(arrays(classes=("strings", "offsets", "lists", "option", "bytemasked")))
    function = draw(st.sampled_from([ak.sort, ak.argsort]))
    return Case(function, (array,), {"axis": -1, "ascending": flag(draw)})


@operation
def unique(draw: Draw) -> Case:
    def distinct(array: ak.Array, at: int | None) -> Any:
        return ak.Array(ak._do.unique(ak.to_packed(array).layout, axis=at))

    array = plain(draw, dtypes=REAL, classes=(*PLAIN, "strings"))
    return Case(distinct, (array,), {"at": draw(st.sampled_from([-1, -1, None, 0]))})


@operation
def is_unique(draw: Draw) -> Case:
    def distinct(array: ak.Array, at: int | None) -> Any:
        return ak._do.is_unique(ak.to_packed(array).layout, axis=at)

    array = plain(draw, dtypes=REAL, classes=(*PLAIN, "strings"))
    return Case(distinct, (array,), {"at": draw(st.sampled_from([-1, None]))})


@operation
def run_lengths(draw: Draw) -> Case:
    return Case(ak.run_lengths, (plain(draw, depth=2, classes=(*PLAIN, "strings")),))


# Combinations


@operation
def combinations(draw: Draw) -> Case:
    array = draw(arrays(2))
    options = {"n": draw(st.integers(1, 4)), "replacement": flag(draw), "axis": axis(draw, array)}
    function = draw(st.sampled_from([ak.combinations, ak.argcombinations]))
    return Case(function, (array,), options)


@operation
def cartesian(draw: Draw) -> Case:
    function = draw(st.sampled_from([ak.cartesian, ak.argcartesian]))
    options = {"axis": draw(st.sampled_from([1, 1, 0, 2])), "nested": draw(st.sampled_from([None, True, [0]]))}
    first = lists(draw)
    second = first[::-1] if flag(draw) else lists(draw)
    return Case(lambda a, b, **options: function([a, b], **options), (first, second), options)


# Missing values


@operation
def pad_none(draw: Draw) -> Case:
    array = draw(arrays())
    options = {"target": draw(st.integers(0, 5)), "axis": axis(draw, array), "clip": flag(draw)}
    return Case(ak.pad_none, (array,), options)


@operation
def fill_none(draw: Draw) -> Case:
    value = draw(st.sampled_from([0, 1.5, True, "x"]))
    return Case(ak.fill_none, (draw(arrays()),), {"value": value, "axis": draw(st.sampled_from([None, -1, 0, 1]))})


@operation
def drop_none(draw: Draw) -> Case:
    return Case(ak.drop_none, (draw(arrays()),), {"axis": draw(st.sampled_from([None, -1, 0, 1, 2]))})


@operation
def is_none(draw: Draw) -> Case:
    array = draw(arrays())
    return Case(ak.is_none, (array,), {"axis": axis(draw, array)})


@operation
def mask(draw: Draw) -> Case:
    array = draw(arrays())
    keep = draw(st.lists(st.booleans(), min_size=len(array), max_size=len(array)))
    options = {"valid_when": flag(draw)}
    return Case(ak.mask, (array, ak.Array(np.array(keep, bool))), options)


@operation
def firsts_and_singletons(draw: Draw) -> Case:
    function = draw(st.sampled_from([ak.firsts, ak.singletons]))
    return Case(function, (draw(arrays()),), {"axis": draw(st.sampled_from([0, 1, 1, -1]))})


@operation
def nan_to_none(draw: Draw) -> Case:
    return Case(ak.nan_to_none, (plain(draw, dtypes=FLOATS),))


# Structure


@operation
def flatten(draw: Draw) -> Case:
    array = draw(arrays(classes=tuple(x for x in ALL if x != "record" or draw(st.booleans()))))
    return Case(ak.flatten, (array,), {"axis": draw(st.sampled_from([1, 1, None, 0, 2, -1]))})


@operation
def ravel(draw: Draw) -> Case:
    return Case(draw(st.sampled_from([ak.ravel, ak.drop_none, ak.to_packed])), (draw(arrays()),))


@operation
def unflatten(draw: Draw) -> Case:
    array = draw(arrays())
    if flag(draw):
        return Case(ak.unflatten, (array,), {"counts": draw(st.integers(0, 3))})
    counts, left = [], len(array)
    while left > 0:
        counts.append(draw(st.integers(0, left)))
        left -= counts[-1]
    if draw(st.integers(0, 9)) == 0:
        counts.append(1)
    return Case(ak.unflatten, (array, ak.Array(np.array(counts, np.int64))))


@operation
def unflatten_lists(draw: Draw) -> Case:
    def inside(array: ak.Array) -> Any:
        return ak.unflatten(array, ak.flatten(ak.ones_like(ak.local_index(array, axis=1)), axis=1), axis=1)

    return Case(inside, (lists(draw),))


@operation
def concatenate(draw: Draw) -> Case:
    options = {"axis": draw(st.sampled_from([0, 0, 1, 1, 2, -1]))}
    first = draw(arrays(2))
    second = draw(st.one_of(arrays(2), arrays(2, length=len(first))))
    return Case(lambda a, b, **options: ak.concatenate([a, b], **options), (first, second), options)


@operation
def concatenate_lists(draw: Draw) -> Case:
    first = lists(draw)
    layouts = Layouts(draw)
    name = draw(st.sampled_from(["offsets", "lists", "regular", "bytemasked", "option"]))
    second = ak.Array(getattr(layouts, name)(len(first), 2))
    return Case(lambda a, b: ak.concatenate([a, b, a], axis=1), (first, second))


@operation
def num(draw: Draw) -> Case:
    array = draw(arrays())
    return Case(ak.num, (array,), {"axis": axis(draw, array)})


@operation
def local_index(draw: Draw) -> Case:
    array = draw(arrays())
    return Case(ak.local_index, (array,), {"axis": axis(draw, array)})


@operation
def to_regular(draw: Draw) -> Case:
    array = ak.Array(Layouts(draw).regular(draw(st.integers(0, 4)), 3))
    if flag(draw):
        array = ak.from_regular(array, axis=None)
    if draw(st.integers(0, 3)) == 0:
        array = lists(draw)
    return Case(ak.to_regular, (array,), {"axis": draw(st.sampled_from([1, None, 2, -1]))})


@operation
def from_regular(draw: Draw) -> Case:
    array = ak.Array(Layouts(draw).any(draw(st.integers(0, 4)), 3, ("numbers",)))
    return Case(ak.from_regular, (array,), {"axis": draw(st.sampled_from([1, None, 2, -1]))})


@operation
def to_packed(draw: Draw) -> Case:
    return Case(ak.to_packed, (draw(arrays()),))


@operation
def validity(draw: Draw) -> Case:
    def broken(array: ak.Array) -> Any:
        return ak.validity_error(array)

    return Case(broken, (draw(arrays()),))


@operation
def zip_and_unzip(draw: Draw) -> Case:
    def zipped(a: ak.Array, limit: int | None) -> Any:
        return ak.unzip(ak.zip({"x": a, "i": ak.local_index(a, axis=0)}, depth_limit=limit))

    return Case(zipped, (draw(arrays()),), {"limit": draw(st.sampled_from([None, 1, 2]))})


# Two arrays


def pair(draw: Draw, **options: Any) -> tuple[ak.Array, ak.Array]:
    """Arrays that broadcast with each other, or may not."""
    first = plain(draw, **options)
    kind = draw(st.integers(0, 2))
    if kind == 0:
        return first, first[::-1][::-1]
    if kind == 1:
        return first, ak.Array(np.arange(len(first)))
    return first, plain(draw, length=len(first), **options)


@operation
def broadcast_arrays(draw: Draw) -> Case:
    return Case(ak.broadcast_arrays, pair(draw))


@operation
def arithmetic(draw: Draw) -> Case:
    function = draw(st.sampled_from([np.add, np.multiply, np.equal, np.less, np.maximum]))
    arrays = pair(draw, dtypes=(*REAL, *COMPLEX))
    return Case(lambda a, b: function(a, b), arrays)


@operation
def where(draw: Draw) -> Case:
    first, second = pair(draw)
    condition = draw(st.lists(st.booleans(), min_size=len(first), max_size=len(first)))
    return Case(ak.where, (ak.Array(np.array(condition, bool)), first, second))


# Strings


def texts(draw: Draw, **options: Any) -> ak.Array:
    return draw(arrays(classes=("strings", "offsets", "lists", "regular", "option", "indexed"), **options))


@operation
def compare_strings(draw: Draw) -> Case:
    first = texts(draw)
    second = first[::-1] if flag(draw) else texts(draw, length=len(first))
    function = draw(st.sampled_from([np.equal, np.not_equal]))
    return Case(lambda a, b: function(a, b), (first, second))


@operation
def strings_to_numpy(draw: Draw) -> Case:
    array = ak.Array(Layouts(draw).strings(draw(st.integers(0, 5)), 0))

    def converted(array: ak.Array) -> Any:
        return ak.to_numpy(ak.to_backend(array, "cpu"))

    return Case(converted, (array,))


@operation
def to_numpy(draw: Draw) -> Case:
    def converted(array: ak.Array) -> Any:
        return ak.to_numpy(ak.to_backend(array, "cpu"), allow_missing=False)

    return Case(converted, (plain(draw),))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of NaN and overflow
@pytest.mark.parametrize("name", OPERATIONS)
@SETTINGS
@given(data=st.data())
def test_host(name, data):
    check(OPERATIONS[name](data.draw), "cpu")


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", OPERATIONS)
@SETTINGS
@given(data=st.data())
def test_device(name, data):
    check(OPERATIONS[name](data.draw), "cuda")
