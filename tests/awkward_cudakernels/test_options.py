"""Options of numbers on CUDA: what awkward makes of them, in as few launches as there can be."""

from __future__ import annotations

import awkward as ak
import numpy as np
import operations
import pytest
from operations import assert_same

pytestmark = pytest.mark.usefixtures("cupy")

KINDS = "?bBhHiIlLfdFD"
SOME = [True, False, False, True, True, True, False, True]


def numbers(char, n=10):
    """Of a dtype, the extreme ones first."""
    dtype = np.dtype(char)
    if dtype.kind in "iu":
        first = [np.iinfo(dtype).max, np.iinfo(dtype).min, 0]
    else:
        first = [0.1, -0.0, np.nan, np.inf] if dtype.kind == "f" else [1, 0, 1]
    return np.concatenate([np.array(first, dtype), np.arange(n).astype(dtype)])[:n]


def content(data, parameters=None):
    data = np.asarray(data)
    return ak.contents.NumpyArray(data, parameters=parameters)


def masked(values, valid=SOME, *, valid_when=True, parameters=None):
    """Bytes of which those that are not 0 are all over the place."""
    flags = np.array(valid, bool) == valid_when
    mask = np.where(flags, np.arange(len(flags)) % 5 + 1, 0).astype(np.int8)
    values = values if isinstance(values, ak.contents.Content) else content(values)
    return ak.contents.ByteMaskedArray(ak.index.Index8(mask), values, valid_when, parameters=parameters)


def indexed(values, valid=SOME, *, dtype=np.int64, parameters=None):
    """An index that goes backwards, with repetitions; what is negative means None."""
    values = values if isinstance(values, ak.contents.Content) else content(values)
    positions = np.arange(len(valid))
    index = np.where(np.array(valid, bool), (values.length - 1 - positions // 2), -1 - positions % 3)
    return ak.contents.IndexedOptionArray(ak.index.Index(index.astype(dtype)), values, parameters=parameters)


OPTIONS = {
    "bytes, set where valid": lambda values, valid=SOME, **more: masked(values, valid, **more),
    "bytes, set where not": lambda values, valid=SOME, **more: masked(
        values, valid, valid_when=False, **more
    ),
    "index": lambda values, valid=SOME, **more: indexed(values, valid, **more),
}
"""Layouts of numbers, of which some are not valid."""


@pytest.fixture(params=sorted(OPTIONS))
def option(request):
    return OPTIONS[request.param]


def lists(option, offsets, dtype=np.int64, **more):
    return ak.contents.ListOffsetArray(ak.index.Index(np.array(offsets, dtype)), option, **more)


OTHERS = {
    "records": lambda option: option(
        ak.contents.RecordArray([content(numbers("d")), content(numbers("l"))], ["x", "y"])
    ),
    "lists": lambda option: option(lists(content(numbers("d")), range(11))),
    "strings": lambda option: option(ak.Array(["a", "bc", "", "d", "e", "f", "gh", "i"]).layout),
    "two dimensions": lambda option: option(np.arange(20).reshape(10, 2)),
    "float16": lambda option: option(np.arange(10, dtype=np.float16)),
    "every other": lambda option: option(np.arange(20)[::2]),
    "index of 32 bits": lambda option: indexed(numbers("d"), dtype=np.int32),
}
"""Layouts that are left to awkward."""


# Filling


FILLS = [0, -1, 1.5, True, np.uint64(2**63 + 1), np.float32(0.1), np.int8(-128), np.nan, 2j]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("fill", FILLS, ids=repr)
@pytest.mark.parametrize("char", KINDS)
def test_filling_writes_once(option, char, fill):
    x, y = np.dtype(char), np.asarray(fill).dtype
    merged = x == y or {x.kind, y.kind} <= set("biuf")
    for valid in (SOME, [False] * 8, [True] * 8):
        assert_same(
            lambda array: ak.fill_none(array, fill, axis=0),
            option(numbers(char), valid),
            number=1 if merged else None,
        )


@pytest.mark.parametrize("fill", [0, 1.5])
def test_filling_of_nothing(option, fill):
    for values in (numbers("d")[:0], numbers("l")):
        assert_same(lambda array: ak.fill_none(array, fill, axis=0), option(values, []), number=0)


@pytest.mark.parametrize("axis", [-1, 1, None])
@pytest.mark.parametrize("offsets", [[0, 3, 3, 8], [1, 3, 3, 7], [4, 4]], ids=str)
def test_filling_in_lists(option, offsets, axis):
    assert_same(lambda array: ak.fill_none(array, 0, axis=axis), lists(option(numbers("d")), offsets))


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("target", [0, 2, 5])
def test_filling_what_was_padded(target, clip):
    array = lists(content(numbers("d")), [0, 3, 3, 4, 10])
    number = 3 if clip and target else None
    assert_same(
        lambda array: ak.fill_none(ak.pad_none(array, target, clip=clip, axis=1), 0), array, number=number
    )


@pytest.mark.parametrize("other", sorted(OTHERS))
def test_filling_of_others(option, other):
    array = OTHERS[other](option)
    assert_same(lambda array: ak.fill_none(array, 0, axis=0), array)
    assert_same(lambda array: ak.fill_none(array, 0, axis=None), array)


@pytest.mark.parametrize("fill", ["text", np.float16(0.1), [1], [], ["text"], [[1.5]], [{"x": 1}]], ids=repr)
def test_filling_with_others(option, fill):
    array = option(numbers("d"))
    if isinstance(fill, list):
        assert_same(lambda array, fill: ak.fill_none(array, fill, axis=0), array, fill)
    else:
        assert_same(lambda array: ak.fill_none(array, fill, axis=0), array)


@pytest.mark.parametrize("of_value", [None, {"unit": "GeV"}, {"unit": "m"}, {"__array__": "byte"}], ids=str)
@pytest.mark.parametrize("of_content", [None, {"unit": "GeV"}, {"__array__": "byte"}], ids=str)
@pytest.mark.parametrize("of_option", [None, {"unit": "s"}, {"name": "x"}], ids=str)
def test_filling_has_the_parameters_of_both(option, of_option, of_content, of_value):
    array = option(content(numbers("B"), of_content), parameters=of_option)
    value = content(np.array([7], np.uint8), of_value)
    assert_same(lambda array, value: ak.Array(ak._do.fill_none(array.layout, value.layout)), array, value)


@pytest.mark.parametrize("n", [0, 2])
def test_filling_takes_one_value(option, n):
    layouts = option(numbers("d")), content(np.zeros(n))
    array, value = (ak.to_backend(layout, "cuda", highlevel=False) for layout in layouts)
    with pytest.raises(ValueError, match=f"value length .{n}. is not equal to 1"):
        ak._do.fill_none(array, value)


def test_filling_with_the_content_itself(option):
    def function(array):
        return ak.Array(ak._do.fill_none(array.layout, array.layout.content))

    assert_same(function, option(np.array([5.0]), [True]))
    assert_same(function, option(np.array([5.0]), [False]))


# Leaving out


LONG = [0, 3, 3, 20, 8220, 8220, 17000]
"""Lists of some, of none, of more than 16 and of more than 8,192 elements."""


def some_of(n):
    return np.arange(n) % 3 != 1


@pytest.mark.parametrize("char", KINDS)
def test_leaving_out_takes_three_launches(option, char):
    for valid in (SOME, [False] * 8, [True] * 8):
        array = lists(option(numbers(char), valid), [0, 3, 3, 8])
        assert_same(lambda array: ak.drop_none(array, axis=1), array, number=3)


OFFSETS = [[0, 3, 3, 8], [0, 2, 2, 6], [2, 3, 3, 8], [1, 1, 4, 7], [5, 5], [0, 0, 0], [0], [3]]


@pytest.mark.parametrize("axis", [-1, 1, None])
@pytest.mark.parametrize("offsets", OFFSETS, ids=str)
def test_leaving_out_of_lists(option, offsets, axis):
    assert_same(lambda array: ak.drop_none(array, axis=axis), lists(option(numbers("d")), offsets))


def test_leaving_out_of_lists_that_do_not_start_at_0_shifts_their_offsets_first(option):
    assert_same(
        lambda array: ak.drop_none(array, axis=1), lists(option(numbers("d")), [1, 1, 4, 7]), number=4
    )


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
@pytest.mark.parametrize("offsets", OFFSETS, ids=str)
def test_leaving_out_of_lists_with_offsets_of_32_bits(option, offsets, dtype):
    # awkward has no kernel for them.
    found, expected = (
        ak.drop_none(ak.to_backend(lists(option(numbers("d")), offsets, t), "cuda"), axis=1)
        for t in (dtype, "int64")
    )
    assert found.layout.form == expected.layout.form
    assert str(found.to_list()) == str(expected.to_list())


def test_leaving_out_of_long_lists(option):
    array = lists(option(numbers("l", 17000), some_of(17000)), LONG)
    assert_same(lambda array: ak.drop_none(array, axis=1), array, number=3)


@pytest.mark.parametrize("axis", [-1, 2, 1, 0, 3, -2, -3, None])
@pytest.mark.parametrize("outer", [[0, 2, 2, 3], [1, 3], [1, 2, 2]], ids=str)
def test_leaving_out_of_lists_of_lists(option, outer, axis):
    array = lists(lists(option(numbers("d")), [1, 3, 3, 8]), outer, np.int32)
    assert_same(lambda array: ak.drop_none(array, axis=axis), array)


@pytest.mark.parametrize("axis", [-1, 1, None])
def test_leaving_out_keeps_the_parameters_that_awkward_keeps(option, axis):
    inner = lists(
        option(content(numbers("B"), {"of": "content"}), parameters={"of": "option"}), [0, 3, 3, 8],
        parameters={"of": "lists"},
    )  # fmt: skip
    outer = lists(inner, [0, 1, 3], parameters={"of": "lists of lists"})
    for array in (inner, outer):
        assert_same(lambda array: ak.drop_none(array, axis=None if axis is None else -1), array)
    assert_same(lambda array: ak.Array(array.layout.drop_none()), inner)


@pytest.mark.parametrize("axis", [-1, 1, None])
@pytest.mark.parametrize(
    "other", sorted(OTHERS.keys() - {"index of 32 bits"})
)  # for which awkward has no kernel
def test_leaving_out_of_others(option, other, axis):
    assert_same(lambda array: ak.drop_none(array, axis=axis), lists(OTHERS[other](option), [0, 3, 3, 8]))


@pytest.mark.parametrize("axis", [-1, 0, 1, None])
def test_leaving_out_of_what_is_more_than_lists(option, axis):
    array = lists(option(numbers("d")), [0, 3, 3, 8])
    regular = ak.contents.RegularArray(option(numbers("d")), 4)
    starts, stops = ak.index.Index64(np.array([4, 0, 3])), ak.index.Index64(np.array([8, 3, 3]))
    for other in (
        indexed(array, [True, False, True]),
        ak.contents.RecordArray([array, array], ["x", "y"]),
        ak.contents.ListArray(starts, stops, option(numbers("d"))),
        lists(regular, [0, 1, 2]),
        regular,
        option(numbers("d")),
        content(numbers("d")),
        lists(content(numbers("d")), [0, 3, 3, 8]),
    ):
        assert_same(lambda array: ak.drop_none(array, axis=axis), other)


@pytest.mark.parametrize("highlevel", [True, False])
def test_leaving_out_of_a_layout(option, highlevel):
    def function(array):
        found = ak.drop_none(array.layout, axis=1, highlevel=highlevel, attrs={"x": 1} if highlevel else None)
        assert isinstance(found, ak.Array if highlevel else ak.contents.Content)
        assert not highlevel or found.attrs == {"x": 1}
        return ak.Array(found)

    assert_same(function, lists(option(numbers("d")), [0, 3, 3, 8]), number=3)


@pytest.mark.parametrize("offsets", [[0, 3, 3, 9], [0, 9, 8]], ids=str)
def test_leaving_out_of_lists_that_are_longer_than_their_content(option, offsets):
    assert_same(lambda array: ak.drop_none(array, axis=1), lists(option(numbers("d")), offsets))


def test_leaving_out_looks_for_an_index_out_of_range():
    index = ak.index.Index64(np.array([0, -1, 9, 10]))
    array = lists(ak.contents.IndexedOptionArray(index, content(numbers("d"))), [0, 1, 4])
    with pytest.raises(ValueError, match=r"index out of range.*nextcarry_outindex"):
        ak.drop_none(ak.to_backend(ak.Array(array), "cuda"), axis=1).to_list()


def test_leaving_out_with_an_index_out_of_range_is_the_error_of_the_cpu():
    index = ak.index.Index64(np.array([0, -1, 10, 9]))
    array = lists(ak.contents.IndexedOptionArray(index, content(numbers("d"))), [0, 1, 4])
    assert_same(lambda array: ak.drop_none(array, axis=1), array)


# Reductions


REDUCTIONS = {
    "sum": ak.sum,
    "prod": ak.prod,
    "count": ak.count,
    "count_nonzero": ak.count_nonzero,
    "any": ak.any,
    "all": ak.all,
    "max": ak.max,
    "min": ak.min,
    "mean": ak.mean,
    "argmax": ak.argmax,
}
MASKED = {"max", "min", "argmax"}
"""Reductions that give None for a list without elements, if they are not told otherwise."""


@pytest.fixture(params=sorted(REDUCTIONS))
def reduction(request):
    return request.param


def small_numbers(char, n=10):
    """Of which no product overflows, and no sum is rounded."""
    found = np.arange(n) % 4 if np.dtype(char).kind in "bu" else np.arange(n) % 5 - 2
    return found.astype(char)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("char", KINDS)
def test_reducing_takes_one_launch(option, reduction, char):
    number = None
    if char in "?ilfd" and reduction not in ("mean", "argmax"):
        number = 2 if reduction in MASKED else 1

    def function(array):
        return REDUCTIONS[reduction](array, axis=1)

    for valid in (SOME, [False] * 8, [True] * 8):
        array = lists(option(small_numbers(char), valid), [0, 3, 3, 8])
        assert_same(function, array, number=number)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("char", "?ilfd")
def test_reducing_extreme_numbers(option, reduction, char):
    def function(array):
        return REDUCTIONS[reduction](array, axis=1)

    assert_same(function, lists(option(numbers(char)), [0, 1, 2, 3, 5, 8]))


@pytest.mark.parametrize("mask_identity", [False, True])
@pytest.mark.parametrize("keepdims", [False, True])
def test_the_form_of_what_is_reduced(option, reduction, keepdims, mask_identity):
    def function(array):
        return REDUCTIONS[reduction](array, axis=-1, keepdims=keepdims, mask_identity=mask_identity)

    for offsets in ([0, 3, 3, 8], [1, 2, 2, 4, 7], [0, 0], [0], [8]):
        for parameters in (None, {"of": "it"}):
            inner = option(content(small_numbers("d"), parameters), parameters=parameters)
            assert_same(function, lists(inner, offsets, parameters=parameters))


@pytest.mark.parametrize("char", "?ilfd")
def test_reducing_long_lists(option, reduction, char):
    def function(array):
        return REDUCTIONS[reduction](array, axis=1)

    some = option(small_numbers(char, 17000), some_of(17000))
    assert_same(function, lists(some, LONG))
    assert_same(function, lists(some, [0, 17000]))
    assert_same(function, lists(some, range(0, 17001, 17)))
    assert_same(function, lists(some, range(0, 17001, 40)))


@pytest.mark.parametrize("char", "?ilfd")
def test_a_sum_in_another_type(option, char):
    def function(array):
        return ak.Array(ak._do.reduce(array.layout, ak._reducers.Sum(np.float64), axis=1, mask=False))

    large = np.full(10, 2**62 if char == "l" else 1e30 if char in "fd" else 1, char)
    assert_same(function, lists(option(large), [0, 3, 3, 8]))


@pytest.mark.parametrize("axis", [-1, 0, 1, 2, None])
@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_reducing_lists_of_lists(option, reduction, axis, dtype):
    def function(array):
        return REDUCTIONS[reduction](array, axis=axis)

    inner = lists(option(small_numbers("l")), [0, 3, 3, 5, 8], dtype)
    for array in (lists(inner, [0, 2, 2, 4], dtype), lists(inner, [1, 4], dtype), inner):
        if axis != 2 or array is not inner:
            assert_same(function, array)


@pytest.mark.parametrize("axis", [0, None])
def test_reducing_what_is_no_list(option, reduction, axis):
    def function(array):
        return REDUCTIONS[reduction](array, axis=axis)

    assert_same(function, option(small_numbers("d")))
    assert_same(function, option(small_numbers("d"), [False] * 8))


@pytest.mark.parametrize(
    "other", sorted(OTHERS.keys() - {"float16", "records", "strings"})
)  # awkward does not, either
def test_reducing_others(option, other, reduction):
    def function(array):
        return REDUCTIONS[reduction](array, axis=-1)

    assert_same(function, lists(OTHERS[other](option), [0, 3, 3, 8]))


@pytest.mark.parametrize("mask_identity", [False, True])
@pytest.mark.parametrize(
    "char, initial", [("l", -100), ("l", 100), ("d", 1), ("d", 1.5), ("d", np.nan), ("d", np.inf)]
)
@pytest.mark.parametrize("extremum", [ak.max, ak.min])
def test_an_extremum_of_what_there_is_and_a_number(option, extremum, char, initial, mask_identity):
    def function(array):
        return extremum(array, axis=1, initial=initial, mask_identity=mask_identity)

    assert_same(function, lists(option(numbers(char)), [0, 1, 1, 8]), number=1 + mask_identity)


@pytest.mark.parametrize("initial", [1.5, np.nan])
@pytest.mark.parametrize("extremum", [ak.max, ak.min])
def test_an_extremum_of_integers_and_another_number(option, extremum, initial):
    array = ak.to_backend(lists(option(numbers("l")), [0, 1, 1, 8]), "cuda")
    with pytest.raises(TypeError, match="must be an integer"):
        extremum(array, axis=1, initial=initial)


@pytest.mark.parametrize("statistic", [ak.mean, ak.var, ak.std, ak.softmax, ak.ptp])
def test_statistics(option, statistic):
    def function(array):
        return statistic(array, axis=-1)

    array = ak.Array(lists(option(numbers("l")[2:]), [0, 3, 3, 8]))
    assert operations.problems(function, array, backend="cuda", tolerance=1e-12) == []


BEYOND = {
    "fill_none": lambda x: ak.fill_none(x, 0.0),
    "drop_none": lambda x: ak.drop_none(x),
    "sum": lambda x: ak.sum(x),
    "max": lambda x: ak.max(x, axis=-1),
    "sum axis=-1": lambda x: ak.sum(x, axis=-1),
    "prod axis=-1": lambda x: ak.prod(x, axis=-1),
    "any axis=-1": lambda x: ak.any(x, axis=-1),
    "argmax axis=-1": lambda x: ak.argmax(x, axis=-1),
    "mean axis=-1": lambda x: ak.mean(x, axis=-1),
    "count axis=-1": lambda x: ak.sum(x, axis=-1, keepdims=True),
    "singletons": lambda x: ak.singletons(x),
    "to_packed": lambda x: ak.to_packed(x),
}


def test_an_index_of_a_mask_that_leaves_its_content_is_an_error():
    mask = ak.contents.IndexedOptionArray(ak.index.Index64(np.array([0, -1, 5])), content(np.array([True, False])))
    array, mask = (ak.to_backend(ak.Array(x), "cuda") for x in ([1, 2, 3], mask))
    with pytest.raises(ValueError, match="index out of range in compiled CUDA code"):
        ak.to_list(array[mask])


@pytest.mark.parametrize("of_lists", [False, True])
@pytest.mark.parametrize("values", [[], [1.5, 2.5, 3.5]], ids=str)
@pytest.mark.parametrize("operation", BEYOND)
def test_an_index_that_leaves_the_content_is_an_error(operation, values, of_lists):
    option = ak.contents.IndexedOptionArray(ak.index.Index64(np.array([0, -1, 9, 2])), content(np.array(values)))
    layout = lists(option, [0, 1, 4]) if of_lists else option
    array = ak.to_backend(ak.Array(layout), "cuda")
    with pytest.raises(ValueError, match="index out of range in compiled CUDA code"):
        ak.to_list(BEYOND[operation](array))
