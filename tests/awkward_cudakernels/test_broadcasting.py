"""Functions of lists and a number for each list on CUDA: what awkward gives, without repeating the numbers first."""

from __future__ import annotations

import awkward as ak
import numpy as np
import operations
import pytest
from operations import assert_same
from test_at_once import assert_at_once
from test_options import KINDS, content, indexed, lists, masked, numbers

from awkward_cudakernels.arraylayer import broadcasting, elementwise

pytestmark = [
    pytest.mark.usefixtures("cupy"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]

Index = ak.index.Index
OFFSETS = [0, 3, 3, 8, 10]
COMPLEX = "CuPy's quotients of complex numbers have other last digits than NumPy's"
OF_LISTS = {name: function.chars for name, function in elementwise.FUNCTIONS.items() if function.ops_of_lists}


def both_ways(function, per_list, array, number=None):
    assert_same(function, per_list, array, number=number)
    assert_same(function, array, per_list, number=number)


def per_list(char, n=4):
    """Numbers in another order than those in the lists."""
    return content(numbers(char, n)[::-1].copy())


# Functions and types


@pytest.mark.parametrize("char", KINDS)
@pytest.mark.parametrize("name", OF_LISTS)
def test_functions_take_one_launch(name, char):
    if name == "divide" and char in "FD":
        pytest.skip(COMPLEX)
    function = getattr(np, name)
    number = 1 if char in OF_LISTS[name] else None
    both_ways(function, per_list(char), lists(content(numbers(char)), OFFSETS), number=number)


@pytest.mark.parametrize("name", ["maximum", "fmin", "copysign", "logical_xor", "left_shift"])
@pytest.mark.parametrize("char", "?Bld")
def test_functions_that_are_left_to_cupy(name, char):
    both_ways(getattr(np, name), content(numbers(char, 7)[3:]), lists(content(numbers(char, 13)[3:]), OFFSETS))


@pytest.mark.parametrize("write", ["origin", "compact", "memory"])
def test_offsets_that_are_written_later_are_compared(cupy, write):
    """Lists that start later are broadcast with offsets made of theirs, which need not be compared then, but later."""
    layout = lists(content(np.arange(6)), [1, 3, 3, 5])
    origin = ak.to_backend(ak.Array(layout), "cuda").layout
    compact = (ak.Array(origin) + 0).layout  # with the offsets that were made
    assert (ak.Array(compact) + ak.Array(origin)).to_list() == [[2, 4], [], [6, 8]]
    target = origin if write == "origin" else compact
    where = target.offsets.data if write == "memory" else target.offsets
    where[1] = 2 if write == "origin" else 1
    with pytest.raises(ValueError, match="cannot broadcast nested list"):
        ak.Array(compact) + ak.Array(origin)


def test_functions_of_two_results():
    both_ways(np.divmod, content([3, 1, 2, 4]), lists(content(np.arange(10)), OFFSETS))


@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
def test_types_that_differ(first, second):
    numbers_of_lists, array = per_list(first), lists(content(numbers(second)), OFFSETS)
    for function in (np.add, np.greater, np.less_equal, np.equal, np.logical_and):
        both_ways(function, numbers_of_lists, array)
    if not {first, second} & {"F", "D"}:  # COMPLEX
        both_ways(np.true_divide, numbers_of_lists, array)


@pytest.mark.parametrize("name", elementwise.MIXED)
def test_integers_of_both_signs_take_one_launch(name):
    large = np.array([2**63 - 1, 0, 5, 2**53 + 1, 7, 2**62, 1, 2, 3, 4])
    signed, unsigned = large * np.resize([1, -1], 10), large.astype(np.uint64) + np.uint64(2**62)
    for one, other in ((signed, unsigned), (unsigned, signed)):
        both_ways(getattr(np, name), content(one[:4]), lists(content(other), OFFSETS), number=1)


@pytest.mark.parametrize("char", "?bBhHiIlf")
def test_numbers_of_lists_are_cast_before_they_are_repeated(char):
    """Of which there are fewer."""
    both_ways(np.multiply, per_list(char), lists(content(numbers("d")), OFFSETS), number=2)
    if char in "?bBhHi":
        both_ways(np.less, per_list(char), lists(content(numbers("l")), OFFSETS), number=2)


def test_numbers_in_lists_that_are_cast_are_left_to_cupy():
    for char in "?bil":
        both_ways(np.multiply, per_list("d"), lists(content(numbers(char)), OFFSETS))


def test_halves_are_left_to_cupy():
    both_ways(np.add, per_list("d"), lists(content(numbers("d").astype("e")), OFFSETS))
    both_ways(np.add, content(numbers("d", 4).astype("e")), lists(content(numbers("d")), OFFSETS))


# Lists


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint32"])
@pytest.mark.parametrize(
    "offsets",
    [OFFSETS, [0, 0, 0, 4, 10], [0, 2, 10, 10, 10], [0, 0, 0, 0, 0], [0, 1, 2, 3, 4], [2, 3, 3, 7, 9], [10] * 5],
    ids=str,
)  # fmt: skip
def test_offsets(offsets, dtype):
    number = 1 if offsets[0] == 0 and offsets[-1] > 0 else 0 if offsets[-1] == 0 else None
    for function in (np.multiply, np.subtract, np.less):
        both_ways(function, per_list("d"), lists(content(numbers("d")), offsets, dtype), number=number)


@pytest.mark.parametrize("offsets", [[0], [3], [0, 0], [0, 10], [4, 7]], ids=str)
def test_few_lists(offsets):
    array = lists(content(numbers("d")), offsets)
    both_ways(np.multiply, per_list("d", len(offsets) - 1), array)
    both_ways(np.multiply, content([2.0]), array)


@pytest.mark.parametrize("n", [1, 255, 257, 5000, 100_000])
def test_many_lists(n):
    rng = np.random.default_rng(n)
    offsets = np.append(0, np.cumsum(rng.integers(0, 6, n) * (rng.random(n) < 0.8)))
    both_ways(np.subtract, content(rng.random(n)), lists(content(rng.random(offsets[-1])), offsets))


def test_long_lists():
    offsets = [0, 20_000, 20_000, 20_001, 30_000]
    both_ways(np.subtract, per_list("d"), lists(content(np.arange(30_000.0)), offsets), number=1)


PLACED = {
    "starts and stops": ak.contents.ListArray(
        Index(np.array([8, 0, 4, 0])), Index(np.array([10, 3, 4, 5])), content(numbers("d"))
    ),
    "starts and stops of int32": ak.contents.ListArray(
        *(Index(np.array(x, np.int32)) for x in ([8, 0, 4, 0], [10, 3, 4, 5])), content(numbers("d"))
    ),
    "lists of lists": lists(lists(content(numbers("d")), [0, 3, 3, 8, 9, 10, 10, 10]), [0, 3, 3, 5, 7]),
    "lists of lists that start later": lists(lists(content(numbers("d")), [1, 3, 3, 8, 9, 9]), [1, 3, 3, 4, 5]),
    "lists of starts and stops": lists(
        ak.contents.ListArray(Index(np.array([8, 0, 4, 0])), Index(np.array([10, 3, 4, 5])), content(numbers("d"))),
        [0, 1, 1, 3, 4],
    ),
    "lists of rows": lists(content(numbers("d").reshape(5, 2)), [0, 1, 1, 4, 5]),
    "lists of masked": lists(masked(numbers("d", 8)), [0, 3, 3, 7, 8]),
    "lists of indexed options": lists(indexed(numbers("d", 8)), [0, 3, 3, 7, 8]),
    "masked lists": masked(lists(content(numbers("d")), OFFSETS), [True, False, True, True]),
    "indexed option of lists": indexed(lists(content(numbers("d")), OFFSETS), [True, False, True, True]),
    "unmasked lists": ak.contents.UnmaskedArray(lists(content(numbers("d")), OFFSETS)),
    "lists of unmasked": lists(ak.contents.UnmaskedArray(content(numbers("d"))), OFFSETS),
    "indexed lists": ak.contents.IndexedArray(
        Index(np.array([3, 0, 0, 1])), lists(content(numbers("d")), OFFSETS)
    ),
    "every other": lists(content(np.arange(20.0)[::2]), OFFSETS),
    "regular": ak.contents.RegularArray(content(numbers("d", 12)), 3),
    "regular of one": ak.contents.RegularArray(content(numbers("d", 4)), 1),
    "rows": content(np.arange(8.0).reshape(4, 2)),
    "numbers": content(numbers("d", 4)),
    "a number": content(numbers("d", 1)),
    "every other number": content(np.arange(8.0)[::2]),
    "masked numbers": masked(numbers("d", 4), [True, False, True, True]),
    "lists": lists(content(numbers("d")), OFFSETS),
    "other lists": lists(content(numbers("d")), [0, 1, 4, 7, 9]),
    "more lists": lists(content(numbers("d")), [0, 1, 4, 7, 9, 10]),
    "records": ak.contents.RecordArray([lists(content(numbers("d")), OFFSETS)], ["x"]),
    "lists of records": lists(ak.contents.RecordArray([content(numbers("d"))], ["x"]), OFFSETS),
    "union": ak.Array([1.5, [2, 3], 4, [5.5]]).layout,
    "words": ak.Array(["one", "", "three", "four"]).layout,
    "lists of words": ak.Array([["one", ""], [], ["three"], ["four"]]).layout,
    "lists of nothing": ak.Array([[]] * 4).layout,
    "Nones": ak.Array([None] * 4).layout,
    "unknown": ak.contents.EmptyArray(),
}
IDS = {"ids": lambda name: name.replace(" ", "-")}


@pytest.mark.parametrize("first", PLACED, **IDS)
def test_layouts(first):
    wrong = {}
    for second, y in PLACED.items():
        for function in (np.subtract, np.less, np.equal):
            arrays = map(ak.Array, (PLACED[first], y))
            try:
                wrong[second, function] = operations.problems(function, *arrays, backend="cuda")
            except operations.Undefined:
                continue
    assert len(wrong) > 60
    assert not any(wrong.values()), {pair: lines for pair, lines in wrong.items() if lines}


def test_deeper_lists_repeat_the_numbers_once():
    """The other launch compares offsets, or repeats the numbers for the inner lists."""
    array = PLACED["lists of lists"]
    both_ways(np.subtract, per_list("d"), array, number=2)
    both_ways(np.subtract, lists(content(numbers("d", 7)), [0, 3, 3, 5, 7]), array, number=2)


def test_lists_in_an_unmasked_option_take_one_launch():
    both_ways(np.subtract, per_list("d"), PLACED["unmasked lists"], number=1)


def test_lengths_that_do_not_match():
    array = lists(content(numbers("d")), OFFSETS)
    both_ways(np.multiply, per_list("d", 0), array)  # which is broadcast
    for n in (2, 3, 5):
        assert operations.outcome(np.multiply, ak.Array(per_list("d", n)), ak.Array(array)).error
        both_ways(np.multiply, per_list("d", n), array)


def test_numbers_without_dimensions():
    array = lists(content(numbers("d")), OFFSETS)
    for number in (2, 2.5, np.float64(2), np.float32(2), True):
        assert_same(lambda x: x * number, array)  # noqa: B023
        assert_same(lambda x: number * x, array)  # noqa: B023


# What arrays carry


@pytest.mark.parametrize("parameters", [None, {}, {"unit": "m"}, {"__list__": "named"}], ids=str)
@pytest.mark.parametrize("place", range(3))
def test_parameters(place, parameters):
    given = [None, None, None]
    given[place] = parameters
    array = lists(content(numbers("d"), given[0]), OFFSETS, parameters=given[1])
    number = None if parameters else 1
    both_ways(np.multiply, content(numbers("d", 4), given[2]), array, number=number)


def test_named_axes_behavior_and_attributes():
    layout = lists(content(numbers("d")), OFFSETS)
    for names, of_lists in ((("rows", "columns"), None), (None, ("rows",)), (("rows", None), ("rows",))):
        array = ak.Array(layout, attrs={"of": "array", "array": 1}, behavior={"array": 1})
        weights = ak.Array(numbers("d", 4), attrs={"of": "weights"}, behavior={"weights": 1})
        array = array if names is None else ak.with_named_axis(array, names)
        weights = weights if of_lists is None else ak.with_named_axis(weights, of_lists)
        for pair in ((weights, array), (array, weights)):
            expected, found = (np.multiply(*(ak.to_backend(x, where) for x in pair)) for where in ("cpu", "cuda"))
            assert found.named_axis == expected.named_axis
            assert dict(found.attrs) == dict(expected.attrs)
            assert found.behavior == expected.behavior


def test_axes_of_other_names():
    array = ak.with_named_axis(ak.Array(lists(content(numbers("d")), OFFSETS)), ("one", "two"))
    weights = ak.with_named_axis(ak.Array(numbers("d", 4)), ("other",))
    assert operations.outcome(np.multiply, weights, array).error
    assert operations.problems(np.multiply, weights, array, backend="cuda") == []


def test_functions_of_users_get_arrays_that_are_written():
    kinds = []

    def scaled(weights, array):
        kinds.extend(type(x.layout.data) for x in (weights, array))
        return ak.Array(ak.contents.NumpyArray(weights.layout.data + array.layout.data))

    array = lists(content(numbers("d"), {"__list__": "length"}), OFFSETS)
    behavior = {(np.multiply, np.float64, "length"): scaled}
    arrays = [ak.Array(layout, behavior=behavior) for layout in (per_list("d"), array)]
    expected = np.multiply(*arrays).to_list()
    del kinds[:]
    on_device = [ak.to_backend(array, "cuda") for array in arrays]
    assert repr(np.multiply(*on_device).to_list()) == repr(expected)
    assert kinds == [type(x) for x in (on_device[0].layout.data, on_device[1].layout.content.data)]


def test_arguments_by_name_are_left_to_cupy():
    array = lists(content(numbers("l", 12)[2:]), OFFSETS)
    both_ways(lambda x, y: np.multiply(x, y, dtype=np.float64), content(numbers("l", 6)[2:]), array)


# Lists that start later


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint32"])
@pytest.mark.parametrize("extra", [0, 2])
def test_lists_that_start_later(dtype, extra):
    array = lists(content(numbers("d", 10 + extra)), [2, 3, 3, 7, 10], dtype)
    for function in (
        lambda a: a * 2,
        lambda a: a[1:] - a[1:],
        lambda a: a + a * 2,
        lambda a: a * 2 + a,
        lambda a: ak.where(a > 1, a, 0),
        lambda a: ak.broadcast_arrays(a, a[:, :0], 1),
        lambda a: ak.broadcast_arrays(a, ak.Array(a.layout.copy())),
        ak.local_index,
        ak.flatten,
        ak.sort,
        ak.is_none,
    ):
        assert_same(function, array)
    for other in ([2, 3, 3, 7, 10], [2, 3, 4, 7, 10], [0, 1, 1, 5, 8], [1, 2, 2, 6, 9], [0, 1, 1, 5, 9]):
        both_ways(np.subtract, lists(content(numbers("d")), other, dtype), array)


@pytest.mark.parametrize(
    "name", ["lists of lists that start later", "lists of words", "lists of records", "lists of masked"]
)
def test_lists_of_others_that_start_later(name):
    array = PLACED[name][1:]
    assert_same(lambda a: a == a, array)
    assert_same(lambda a: ak.broadcast_arrays(a, 1), array)
    both_ways(np.equal, per_list("d", 3), array)


def test_ends_of_offsets_that_started_later_are_known():
    array = ak.to_backend(ak.Array(lists(content(numbers("d")), [2, 3, 3, 7, 9])), "cuda")
    offsets = (array * 2).layout.offsets
    assert offsets._ends == (0, 7) == (offsets.data[0], offsets.data[-1])


# What is not written


def test_what_it_launches(cupy):
    weights, array = ak.Array(numbers("d", 4)), ak.Array(lists(content(numbers("d")), OFFSETS))
    for function in (
        lambda w, a: w * a,
        lambda w, a: a - w,
        lambda w, a: a > w,
        lambda w, a: w <= a,
        lambda w, a: np.logical_and(a, w),
    ):
        assert_at_once(cupy, function, [weights, array], ["segmented_transform"])
    small = ak.Array(lists(content(numbers("d")), OFFSETS, np.int32))
    assert_at_once(cupy, lambda w, a: w * a, [weights, small], ["segmented_transform"])
    for dtype in (np.int64, np.int32):
        later = ak.Array(lists(content(numbers("d")), [2, 3, 3, 7, 9], dtype))
        assert_at_once(cupy, lambda w, a: w * a, [weights, later], ["transform", "segmented_transform"])
        assert_at_once(cupy, lambda a: a * 2, [later], ["transform", "transform"])
    counts = ak.Array(np.arange(4))
    assert_at_once(cupy, lambda n, a: a / n, [counts, array], ["transform", "segmented_transform"])


def test_what_is_repeated_is_not_written(monkeypatch):
    def refused(self):
        raise AssertionError

    monkeypatch.setattr(elementwise.Repeated, "__call__", refused)
    weights, array = (ak.to_backend(x, "cuda") for x in (ak.Array(numbers("d", 4)), ak.Array([[1.5], [], [2], [3, 4]])))
    assert ak.num(weights * array).to_list() == [1, 0, 1, 2]
    with pytest.raises(AssertionError):
        ak.broadcast_arrays(weights, array)
    with pytest.raises(AssertionError):
        np.power(weights, array)


def test_results_are_written():
    """Also of what leaves this layer by an error, and of what is called next."""
    weights, array = (ak.to_backend(x, "cuda") for x in (ak.Array(numbers("d", 4)), ak.Array([[1.5], [], [2], [3, 4]])))
    with pytest.raises(ValueError, match="cannot broadcast"):
        weights[:3] * array
    assert not broadcasting._unwritten.get()
    for result in (weights * array, *ak.broadcast_arrays(weights, array), np.power(weights, array)):
        assert type(result.layout.content.data) is type(weights.layout.data)


def test_arrays_of_the_host_are_left_alone(monkeypatch):
    monkeypatch.setattr(broadcasting, "Repeated", None)
    assert (ak.Array([1, 2]) * ak.Array([[1], [2, 3]])).to_list() == [[1], [4, 6]]
