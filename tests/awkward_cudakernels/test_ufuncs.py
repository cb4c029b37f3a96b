"""Universal functions of CUDA arrays: what awkward makes of them, where it is gone round and where it is not."""

from __future__ import annotations

import operator
from unittest.mock import patch

import awkward as ak
import numpy as np
import operations
import pytest
from operations import assert_same
from test_options import KINDS, SOME, content, indexed, lists, numbers

pytestmark = [
    pytest.mark.usefixtures("cupy"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]

OFFSETS = [0, 3, 3, 8, 10]
LATER = [2, 3, 3, 7, 9]
FLOATS = content(numbers("d"))


def jagged(values=FLOATS, offsets=OFFSETS, **options):
    return lists(values, offsets, **options)


def masked(values, valid=SOME, *, valid_when=True, parameters=None):
    """Bytes that are 0 and 1: of others, awkward says here that they are set and there that they are not."""
    values = values if isinstance(values, ak.contents.Content) else content(values)
    mask = ak.index.Index8(np.array([there == valid_when for there in valid], np.int8))
    return ak.contents.ByteMaskedArray(mask, values, valid_when, parameters=parameters)


class Asked(Exception):
    """awkward's broadcasting was asked."""


def asks(function, *arrays):
    """Whether a function of arrays or layouts asks awkward's broadcasting, on CUDA."""
    with (
        operations.registered("cuda"),
        patch.object(ak._broadcasting, "broadcast_and_apply", side_effect=Asked),
    ):
        try:
            function(*(ak.to_backend(ak.Array(x), "cuda") if isinstance(x, ak.contents.Content) else x for x in arrays))
        except Asked:
            return True
    return False


def goes_round(function, *arrays, number=1):
    """It does what it does on the CPU, with so many launches, and without awkward's broadcasting."""
    assert_same(function, *arrays, number=number)
    assert not asks(function, *arrays)


def does_not(function, *arrays):
    """It does what it does on the CPU, by awkward's broadcasting."""
    assert_same(function, *arrays)
    assert asks(function, *arrays)


# What goes to the numbers


@pytest.mark.parametrize("offsets", [OFFSETS, LATER, [0, 0, 0, 0, 10], [10, 10], [0]], ids=str)
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint32"])
def test_lists_and_numbers(offsets, dtype):
    array = jagged(offsets=offsets, dtype=dtype)
    number = None if offsets[0] else int(offsets[-1] > 0)  # offsets that start later are made anew
    goes_round(np.sqrt, array, number=number)
    goes_round(lambda a: a * 2, array, number=number)
    goes_round(lambda a: 2.5 > a, array, number=number)
    goes_round(lambda a: -a, array, number=number)


@pytest.mark.parametrize("char", KINDS)
def test_types(char):
    array = jagged(content(numbers(char)))
    other = jagged(content(numbers(char)[::-1].copy()))
    for function in (operator.eq, np.logical_or, operator.add):
        goes_round(function, array, other, number=None)
    for scalar in (2, True, np.int8(3), np.uint64(2**63), np.float32(0.5), 1.5, 2j, np.complex64(1j)):
        goes_round(lambda a, scalar=scalar: a != scalar, array, number=None)
        goes_round(lambda a, scalar=scalar: scalar + a, array, number=None)


def test_numbers_alone():
    goes_round(operator.mul, FLOATS, content(numbers("d")[::-1].copy()))
    goes_round(lambda a: a - 1, FLOATS)
    goes_round(np.isnan, content(numbers("f")))


def test_numbers_by_an_index():
    """As of the first elements of lists of records, which are carried later."""
    chosen = ak.contents.IndexedArray(ak.index.Index64([4, 0, 9, 4]), FLOATS)
    goes_round(operator.mul, chosen, chosen, number=None)
    goes_round(operator.sub, chosen, jagged(), number=None)
    goes_round(lambda a: a > 2, chosen, number=None)
    shared = ak.contents.RecordArray([FLOATS, content(numbers("l"))], ["x", "y"])
    goes_round(lambda a: a[ak.num(a) > 0][:, 0].x * 2, jagged(shared), number=None)
    does_not(lambda a: a == 2, ak.contents.IndexedArray(ak.index.Index64([1, 0]), FLOATS, parameters={"unit": "m"}))


def test_lists_and_a_number_for_each():
    weights = content(np.arange(4.0))
    goes_round(operator.mul, weights, jagged())
    goes_round(operator.truediv, jagged(), weights)
    goes_round(np.maximum, jagged(), weights, number=None)
    goes_round(operator.mul, weights, jagged(offsets=LATER), number=2)


def test_lists_of_the_same_lengths():
    shared = ak.contents.RecordArray([FLOATS, content(numbers("l"))], ["x", "y"])
    records = ak.Array(jagged(shared))
    goes_round(lambda a: a.x * a.y, records.layout, number=None)
    goes_round(operator.sub, jagged(), jagged(content(np.arange(12))), number=None)  # of which some are in no list
    goes_round(operator.sub, jagged(offsets=LATER), jagged(content(np.arange(8)), [0, 1, 1, 5, 7]), number=None)
    does_not(operator.sub, jagged(content(np.arange(8)), [0, 1, 1, 5, 7]), jagged(offsets=LATER))
    goes_round(lambda a: a * a, jagged(offsets=LATER), number=2)  # offsets from 0 on, then the products


def test_functions_of_three_arguments():
    clip = np._core.umath.clip
    goes_round(lambda a: clip(a, 1.0, 5.0), jagged(content(np.arange(10.0))), number=None)


def test_what_users_keep_with_arrays():
    behavior = {"Muon": type("Muon", (ak.Record,), {})}
    array = ak.Array(jagged(), behavior=behavior, attrs={"year": 2026})
    other = ak.Array(jagged(), attrs={"run": 3})
    for function in (operator.add, np.hypot):
        expected = function(array, other)
        actual = function(ak.to_backend(array, "cuda"), ak.to_backend(other, "cuda"))
        assert dict(actual.attrs) == dict(expected.attrs) == {"year": 2026, "run": 3}
        assert actual.behavior == expected.behavior == behavior


def test_the_result_is_new():
    array = ak.to_backend(ak.Array(jagged(content(np.arange(10.0)))), "cuda")
    twice = array + 0
    assert twice.layout.content.data.data.ptr != array.layout.content.data.data.ptr
    assert twice.layout.offsets is array.layout.offsets


# What awkward is asked


@pytest.mark.parametrize("other", [content(np.arange(3.0)), content(np.arange(1.0)), jagged(offsets=[0, 2, 3, 8, 10])])
def test_other_lengths(other):
    """One may be as long as all others; that others are not is an error, which awkward words."""
    does_not(operator.add, jagged(), other)
    does_not(operator.add, other, jagged())


@pytest.mark.parametrize(
    "layout",
    [
        jagged(masked(np.arange(8.0)), [0, 3, 3, 8]),
        ak.contents.ListOffsetArray(ak.index.Index64([0, 2, 4]), jagged()),
        ak.contents.RegularArray(FLOATS, 5),
        content(np.arange(12.0).reshape(4, 3)),
        ak.Array(["one", "two"]).layout,
        ak.contents.EmptyArray(),
        jagged(parameters={"unit": "GeV"}),
        jagged(content(np.arange(10.0), parameters={"unit": "GeV"})),
        ak.contents.ListArray(ak.index.Index64([4, 0]), ak.index.Index64([6, 3]), FLOATS),
        jagged(offsets=[0, 3, 12]),  # more than there are
    ],
    ids=lambda layout: type(layout).__name__,
)
def test_other_layouts(layout):
    does_not(lambda a: a == a, layout)


@pytest.mark.parametrize("other", [[1, 2, 3, 4], np.datetime64("2026-11-30"), "text"], ids=str)
def test_other_arguments(other):
    does_not(lambda a: a == other, jagged(content(np.arange(10))))


def test_more_results_and_options():
    does_not(np.divmod, jagged(content(np.arange(10))), 3)
    does_not(np.modf, jagged())
    does_not(lambda a: np.add(a, 1, dtype=np.float32), jagged(content(np.arange(10.0, dtype="f"))))
    assert_same(lambda a: np.add.reduce(a), content(np.arange(4)))
    assert_same(np.matmul, jagged(), jagged())


def test_named_axes():
    array = ak.with_named_axis(ak.Array(jagged()), ("event", "hit"))
    with operations.registered("cuda"):
        moved = ak.to_backend(array, "cuda")
        assert (moved + 1).named_axis == (array + 1).named_axis
    assert asks(lambda: moved + 1)


def test_casts_of_users():
    class Kelvin(float):
        pass

    behavior = {("__cast__", Kelvin): lambda x: float(x) - 273.15}
    array = ak.Array(jagged(content(np.arange(10.0))), behavior=behavior)
    expected = array + Kelvin(300)
    actual = ak.to_backend(array, "cuda") + Kelvin(300)
    assert operations._to_host(actual).to_list() == expected.to_list()


def test_arrays_elsewhere():
    """Two backends are an error of awkward's; what is on the CPU stays there."""
    array = ak.Array(jagged())
    with operations.registered("cuda"):
        for other in (array, np.arange(4), np.array(2)):
            with pytest.raises(ValueError, match="incompatible backends"):
                ak.to_backend(array, "cuda") + other
        assert ak.backend(array + array) == "cpu"


# Options of numbers

NONE_VALID, ALL_VALID = [False] * 8, [True] * 8


HOW_OPTIONAL = {
    "bytes": masked,
    "bytes that say what is missing": lambda values, valid=SOME: masked(values, valid, valid_when=False),
    "an index": indexed,
    "an index of 32 bits": lambda values, valid=SOME: indexed(values, valid, dtype=np.int32),
}


@pytest.mark.parametrize("kind", HOW_OPTIONAL)
def test_options(kind):
    option = HOW_OPTIONAL[kind]
    gathers = int("index" in kind)
    for valid in (SOME, NONE_VALID, ALL_VALID, []):
        n = int(bool(valid))
        array = option(numbers("d"), valid)
        goes_round(lambda a: a * 2, array, number=n * (2 + gathers))
        goes_round(np.sqrt, array, number=n * (2 + gathers))
        goes_round(lambda a: 30 < a, array, number=n * (2 + gathers))
        goes_round(np.hypot, array, content(numbers("d", len(valid))), number=None)
        goes_round(operator.sub, content(numbers("d", len(valid))), array, number=None)
        other = HOW_OPTIONAL["bytes"](numbers("d")[::-1].copy(), valid[::-1])
        goes_round(operator.add, array, other, number=n * (3 + gathers))
        goes_round(lambda a: a + a, array, number=n * (2 + 2 * gathers))


@pytest.mark.parametrize("char", KINDS)
def test_types_of_options(char):
    for option in HOW_OPTIONAL.values():
        array = option(numbers(char))
        for function in (operator.eq, np.logical_or, operator.add):
            goes_round(function, array, content(numbers(char, 8)), number=None)
        for scalar in (2, True, np.int8(3), np.uint64(2**63), np.float32(0.5), 1.5, 2j):
            goes_round(lambda a, scalar=scalar: a != scalar, array, number=None)
    if char in "bBhHiIlL":
        goes_round(lambda a: 7 // a, masked(np.where(SOME, 1, 0).astype(char)), number=None)  # what is missing is 0


def test_of_options_that_reductions_make():
    goes_round(lambda a: ak.max(a, axis=1) > 5, jagged(), number=3)
    goes_round(lambda a: ak.max(a, axis=1) - ak.min(a, axis=1), jagged(), number=5)
    goes_round(lambda a: ak.firsts(a) * 2 + ak.firsts(a), jagged(), number=None)
    many = jagged(content(np.arange(70_000.0)), np.minimum(np.arange(50_001) * 3 // 2, 70_000))
    goes_round(lambda a: ak.max(a, axis=1) * ak.num(a), many, number=None)


def test_what_of_options_is_left_to_awkward():
    for array in (
        masked(numbers("d"), parameters={"unit": "m"}),
        masked(content(numbers("d"), parameters={"unit": "m"})),
        masked(np.arange(20.0).reshape(10, 2)),
        ak.contents.UnmaskedArray(content(numbers("d"))),
        ak.Array([1.0, None, 2.0]).layout.to_BitMaskedArray(True, True),
    ):
        does_not(lambda a: a * 2, array)
    does_not(operator.mul, indexed(numbers("d"), [True, False, True, True]), jagged())
    does_not(operator.mul, masked(numbers("d")), content(numbers("d", 1)))


def test_names_of_the_axis_of_an_option():
    array = ak.with_named_axis(ak.Array(masked(numbers("d"))), ("events",))
    expected = array * 2
    found = ak.to_backend(array, "cuda") * 2
    assert found.to_list() == expected.to_list()
    assert found.named_axis == expected.named_axis


@pytest.mark.parametrize("n", [0, 3])
def test_an_index_that_leaves_the_content_is_an_error(n):
    index = ak.index.Index64(np.array([0, -1, 9, 2]))
    layout = ak.contents.IndexedOptionArray(index, ak.contents.NumpyArray(np.arange(n)))
    array = ak.to_backend(ak.Array(layout), "cuda")
    with pytest.raises(ValueError, match="index out of range in compiled CUDA code"):
        ak.to_list(array + 1)


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**64])
def test_numbers_beyond_64_bits(number):
    assert_same(lambda array: array < number, ak.contents.NumpyArray(np.arange(3, dtype=np.uint64)))
