"""`ak.where` on CUDA: what awkward chooses, and of numbers in one launch."""

from __future__ import annotations

import contextlib
from itertools import product

import awkward as ak
import awkward.operations.ak_where as ak_where
import numpy as np
import operations
import pytest
from awkward._namedaxis import NamedAxesWithDims
from awkward.index import Index64
from operations import assert_same
from test_at_once import assert_at_once
from test_options import KINDS, content, indexed, lists, masked, numbers

from awkward_cudakernels.arraylayer import choosing
from primitives import transform

pytestmark = [
    pytest.mark.usefixtures("cupy"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]

N = 10
CONDITION = np.array([True, False, False, True, True, True, False, True, False, False])
OFFSETS = [0, 3, 3, 8, 10]
REAL = "biuf"


def where(condition, x, y, **options):
    return ak.where(condition, x, y, **options)


def become_one(x, y, mergebool=True):
    """Whether two dtypes are ones that ops choose between."""
    x, y = np.dtype(x), np.dtype(y)
    if "e" in x.char + y.char or (not mergebool and (x.kind == "b") != (y.kind == "b")):
        return False
    return x == y or {x.kind, y.kind} <= set(REAL)


# Two arrays


@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
def test_arrays_of_all_types_take_one_launch(first, second):
    x, y = numbers(first), numbers(second)
    for side in (x, y):
        if side.dtype.itemsize == 8 and side.dtype.kind in "iu":
            side[3] = np.iinfo(side.dtype).max // 2 + 2  # none of float64
    x, y = content(x), content(y)
    number = 1 if become_one(first, second) else None
    for condition in (CONDITION, ~CONDITION):
        assert_same(where, content(condition), x, y, number=number)


@pytest.mark.parametrize("second", "?bLd")
@pytest.mark.parametrize("first", "?bLd")
def test_booleans_stay_booleans_where_they_are_told_to(first, second):
    number = 1 if become_one(first, second, mergebool=False) else None
    for options in ({"mergebool": False}, {"mergebool": 0}):
        assert_same(
            lambda condition, x, y, options=options: where(condition, x, y, **options),
            content(CONDITION), content(numbers(first)), content(numbers(second)), number=number,
        )  # fmt: skip
    for value in (True, 1):
        assert_same(
            lambda condition, x, value=value: where(condition, x, value, mergebool=False),
            content(CONDITION), content(numbers(first)),
            number=1 if become_one(first, np.asarray(value).dtype, mergebool=False) else None,
        )  # fmt: skip


@pytest.mark.parametrize("char", KINDS)
def test_conditions_that_are_numbers(char):
    condition = numbers(char)
    condition[3:6] = 0
    x, y = content(numbers("d")), content(-numbers("d"))
    assert_same(where, content(condition), x, y, number=1)
    assert_same(lambda condition, x: where(condition, x, 5.0), content(condition), x, number=1)
    assert_same(lambda condition: where(condition, 4.0, 5.0), content(condition), number=1)


def test_conditions_that_are_left_to_awkward():
    condition, x, y = content(CONDITION.astype("e")), content(numbers("d")), content(-numbers("d"))
    assert_same(where, condition, x, y)
    assert_same(lambda condition: where(condition, 1, 2), condition)


def test_none_is_chosen_where_there_are_none():
    nothing = content(np.zeros(0, bool)), content(numbers("d")[:0]), content(numbers("l")[:0])
    assert_same(where, *nothing, number=0)
    assert_same(lambda condition: where(condition, 1, 2.5), nothing[0], number=0)


# Numbers of the user's


NUMBERS = [
    0, -1, 2**62 + 1, -(2**63), True, False, 0.1, -0.0, np.nan, np.inf,
    np.uint64(2**63 + 1), np.uint64(2**64 - 1), np.int64(2**53 + 1), np.int8(-128), np.uint8(200),
    np.float32(0.1), np.float64(0.1), np.bool_(True),
]  # fmt: skip
LEFT = [2j, np.complex64(2j), np.float16(0.1), np.longdouble(0.1)]
"""Numbers that are left to awkward."""


@pytest.mark.parametrize("value", NUMBERS, ids=repr)
@pytest.mark.parametrize("char", KINDS)
def test_numbers_of_all_types_take_one_launch(char, value):
    x = content(numbers(char))
    number = 1 if become_one(char, np.asarray(value).dtype) else None
    assert_same(lambda condition, x: where(condition, x, value), content(CONDITION), x, number=number)
    assert_same(lambda condition, x: where(condition, value, x), content(CONDITION), x, number=number)


@pytest.mark.parametrize("first", NUMBERS, ids=repr)
def test_two_numbers_take_one_launch(first):
    for second in NUMBERS:
        assert_same(lambda condition: where(condition, first, second), content(CONDITION), number=1)  # noqa: B023


@pytest.mark.parametrize("value", LEFT, ids=repr)
def test_numbers_that_are_left_to_awkward(value):
    if np.asarray(value).dtype.char == "g":
        pytest.skip("CuPy has none")
    for char in "lfD":
        x = content(numbers(char))
        assert_same(lambda condition, x: where(condition, x, value), content(CONDITION), x)
        assert_same(lambda condition, x: where(condition, value, x), content(CONDITION), x)
    assert_same(lambda condition: where(condition, 1, value), content(CONDITION))


@pytest.mark.parametrize("value", [2**63, 2**64, "text", b"text", None], ids=repr)
def test_what_is_no_number(value):
    if isinstance(value, int):
        with pytest.raises(RuntimeError):  # awkward's, of an integer of more than 64 bits
            where(ak.to_backend(ak.Array(CONDITION), "cuda"), 1, value)
        return
    assert_same(lambda condition: where(condition, [1] * N, value), content(CONDITION))
    assert_same(lambda condition: where(condition, value, 1), content(CONDITION))


# What they are in


def test_arrays_keep_the_form_that_they_share():
    given = [None, {}, {"unit": "m"}, {"unit": "m", "b": 1}, {"unit": "s"}, {"unit": None}]
    for of_x, of_y in product(given, repeat=2):
        x, y = content(numbers("d"), of_x), content(numbers("l"), of_y)
        assert_same(where, content(CONDITION, {"unit": "m"}), x, y, number=1)
        assert_same(lambda condition, x: where(condition, x, 1), content(CONDITION), x, number=1)


def test_characters_and_bytes_are_no_numbers():
    of_bytes = content(numbers("B"), {"__array__": "byte"})
    assert_same(where, content(CONDITION), of_bytes, of_bytes)
    assert_same(where, content(CONDITION), of_bytes, content(numbers("B")))
    assert_same(lambda condition, x: where(condition, x, np.uint8(7)), content(CONDITION), of_bytes)
    assert_same(lambda condition, x: where(condition, np.uint8(7), x), content(CONDITION), of_bytes)


@pytest.mark.parametrize("parameters", [None, {"unit": "m"}, {"unit": None}, {"__array__": "byte"}], ids=str)
def test_an_array_or_itself(parameters):
    x = content(numbers("B"), parameters)
    assert_same(lambda condition, x: where(condition, x, x), content(CONDITION), x, number=1)
    in_lists = lists(x, OFFSETS)
    assert_same(lambda condition, x: where(condition, x, x), content(CONDITION[:4]), in_lists)
    assert_same(lambda x: where(x, x, x), in_lists, number=1)
    assert_same(lambda x: where(x, x, x), x, number=1)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint32"])
@pytest.mark.parametrize("offsets", [OFFSETS, [1, 3, 3, 7], [4, 4], [0], [0, 10]], ids=str)
def test_lists(offsets, dtype):
    condition, x, y = (
        lists(content(data), offsets, dtype) for data in (CONDITION, numbers("d"), numbers("l"))
    )
    for function in (
        where,
        lambda condition, x, y: where(condition, x, 1),
        lambda condition, x, y: where(condition, 1, y),
        lambda condition, x, y: where(condition, 1, 2.5),
        lambda condition, x, y: where(y > 3, x, y),
    ):
        assert_same(function, condition, x, y)


def test_lists_of_the_same_offsets_take_one_launch():
    def function(x):
        return where(x > 2, x, x * 2)

    assert_same(function, lists(content(numbers("d")), OFFSETS), number=3)
    assert_same(function, lists(lists(content(numbers("d")), OFFSETS), [0, 1, 4]), number=3)
    assert_same(lambda x: where(x > 2, x, 0), lists(content(numbers("d")), OFFSETS), number=2)
    assert_same(lambda x: where(x > 2, True, False), lists(content(numbers("d")), OFFSETS), number=2)


STARTS, STOPS = (ak.index.Index64(np.array(x)) for x in ([8, 0, 4, 0], [10, 3, 4, 5]))
PLACED = {
    "numbers": content(numbers("d")[:4]),
    "one number": content(numbers("d")[:1]),
    "rows": content(np.arange(12).reshape(4, 3)),
    "rows of one": content(np.arange(4).reshape(4, 1)),
    "a row": content(np.arange(3).reshape(1, 3)),
    "deeper rows": content(np.arange(24).reshape(4, 3, 2)),
    "regular": ak.contents.RegularArray(content(numbers("d", 12)), 3),
    "lists": lists(content(numbers("d")), OFFSETS),
    "other lists": lists(content(numbers("d")), [0, 1, 4, 7, 9]),
    "starts and stops": ak.contents.ListArray(STARTS, STOPS, content(numbers("d"))),
    "lists of lists": lists(lists(content(numbers("d")), OFFSETS), [0, 1, 1, 3, 4]),
    "every other": content(np.arange(8)[::2]),
    "halves": content(np.arange(4, dtype="e")),
    "records": ak.contents.RecordArray([content(numbers("d")[:4]), content(numbers("l")[:4])], ["x", "y"]),
    "pairs": ak.contents.RecordArray([content(numbers("d")[:4]), content(numbers("l")[:4])], None),
    "records of lists": ak.contents.RecordArray([lists(content(numbers("d")), OFFSETS)], ["x"]),
    "no fields": ak.contents.RecordArray([], [], length=4),
    "masked": masked(numbers("d")[:4], [True, False, True, True]),
    "masked, set where not": masked(numbers("d")[:4], [True, False, True, True], valid_when=False),
    "masked lists": masked(lists(content(numbers("d")), OFFSETS), [True, False, True, True]),
    "lists of masked": lists(masked(numbers("d"), CONDITION), OFFSETS),
    "indexed option": indexed(numbers("d")[:4], [True, False, True, True]),
    "unmasked": ak.contents.UnmaskedArray(content(numbers("d")[:4])),
    "bits": ak.Array(masked(numbers("d")[:4], [True, False, True, True])).layout.to_BitMaskedArray(True, True),
    "indexed": ak.contents.IndexedArray(ak.index.Index64(np.array([3, 0, 0, 1])), content(numbers("d"))),
    "words": ak.Array(["one", "", "three", "four"]).layout,
    "bytes": ak.Array([b"one", b"", b"three", b"four"]).layout,
    "union": ak.Array([1, "two", [3], 4.5]).layout,
    "unknown": ak.contents.EmptyArray(),
    "Nones": ak.Array([None] * 4).layout,
    "lists of nothing": ak.Array([[]] * 4).layout,
}
CONDITIONS = {
    "booleans": content(CONDITION[:4]),
    "one boolean": content(CONDITION[:1]),
    "rows": content((np.arange(12) % 5 > 1).reshape(4, 3)),
    "rows of one": content(CONDITION[:4].reshape(4, 1)),
    "regular": ak.contents.RegularArray(content(np.arange(12) % 5 > 1), 3),
    "lists": lists(content(CONDITION), OFFSETS),
    "starts and stops": ak.contents.ListArray(STARTS, STOPS, content(CONDITION)),
    "lists of lists": lists(lists(content(CONDITION), OFFSETS), [0, 1, 1, 3, 4]),
    "every other": content(CONDITION[:8][::2]),
    "records": ak.contents.RecordArray([content(CONDITION[:4]), content(CONDITION[4:8])], ["x", "y"]),
    "masked": masked(CONDITION[:4], [True, False, True, True]),
    "lists of masked": lists(masked(CONDITION, CONDITION), OFFSETS),
    "indexed option": indexed(CONDITION[:4], [True, False, True, True]),
    "indexed": ak.contents.IndexedArray(ak.index.Index64(np.array([3, 0, 0, 1])), content(CONDITION)),
    "unknown": ak.contents.EmptyArray(),
}
IDS = {"ids": lambda name: name.replace(" ", "-")}




@pytest.mark.parametrize("placed", PLACED, **IDS)
@pytest.mark.parametrize("condition", CONDITIONS, **IDS)
def test_layouts(condition, placed):
    condition, x = CONDITIONS[condition], PLACED[placed]
    assert_same(where, condition, x, x)
    assert_same(where, condition, x, PLACED["numbers"])
    assert_same(where, condition, PLACED["numbers"], x)
    assert_same(lambda condition, x: where(condition, x, 1), condition, x)
    assert_same(lambda condition, x: where(condition, 2.5, x), condition, x)


@pytest.mark.parametrize("condition", ["booleans", "lists", "masked"])
@pytest.mark.parametrize("first", PLACED, **IDS)
def test_pairs_of_layouts(first, condition):
    wrong = {}
    for second, y in PLACED.items():
        arrays = map(ak.Array, (CONDITIONS[condition], PLACED[first], y))
        wrong[second] = operations.problems(where, *arrays, backend="cuda")
    assert not any(wrong.values()), {second: lines for second, lines in wrong.items() if lines}


def test_records_take_one_launch_for_each_field():
    condition, x = CONDITIONS["records"], PLACED["records"]
    assert_same(where, condition, x, x, number=2)
    assert_same(lambda condition, x: where(condition, x, 1), condition, x, number=2)


def test_rows_take_one_launch():
    condition, x = CONDITIONS["rows"], PLACED["rows"]
    assert_same(where, condition, x, PLACED["regular"], number=1)
    assert_same(lambda condition, x: where(condition, x, 1), condition, x, number=1)
    assert_same(lambda x: where(x > 1, x, 1), x, number=2)


def test_a_condition_with_nones_chooses_their_bytes_like_numbers(monkeypatch):
    """Once the values, and once which of them are None."""
    chosen = []
    monkeypatch.setattr(choosing, "transform", lambda *args: chosen.append(args[0]) or transform(*args))
    x, y = content(numbers("d")[:8]), content(numbers("l")[:8])
    assert_same(where, masked(CONDITION[:8]), x, y)
    assert chosen == [choosing.one_of_arrays] * 2
    del chosen[:]
    assert_same(lambda condition, x: where(condition, x, 1), masked(CONDITION[:8]), x)
    assert chosen == [choosing.one_of_array_and_number, choosing.one_of_arrays]


@pytest.mark.parametrize("value", [np.datetime64(5, "s"), np.timedelta64(5, "s"), np.str_("5"), 2**64, *LEFT], ids=repr)
def test_what_no_op_can_use(value):
    """For which CuPy has no arrays, either, or which ops do not take as numbers."""
    assert choosing._side(value) is None
    if np.asarray(value).dtype.kind in "mM":
        assert choosing._side(content(np.asarray([value]))) is None


def test_lengths_that_do_not_match():
    x = content(numbers("d"))
    for condition, y in ((CONDITION[:4], x), (CONDITION, content(numbers("d")[:4]))):
        assert_same(where, content(condition), x, y)
    assert_same(lambda condition, x: where(condition, x, 1), content(CONDITION[:4]), x)


@pytest.mark.parametrize("condition", [True, False, 1, None, "text"], ids=str)
def test_conditions_that_are_no_arrays(condition):
    x = content(numbers("d"))
    assert_same(lambda x: where(condition, x, x), x)
    assert_same(lambda x: where(condition, x, 1), x)


def test_a_slice_that_starts_later():
    condition, x, y = content(np.append(~CONDITION, CONDITION)), content(numbers("d", 20)), content(numbers("i", 20))
    assert_same(lambda condition, x, y: where(condition[10:], x[5:15], y[3:13]), condition, x, y, number=1)
    assert_same(lambda condition, x, y: where(condition[10:], x[5:15], 1), condition, x, y, number=1)


@pytest.mark.parametrize("n", [1, 255, 256, 257, 100_000])
def test_arrays_of_many_lengths(n):
    rng = np.random.default_rng(n)
    condition, x, y = rng.random(n) < 0.3, rng.random(n), rng.integers(-100, 100, n)
    assert_same(where, *map(content, (condition, x, y)), number=1)


# What high-level arrays carry


def test_behavior_and_attributes():
    arrays = [
        ak.Array(data, attrs={"of": name, name: 1}, behavior={name: 1})
        for name, data in (("condition", CONDITION), ("x", numbers("d")), ("y", numbers("l")))
    ]
    for options in ({}, {"attrs": {"given": 1}}, {"behavior": {"given": 1}}):
        expected = where(*arrays, **options)
        found = where(*(ak.to_backend(array, "cuda") for array in arrays), **options)
        assert dict(found.attrs) == dict(expected.attrs)
        assert found.behavior == expected.behavior
    low = where(*(ak.to_backend(array, "cuda") for array in arrays), highlevel=False)
    assert type(low) is ak.contents.NumpyArray and low.backend.name == "cuda"


@pytest.mark.parametrize("of_condition", [None, ("rows", "columns"), ("rows", None)], ids=str)
@pytest.mark.parametrize("of_x", [None, ("rows", "columns"), (None, "columns")], ids=str)
def test_named_axes(of_condition, of_x):
    def named(layout, names):
        array = ak.Array(layout)
        return array if names is None else ak.with_named_axis(array, names)

    def with_names(function):
        return lambda *arrays: (found := function(*arrays), found.named_axis)

    for kind in ("lists", "rows"):
        condition, x = named(CONDITIONS[kind], of_condition), named(PLACED[kind], of_x)
        assert_same(with_names(lambda condition, x: where(condition, x, x * 2)), condition, x)
        assert_same(with_names(lambda condition, x: where(condition, x, 1)), condition, x)
        assert_same(with_names(lambda condition, x: where(condition, 1, 2)), condition, x)


def test_axes_of_other_names():
    condition = ak.with_named_axis(ak.Array(CONDITION), ("one",))
    x = ak.with_named_axis(ak.Array(numbers("d")), ("other",))
    assert operations.outcome(where, condition, x, x).error
    assert operations.problems(where, condition, x, x, backend="cuda") == []


# What is not `ak.where`


def apply(action, *layouts, **options):
    contexts = NamedAxesWithDims.prepare_contexts([ak.Array(layout) for layout in layouts])
    contexts = dict(zip(("depth_context", "lateral_context"), contexts, strict=True))
    return ak._broadcasting.broadcast_and_apply(layouts, action, **contexts, **options)


@pytest.mark.parametrize("name", ["ak.where", "ak.other", None])
def test_other_actions_are_left_alone(name):
    def action(inputs, backend, **kwargs):
        if all(isinstance(x, ak.contents.NumpyArray) for x in inputs):
            return (inputs[2],)

    layouts = [ak.to_backend(content(x), "cuda", highlevel=False) for x in (numbers("d"), numbers("d"), CONDITION)]
    with contextlib.suppress(ValueError):
        where(ak.Array(layouts[2]), ak.Array(layouts[0]), ak.Array(layouts[1][:4]))  # what failed leaves nothing behind
    with operations.launches() as found:
        (out,) = apply(action, *layouts, function_name=name)
    assert not found and out.to_list() == CONDITION.tolist()


def test_arrays_of_the_host_are_left_alone(monkeypatch):
    def refused(*args):
        raise AssertionError

    monkeypatch.setattr(choosing, "_chosen", refused)
    x = ak.Array(numbers("d"))
    assert where(ak.Array(CONDITION), x, 0).to_list() == operations.outcome(np.where, CONDITION, x, 0).value
    with pytest.raises(AssertionError):
        where(*(ak.to_backend(array, "cuda") for array in (ak.Array(CONDITION), x)), 0)


def test_a_choice_in_a_choice_is_told_its_own(monkeypatch):
    with_one_backend = ak_where.ensure_same_backend

    def choosing_meanwhile(*layouts):
        if len(found) == 0:
            found.append(None)
            found[0] = where(condition, x, True)
            assert (x + x).to_list()[4:] == (numbers("d") * 2).tolist()[4:]
        return with_one_backend(*layouts)

    found = []
    monkeypatch.setattr(ak_where, "ensure_same_backend", choosing_meanwhile)
    condition, x = (ak.to_backend(ak.Array(data), "cuda") for data in (CONDITION, numbers("d")))
    assert where(condition, x, True, mergebool=False).layout.is_union
    assert not found[0].layout.is_union


def test_the_same_lists_and_others():
    a, b = (ak.contents.ListOffsetArray(Index64([0, 3, 3, 7]), content(numbers("d")[:n])) for n in (7, 9))
    conditions = [
        ak.contents.ListOffsetArray(Index64([0, 3, 3, 7]), content(np.arange(8) % 3 > 0)),
        ak.contents.ListOffsetArray(Index64([0, 2, 3, 7]), content(np.arange(7) % 3 > 0)),
        ak.contents.ListOffsetArray(Index64([0, 3, 7]), content(np.arange(7) % 3 > 0)),
        ak.contents.ListOffsetArray(Index64([0, 3, 3, 7]), content(np.arange(7) % 3)),
        ak.contents.ListOffsetArray(Index64([0, 3, 3, 7]), content(np.arange(7) > 1), parameters={"unit": "mm"}),
        ak.Array([[True, None, False], [], [True, True, False, True]]).layout,
        content(np.array([True, False, True])),
        content(np.array([True])),
    ]
    for condition in conditions:
        for sides in ((a, b), (b, a), (a, 1), (2.5, b), (1, False)):
            assert_same(lambda c, x=sides[0], y=sides[1]: where(c, _there(x, c), _there(y, c)), condition)


def _there(side, condition):
    """A side on the backend of the condition."""
    return ak.to_backend(ak.Array(side), ak.backend(condition)) if isinstance(side, ak.contents.Content) else side


def test_what_the_same_lists_launch(cupy):
    def function(a):
        return where(a > 1, a, a * 2), where(a > 1, a, 0.5)

    assert_at_once(
        cupy, function, [ak.contents.ListOffsetArray(Index64([0, 3, 3, 7]), content(numbers("d")))],
        ["transform"] * 5,
    )  # fmt: skip
