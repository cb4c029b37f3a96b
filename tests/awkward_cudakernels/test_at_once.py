"""awkward's functions that the array layer does at once: what awkward does, in so many launches and waits."""

import contextlib
import copy

import awkward as ak
import numpy as np
import operations
import pretended_cupy
import pytest
import waits
from operations import assert_same

from primitives import _reduce, _scan, _segmented, _sort, _transform

Index, Index64 = ak.index.Index, ak.index.Index64
ListArray, ListOffsetArray = ak.contents.ListArray, ak.contents.ListOffsetArray
NumpyArray = ak.contents.NumpyArray


pytestmark = pytest.mark.usefixtures("cupy")


@contextlib.contextmanager
def launched(cupy):
    """Inside, the templates that are launched are noted, and of a pretended CuPy what it launches."""
    found = []

    def noting(function):
        def call(*args, **kwargs):
            found.append(args[0].name)
            return function(*args, **kwargs)

        return call

    with contextlib.ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for module in (_reduce, _scan, _segmented, _sort, _transform):
            patch.setattr(module, "run", noting(module.run))
        if isinstance(cupy, pretended_cupy.Module):
            stack.enter_context(waits.operators(cupy, found))
        yield found


def assert_at_once(cupy, function, arrays, templates, waiting=0):
    """Whether a function launches these templates, and waits so often when ends of indexes are known."""
    on_device = [ak.to_backend(array, "cuda") for array in arrays]
    function(*on_device)
    with launched(cupy) as found:
        function(*on_device)
    if not isinstance(cupy, pretended_cupy.Module):
        templates = [name for name in templates if name != "copy"]
    assert found == templates
    if isinstance(cupy, pretended_cupy.Module):
        with waits.watched() as waited:
            function(*on_device)
        assert len(waited) == waiting, waited


def lists(values, offsets=None, starts=None, stops=None, dtype=np.int64, parameters=None):
    content = values if isinstance(values, ak.contents.Content) else NumpyArray(np.array(values))
    if offsets is not None:
        return ListOffsetArray(Index(np.array(offsets, dtype)), content, parameters=parameters)
    starts, stops = (Index(np.array(x, dtype)) for x in (starts, stops))
    return ListArray(starts, stops, content, parameters=parameters)


NUMBERS = np.array([0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5])
RECORDS = ak.contents.RecordArray([NumpyArray(NUMBERS), NumpyArray(np.arange(7))], ["x", "y"])
LONG = np.arange(30_000) % 1000
OF_NUMBERS = {
    "some": lists(NUMBERS, [0, 3, 3, 7]),
    "from an element on": lists(NUMBERS, [2, 3, 3, 5]),
    "without elements": lists(NUMBERS, [4, 4, 4, 4]),
    "of no content": lists(NUMBERS[:0], [0, 0, 0, 0]),
    "of int32": lists(np.arange(9), [1, 2, 6, 8], dtype=np.int32),
    "of uint32": lists(np.arange(9), [1, 2, 6, 8], dtype=np.uint32),
    "long": lists(LONG, [10, 12_000, 12_001, 29_999]),
    "of parameters": lists(NumpyArray(np.arange(7), parameters={"unit": "mm"}), [0, 3, 3, 7]),
}
OTHERS = {
    "starts and stops": lists(NUMBERS, starts=[4, 0, 0], stops=[7, 0, 4]),
    "starts and stops of int32": lists(NUMBERS, starts=[4, 0, 0], stops=[7, 0, 4], dtype=np.int32),
    "starts and stops without gaps": lists(NUMBERS, starts=[0, 3, 3], stops=[3, 3, 7]),
    "records": lists(RECORDS, [0, 3, 3, 7]),
    "records from an element on": lists(RECORDS, [1, 3, 3, 7]),
    "some of the records": lists(RECORDS, [0, 3, 3, 6]),
    "lists": lists(lists(NUMBERS, [0, 1, 1, 3, 4, 5, 7, 7]), [0, 3, 3, 7]),
    "lists with a gap": lists(lists(NUMBERS, [1, 1, 1, 3, 4, 5, 6, 6]), [0, 3, 3, 6]),
    "lists of starts and stops": lists(
        lists(NUMBERS, starts=[0, 3, 1, 0, 2, 4, 6], stops=[2, 3, 4, 1, 7, 5, 7]), [0, 3, 3, 7]
    ),
    "rows": lists(np.arange(14).reshape(7, 2), [0, 3, 3, 7]),
    "rows with a gap": lists(np.arange(14).reshape(7, 2), [1, 3, 3, 6]),
    "more stops than starts": lists(NUMBERS, starts=[4, 0, 0], stops=[7, 0, 4, 9]),
    "characters": lists(NumpyArray(np.arange(97, 104, dtype=np.uint8), parameters={"__array__": "char"}), [0, 3, 3, 7]),
    "halves": lists(NUMBERS.astype(np.float16), [0, 3, 3, 7]),
    "every second": lists(NumpyArray(np.arange(14)[::2]), [0, 3, 3, 7]),
    "strings": ak.Array([["a", "bc", "d"], [], ["e", "f", "", "gh"]]).layout,
    "options in lists": ak.Array([[1, None, 3], [], [4, 5, None, 7]]).layout,
    "options": ak.Array([[1, 3], None, [4, 5, 7]]).layout,
    "a mask": ak.mask(ak.Array([[1, 2], [], [3, 4, 5]]), [True, False, True]).layout,
    "unions": ak.Array([[1, "one"], [], [[2]]]).layout,
    "regular": ak.to_regular(ak.Array([[1, 2], [3, 4], [5, 6]])).layout,
    "two dimensions": ak.Array(np.arange(6).reshape(3, 2)).layout,
    "indexed": ak.contents.IndexedArray(Index64(np.array([2, 0, 1])), lists(NUMBERS, [0, 3, 3, 7])),
    "unknown": ak.Array([[], [], []]).layout,
    "of a list's parameters": lists(NUMBERS, [0, 3, 3, 7], parameters={"unit": "mm"}),
    "words": ak.Array(["one", "", "three"]).layout,
    "bytes": ak.Array([b"one", b"", b"three"]).layout,
    "numbers": ak.Array([1, 2, 3]).layout,
    "of one list": lists(NUMBERS, [0, 7]),
    "of no list": lists(NUMBERS, [0]),
    "of no list, from an element on": lists(NUMBERS, [3]),
}
ALL = {**OF_NUMBERS, **OTHERS}
IDS = {"ids": lambda name: name.replace(" ", "-") if isinstance(name, str) else str(name)}

# Concatenation


CONCATENATIONS = {
    "axis=1": lambda a, b: ak.concatenate([a, b], axis=1),
    "axis=-1": lambda a, b: ak.concatenate([a, b], axis=-1),
    "axis=0": lambda a, b: ak.concatenate([a, b], axis=0),
}


@pytest.mark.parametrize("axis", CONCATENATIONS)
@pytest.mark.parametrize("left", ALL, **IDS)
def test_concatenation(left, axis):
    wrong = {}
    for right, layout in ALL.items():
        arrays = [ak.Array(ALL[left]), ak.Array(copy.deepcopy(layout))]  # on the device, contents are two as well
        with contextlib.suppress(operations.Undefined):
            wrong[right] = operations.problems(CONCATENATIONS[axis], *arrays, backend="cuda")
    assert len(wrong) > 30
    assert not any(wrong.values()), {right: lines for right, lines in wrong.items() if lines}


@pytest.mark.parametrize("mergebool", [True, False])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("second", "?BilLfdFDe")
@pytest.mark.parametrize("first", "?BilLfdFDe")
def test_concatenation_of_numbers_of_other_types(first, second, axis, mergebool):
    large = np.array([0, 1, 200, 2**24 + 1, 2**53 + 1, 2**62 + 1])
    a, b = (
        lists((large % 2**7 if char in "?Be" else large % 2**31 if char == "i" else large).astype(char), offsets)
        for char, offsets in ((first, [1, 3, 3, 6]), (second, [0, 2, 5, 6]))
    )
    assert_same(lambda a, b: ak.concatenate([a, b], axis=axis, mergebool=mergebool), a, b)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    "third", ["some", "from an element on", "of int32", "without elements", "records", "of no list", "strings"]
)
def test_concatenation_of_three(third, axis):
    a, b = lists(np.arange(7), [1, 3, 3, 6]), lists(NUMBERS, [0, 3, 4, 7])
    assert_same(lambda a, b, c: ak.concatenate([a, b, c], axis=axis), a, b, ALL[third])
    assert_same(lambda a, b, c: ak.concatenate([c, a, b], axis=axis), a, b, ALL[third])


@pytest.mark.parametrize("axis", [0, 1])
def test_concatenation_of_many(axis):
    a, b = lists(np.arange(7), [1, 3, 3, 6]), lists(NUMBERS, [0, 3, 4, 7])
    assert_same(lambda a, b: ak.concatenate([a, b] * 7, axis=axis), a, b)
    assert_same(lambda a: ak.concatenate([a], axis=axis), a)
    assert_same(lambda a: ak.concatenate([a, a], axis=axis), a)
    assert_same(lambda a: ak.concatenate(a[:, np.newaxis], axis=axis), a)
    if axis == 1:  # else awkward mixes backends
        assert_same(lambda a: ak.concatenate([a, 5], axis=axis), b)
    assert_same(lambda a: np.concatenate([a, a * 2], axis=axis), b)


@pytest.mark.parametrize("axis", [0, 1])
def test_concatenation_of_lists_without_gaps_of_deeper_ones(axis):
    inner = lists(NUMBERS, [1, 1, 3, 4, 5, 6])
    for offsets, others in (([0, 3, 5], [0, 1, 5]), ([1, 3, 5], [0, 1, 4]), ([0, 3, 4], [1, 1, 5])):
        a, b = lists(inner, offsets), lists(inner, others)
        assert_same(lambda a, b: ak.concatenate([a, b, a], axis=axis), a, b)
        assert_same(lambda a, b: ak.concatenate([a, b[:0], b], axis=axis), a, b)


@pytest.mark.parametrize("axis", [0, 1])
def test_concatenation_keeps_what_arrays_carry(axis):
    a = ak.Array(OF_NUMBERS["some"], attrs={"one": 1, "both": "a"}, behavior={"first": 1})
    b = ak.Array(OF_NUMBERS["some"], attrs={"two": 2, "both": "b"}, behavior={"second": 2})
    for options in ({}, {"attrs": {"three": 3}}, {"behavior": {"third": 3}}):
        expected = ak.concatenate([a, b], axis=axis, **options)
        found = ak.concatenate([ak.to_backend(x, "cuda") for x in (a, b)], axis=axis, **options)
        assert dict(found.attrs) == dict(expected.attrs)
        assert found.behavior == expected.behavior
    low = ak.concatenate([ak.to_backend(x, "cuda") for x in (a, b)], axis=axis, highlevel=False)
    assert isinstance(low, ListOffsetArray)


@pytest.mark.parametrize("name", [1, "inner", "outer"])
def test_concatenation_along_a_named_axis(name):
    a = ak.with_named_axis(ak.Array(OF_NUMBERS["some"]), ("outer", "inner"))
    for b in (a, ak.Array(OF_NUMBERS["some"])):
        expected = ak.concatenate([a, b], axis=name)
        found = ak.concatenate([ak.to_backend(x, "cuda") for x in (a, b)], axis=name)
        assert found.to_list() == expected.to_list()
        assert found.named_axis == expected.named_axis == {"outer": 0, "inner": 1}


@pytest.mark.parametrize("axis", [0, 1])
def test_concatenation_of_axes_of_other_names(axis):
    a, b = (ak.with_named_axis(ak.Array(OF_NUMBERS["some"]), ("outer", name)) for name in ("inner", "other"))
    assert_same(lambda a, b: ak.concatenate([a, b], axis=axis), a, b)
    with pytest.raises(ValueError):
        ak.concatenate([ak.to_backend(x, "cuda") for x in (a, b)], axis=axis)


@pytest.mark.parametrize("axis", [2, -3, "inner", None, 1.5])
def test_concatenation_along_an_axis_that_is_not_there(axis):
    for arrays in ([ALL["some"], ALL["some"]], [ALL["words"], ALL["words"]]):
        assert_same(lambda a, b: ak.concatenate([a, b], axis=axis), *arrays)


def test_concatenation_of_unlike_lengths():
    a = ak.to_backend(ak.Array(OF_NUMBERS["some"]), "cuda")
    for other in (a[:2], a[:1], a[:0]):
        assert_same(lambda a, b: ak.concatenate([a, b], axis=1), *(ak.to_backend(x, "cpu") for x in (a, other)))


@pytest.mark.parametrize("name", ["some", "from an element on", "long", "of parameters", "of no content"])
def test_what_concatenation_launches(cupy, name):
    a, b = ak.Array(OF_NUMBERS[name]), ak.Array(lists(np.arange(7), [1, 3, 3, 6]))
    by_list = ["transform", "segmented_transform"]
    contents = [x.layout.content for x in (a, b)]
    common = np.result_type(*(content.dtype for content in contents))
    casts = ["transform"] * sum(content.dtype != common and content.length > 0 for content in contents)
    assert_at_once(cupy, lambda a, b: ak.concatenate([a, b], axis=1), [a, b], by_list[:1] + casts + by_list[1:])
    assert_at_once(cupy, lambda a: ak.concatenate([a, a], axis=-1), [b], by_list)
    assert_at_once(cupy, lambda a: ak.concatenate([a, a], axis=0), [b], ["transform", "transform", "copy", "copy"])
    assert_at_once(  # numbers are cast, and the last is copied
        cupy, lambda a, b: ak.concatenate([b, b, a], axis=0), [ak.Array(OF_NUMBERS["some"]), b],
        ["transform"] * 5 + ["copy"],
    )  # fmt: skip


@pytest.mark.parametrize("name", ["records", "lists", "strings", "words"])
def test_what_concatenation_of_others_launches(cupy, name):
    function, depth = (lambda a: ak.concatenate([a, a], axis=0)), {"strings": 2, "lists": 2}.get(name, 1)
    numbers = 2 if name == "records" else 1
    assert_at_once(cupy, function, [ak.Array(OTHERS[name])], ["transform"] * 2 * depth + ["copy"] * 2 * numbers)


def test_the_ends_of_concatenated_offsets_are_known(cupy):
    a, b = (ak.to_backend(ak.Array(OF_NUMBERS[name]), "cuda") for name in ("from an element on", "some"))
    for axis in (0, 1):
        offsets = ak.concatenate([a, b], axis=axis).layout.offsets
        assert offsets._ends == (0, 10)
        assert offsets.data[-1] == 10 and offsets.data[0] == 0
    inner = ak.to_backend(ak.Array(lists(RECORDS, [2, 3, 7])), "cuda")
    offsets = ak.concatenate([inner, ak.to_backend(ak.Array(lists(RECORDS, [0, 3])), "cuda")]).layout.offsets
    assert offsets._ends == (2, 10)
    assert offsets.data[-1] == 10 and offsets.data[0] == 2


# Joined arrays


@pytest.mark.parametrize("n", [1, 2, 8, 9])
@pytest.mark.parametrize("chars", ["d", "lf", "?b", "e", "ef", "D", "BH", "lL"])
def test_joined_arrays(chars, n):
    from awkward._nplikes.cupy import Cupy

    given = [np.arange(k % 4).astype(chars[k % len(chars)]) for k in range(n)]
    layer = Cupy.instance()
    found = layer.concat([layer.asarray(x) for x in given])
    expected = np.concatenate(given)
    assert found.dtype == expected.dtype
    assert found.get().tolist() == expected.tolist()


# Firsts and singletons


@pytest.mark.parametrize("axis", [0, 1, -1, 2])
@pytest.mark.parametrize("name", ALL, **IDS)
def test_firsts(name, axis):
    with contextlib.suppress(operations.Undefined):
        assert_same(lambda a: ak.firsts(a, axis=axis), ALL[name])


@pytest.mark.parametrize("name", ["some", "of int32", "of uint32", "starts and stops", "records", "strings"])
def test_what_firsts_launches(cupy, name):
    assert_at_once(cupy, lambda a: ak.firsts(a, axis=1), [ak.Array(ALL[name])], ["transform"])


INDEX = [2, -1, 0, -1, -1, 6, 2]
OPTIONS = {
    "numbers": NumpyArray(NUMBERS),
    "integers": NumpyArray(np.arange(7, dtype=np.int8)),
    "halves": NumpyArray(NUMBERS.astype(np.float16)),
    "rows": NumpyArray(np.arange(14).reshape(7, 2)),
    "records": RECORDS,
    "lists": lists(NUMBERS, [0, 1, 1, 3, 4, 5, 7, 7]),
    "strings": ak.Array(["a", "bc", "d", "e", "", "gh", "i"]).layout,
    "of parameters": NumpyArray(np.arange(7), parameters={"unit": "mm"}),
}


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("index", [INDEX, [-1] * 5, [0, 6, 3], [], [7], [-1, 100]], ids=str)
@pytest.mark.parametrize("dtype", [np.int64, np.int32])
@pytest.mark.parametrize("name", OPTIONS)
def test_singletons(name, dtype, index, axis):
    parameters = {"some": "thing"} if name == "of parameters" else None
    layout = ak.contents.IndexedOptionArray(
        Index(np.array(index, dtype)), OPTIONS[name], parameters=parameters
    )
    with contextlib.suppress(operations.Undefined):
        assert_same(lambda a: ak.singletons(a, axis=axis), layout)


@pytest.mark.parametrize("name", ALL, **IDS)
def test_singletons_of_others(name):
    with contextlib.suppress(operations.Undefined):
        assert_same(lambda a: ak.singletons(a, axis=0), ALL[name])


def test_what_singletons_launches(cupy):
    def function(a):
        return ak.singletons(a, axis=0)

    for name, templates in (
        ("numbers", ["scan", "transform"]), ("integers", ["scan", "transform"]), ("rows", ["scan"] + ["transform"] * 2)
    ):  # fmt: skip
        layout = ak.contents.IndexedOptionArray(Index64(np.array(INDEX)), OPTIONS[name])
        assert_at_once(cupy, function, [ak.Array(layout)], templates, waiting=1)


def test_singletons_of_nothing_have_an_offset():
    layout = ak.contents.IndexedOptionArray(Index64(np.zeros(0, np.int64)), OPTIONS["numbers"])
    found = ak.singletons(ak.to_backend(ak.Array(layout), "cuda"), axis=0)
    assert ak.to_backend(found, "cpu").layout.offsets.data.tolist() == [0]


def test_an_option_beyond_its_content_is_an_error():
    layout = ak.contents.IndexedOptionArray(Index64(np.array([0, 7])), OPTIONS["numbers"])
    with pytest.raises(ValueError, match="index out of range"):
        ak.singletons(ak.to_backend(ak.Array(layout), "cuda"), axis=0).to_list()


@pytest.mark.parametrize("function", [ak.firsts, ak.singletons])
def test_options_keep_what_an_array_carries(function):
    layout = OF_NUMBERS["some"] if function is ak.firsts else ak.Array([1, None, 3]).layout
    axis = 1 if function is ak.firsts else 0
    array = ak.Array(layout, attrs={"one": 1}, behavior={"first": 1})
    named = ak.with_named_axis(array, tuple("xy"[: axis + 1]))
    for given in (array, named):
        for options in ({}, {"attrs": {"three": 3}}, {"behavior": {"third": 3}}):
            expected = function(given, axis=axis, **options)
            found = function(ak.to_backend(given, "cuda"), axis=axis, **options)
            assert dict(found.attrs) == dict(expected.attrs)
            assert found.behavior == expected.behavior
            assert found.to_list() == expected.to_list()


# Groups


COUNTS = {
    "fitting": [3, 0, 4, 0],
    "one": [7],
    "too few": [3, 3],
    "too many": [3, 3, 3],
    "of nothing": [],
    "only zeros": [0, 0],
}


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "uint64", "float64", "bool"])
@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize(
    "array", [NumpyArray(NUMBERS), NumpyArray(NUMBERS[:0]), RECORDS, OPTIONS["lists"], OPTIONS["strings"]],
    ids=lambda layout: f"{type(layout).__name__}-{layout.length}",
)  # fmt: skip
def test_unflatten(array, counts, dtype):
    counts = ak.Array(np.array(COUNTS[counts], dtype))
    assert_same(lambda a, n: ak.unflatten(a, n, axis=0), ak.Array(array), counts)


@pytest.mark.parametrize(
    "counts",
    [
        ak.Array([3, None, 4]),
        ak.Array(ak.contents.IndexedArray(Index64(np.array([1, 0])), NumpyArray(np.array([4, 3])))),
        ak.Array([[3, 4]]),
        ak.Array(["one"]),
    ],
    ids=str,
)
def test_unflatten_by_other_counts(counts):
    assert_same(lambda a, n: ak.unflatten(a, n, axis=0), ak.Array(NUMBERS), counts)


@pytest.mark.parametrize("axis", [1, -1])
def test_unflatten_of_lists(axis):
    array, counts = ak.Array([[1, 2, 3], [], [4, 5]]), ak.Array([2, 1, 0, 2])
    assert_same(lambda a, n: ak.unflatten(a, n, axis=axis), array, counts)


@pytest.mark.parametrize("counts", [[5, -2, 4], [-1, 8], [8, -1], [7, -3, 3]], ids=str)
def test_unflatten_refuses_negative_counts(counts):
    array, counts = (ak.to_backend(ak.Array(x), "cuda") for x in (NUMBERS, counts))
    with pytest.raises(ValueError, match="structure imposed by 'counts' does not fit"):
        ak.unflatten(array, counts)


def test_unflatten_keeps_what_arrays_carry():
    array = ak.Array(NUMBERS, attrs={"one": 1, "both": 1}, behavior={"first": 1})
    counts = ak.Array([3, 4], attrs={"two": 2, "both": 2}, behavior={"second": 2})
    for given in (array, ak.with_named_axis(array, ("x",))):
        for options in ({}, {"attrs": {"three": 3}}, {"behavior": {"third": 3}}):
            expected = ak.unflatten(given, counts, **options)
            found = ak.unflatten(ak.to_backend(given, "cuda"), ak.to_backend(counts, "cuda"), **options)
            assert dict(found.attrs) == dict(expected.attrs)
            assert found.behavior == expected.behavior


def test_what_unflatten_launches(cupy):
    for dtype in ("int64", "int32"):
        arrays = [ak.Array(NUMBERS), ak.Array(np.array([3, 0, 4], dtype))]
        assert_at_once(cupy, lambda a, n: ak.unflatten(a, n), arrays, ["scan"], waiting=1)


RUNS = {
    "none": [],
    "one": [1],
    "some": [1, 1, 2, 0, 0, 0, 1],
    "equal": [2] * 300,
    "unequal": list(range(100)),
    "long": np.repeat(np.arange(50) % 2, np.arange(50) ** 2),
}


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint64", "bool", "float64", "float32", "complex128", "float16"])
@pytest.mark.parametrize("name", RUNS)
def test_run_lengths(name, dtype):
    assert_same(ak.run_lengths, ak.Array(np.array(RUNS[name]).astype(dtype)))


@pytest.mark.parametrize(
    "array",
    [
        ak.Array([0.0, -0.0, np.nan, np.nan, np.inf, np.inf]),
        ak.Array([[1, 1, 2], [2, 2], [], [2, 3]]),
        ak.Array([["one", "one"], ["one", "two"]]),
        ak.Array(["one", "one", "two"]),
        ak.Array(np.array([[1, 1], [1, 2]])),
        ak.Array([1, None, 1]),
        ak.Array(NumpyArray(np.array([1, 1, 2]), parameters={"unit": "mm"}), attrs={"one": 1}),
    ],
    ids=str,
)
def test_run_lengths_of_others(array):
    with contextlib.suppress(operations.Undefined):
        assert_same(ak.run_lengths, array)


@pytest.mark.parametrize("name", ALL, **IDS)
def test_run_lengths_of_lists(name):
    with contextlib.suppress(operations.Undefined):
        assert_same(ak.run_lengths, ALL[name])


@pytest.mark.parametrize("dtype", ["int64", "int32", "bool", "float32", "complex64", "float16"])
@pytest.mark.parametrize(
    "offsets", [[0, 3, 3, 7], [0, 0, 2, 2, 4, 7, 7], [0, 7], [0, 0, 1], [0, 0], [2, 4, 7]], ids=str
)
def test_runs_do_not_cross_lists(offsets, dtype):
    for values in ([1, 1, 1, 1, 1, 1, 1], [1, 1, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1, 0]):
        for of in (np.int64, np.int32):
            assert_same(ak.run_lengths, lists(np.array(values, dtype), offsets, dtype=of))


def test_run_lengths_keeps_what_an_array_carries():
    array = ak.with_named_axis(ak.Array([1, 1, 2], attrs={"one": 1}, behavior={"first": 1}), ("x",))
    for options in ({}, {"attrs": {"three": 3}}, {"behavior": {"third": 3}}):
        expected = ak.run_lengths(array, **options)
        found = ak.run_lengths(ak.to_backend(array, "cuda"), **options)
        assert dict(found.attrs) == dict(expected.attrs)
        assert found.behavior == expected.behavior


def test_what_run_lengths_launches(cupy):
    for values in (np.array([1, 1, 2]), np.array([1.5, 2.5])):
        assert_at_once(cupy, ak.run_lengths, [ak.Array(values)], ["scan", "transform"], waiting=1)
    templates = ["segmented_transform", "scan", "transform", "transform", "transform"]
    assert_at_once(cupy, ak.run_lengths, [ak.Array(OF_NUMBERS["some"])], templates, waiting=1)


# Masks of arrays


def indexed(content, index=(2, 0, 1, 1, 6), dtype=np.int64, parameters=None):
    content = content if isinstance(content, ak.contents.Content) else NumpyArray(content)
    return ak.contents.IndexedArray(Index(np.array(index, dtype)), content, parameters=parameters)


FLAT = {
    **ALL,
    "numbers": NumpyArray(NUMBERS),
    "complex numbers": NumpyArray(NUMBERS * 1j),
    "halves": NumpyArray(NUMBERS.astype(np.float16)),
    "every second": NumpyArray(np.arange(14)[::2]),
    "numbers of parameters": NumpyArray(np.arange(7), parameters={"unit": "mm"}),
    "more stops than starts": lists(NUMBERS, starts=[4, 0, 0], stops=[7, 0, 4, 9]),
    "a record of lists": ak.zip({"x": ak.Array([[1], [], [2, 3]]), "y": ak.Array([[], [1], []])}, depth_limit=1).layout,
    "strings": ak.Array(["one", "", "three"]).layout,
    "regular": ak.contents.RegularArray(NumpyArray(NUMBERS), 2),
    "records": RECORDS,
    "a tuple": ak.contents.RecordArray([NumpyArray(NUMBERS)], None, parameters={"__record__": "one"}),
    "records without fields": ak.contents.RecordArray([], [], length=7),
    "records by an index": ak.contents.IndexedArray(Index64(np.array([3, 0, 6, 6])), RECORDS, parameters={"a": 1}),
    "records by an index of int32": ak.contents.IndexedArray(ak.index.Index32(np.array([3, 0, 6], np.int32)), RECORDS),
    "options by an index": ak.contents.IndexedOptionArray(Index64(np.array([3, -1, 6, -1, 0])), RECORDS),
    "options": ak.contents.ByteMaskedArray(ak.index.Index8(np.arange(7) % 2), NumpyArray(NUMBERS), True),
    "categories": indexed(ak.Array(["one", "two"]).layout, (0, 1, 0), parameters={"__array__": "categorical"}),
}


@pytest.mark.parametrize("name", FLAT, **IDS)
def test_masks_of_arrays(name):
    n = FLAT[name].length
    masks = [np.zeros(n, bool), np.ones(n, bool), np.arange(n) % 2 > 0, np.arange(n) % 3 < 1]
    for mask in masks:
        for form in (mask, np.repeat(mask, 2)[::2]):
            assert_same(lambda a, m: a[m], FLAT[name], NumpyArray(form))
        assert_same(lambda a, m: a[m], FLAT[name], NumpyArray(mask[:-1]))
        assert_same(lambda a, m: a[m], FLAT[name], NumpyArray(np.append(mask, True)))


def test_masks_of_arrays_of_many():
    n = 70_000
    mask = np.random.default_rng(20265).random(n) < 0.4
    assert_same(lambda a, m: a[m], NumpyArray(np.arange(n)), NumpyArray(mask))
    offsets = np.cumsum(np.arange(n + 1) % 3)
    assert_same(lambda a, m: a[m], lists(np.arange(offsets[-1]), offsets), NumpyArray(mask))


def optional(mask, how):
    """A mask with a None in every third place."""
    missing = np.arange(len(mask)) % 3 == 1
    if how == "index":
        index = np.where(missing, -1, np.arange(len(mask)))
        return ak.contents.IndexedOptionArray(Index64(index), NumpyArray(np.append(mask, [True, True])))
    if how == "index of 32 bits":
        index = np.where(missing, -1, np.arange(len(mask)))[::-1].astype(np.int32)
        return ak.contents.IndexedOptionArray(ak.index.Index32(index), NumpyArray(mask))
    valid_when = how == "bytes"
    return ak.contents.ByteMaskedArray(
        ak.index.Index8((missing != valid_when).astype(np.int8)), NumpyArray(mask), valid_when
    )


@pytest.mark.parametrize("how", ["bytes", "bytes of what is missing", "index", "index of 32 bits"])
@pytest.mark.parametrize("name", FLAT, **IDS)
def test_masks_with_nones(name, how):
    n = FLAT[name].length
    for mask in (np.zeros(n, bool), np.ones(n, bool), np.arange(n) % 2 > 0):
        assert_same(lambda a, m: a[m], FLAT[name], optional(mask, how))
        assert_same(lambda a, m: a[m][:1], FLAT[name], optional(mask, how))
        if n:
            assert_same(lambda a, m: a[m], FLAT[name], optional(mask[:-1], how))
        assert_same(lambda a, m: a[m], FLAT[name], optional(np.append(mask, True), how))


def test_other_masks_with_nones():
    none = ak.contents.IndexedOptionArray(Index64(np.full(7, -1)), NumpyArray(np.zeros(0, bool)))
    assert_same(lambda a, m: a[m], NumpyArray(NUMBERS), none)
    assert_same(lambda a, m: a[m], RECORDS, ak.contents.UnmaskedArray(NumpyArray(NUMBERS > 2)))
    assert_same(lambda a, m: a[m], NumpyArray(NUMBERS), optional(np.arange(7), "bytes"))  # which is an index
    n = 70_000
    mask = np.random.default_rng(20266).random(n) < 0.4
    for how in ("bytes", "index"):
        assert_same(lambda a, m: a[m], NumpyArray(np.arange(n)), optional(mask, how))
    assert_same(lambda a: a[ak.max(a, axis=1) > 2], OF_NUMBERS["some"])


def test_what_masks_with_nones_launch(cupy):
    for how in ("bytes", "index"):
        mask = optional(np.arange(7) % 2 > 0, how)
        for array in (RECORDS, NumpyArray(NUMBERS), lists(NUMBERS, np.arange(8))):
            assert_at_once(cupy, lambda a, m: a[m], [array, mask], ["scan", "transform"], waiting=1)


def test_what_masks_of_arrays_launch(cupy):
    mask = NumpyArray(np.array([True, False, True]))
    for array in (OF_NUMBERS["some"], OTHERS["starts and stops"], OTHERS["records"], NumpyArray(NUMBERS[:3])):
        assert_at_once(cupy, lambda a, m: a[m], [array, mask], ["scan", "transform"], waiting=1)
    for name in ("records by an index of int32", "records", "options by an index"):
        array = FLAT[name]
        mask = NumpyArray(np.arange(array.length) % 2 > 0)
        assert_at_once(cupy, lambda a, m: a[m], [array, mask], ["scan", "transform"], waiting=1)


# One element of every list


def one_each(index, there=True, valid_when=False, more=None):
    """A regular array of one index, or none, each, as `ak.argmax` with `keepdims` gives."""
    index = np.asarray(index)
    mask = np.broadcast_to(np.asarray(there), index.shape) == valid_when
    option = ak.contents.ByteMaskedArray(ak.index.Index8(mask.astype(np.int8)), NumpyArray(index), valid_when)
    return ak.contents.RegularArray(option, 1, parameters=more)


INDEXED = ak.contents.IndexedArray(ak.index.Index64([6, 5, 4, 3, 2, 1, 0]), RECORDS)
PICKED_FROM = {
    **ALL,
    "indexed records": lists(INDEXED, [0, 3, 3, 7]),
    "indexed records of starts and stops": lists(INDEXED, starts=[4, 0, 0], stops=[7, 0, 4, 9]),
    "indexed records of int32": lists(
        ak.contents.IndexedArray(ak.index.Index32([6, 5, 4, 3, 2, 1, 0]), RECORDS), [0, 3, 3, 7]
    ),
    "records of starts and stops": lists(RECORDS, starts=[4, 0, 0], stops=[7, 0, 4], dtype=np.int32),
    "records of parameters": lists(RECORDS, [0, 3, 3, 7], parameters={"unit": "mm"}),
    "a named record": lists(
        ak.contents.RecordArray([NumpyArray(NUMBERS)], ["x"], parameters={"__record__": "point"}), [0, 3, 3, 7]
    ),
    "more stops than starts": lists(NUMBERS, starts=[4, 0, 0], stops=[7, 0, 4, 9]),
    "halves": lists(NUMBERS.astype(np.float16), [0, 3, 3, 7]),
}


@pytest.mark.parametrize("name", PICKED_FROM, **IDS)
def test_one_element_of_every_list(name):
    layout = PICKED_FROM[name]
    if layout.length == 0:
        return
    offsets = hasattr(layout, "starts") and (layout.starts.data, layout.stops.data[: layout.length])
    lengths = (offsets[1] - offsets[0] if offsets else np.ones(layout.length)).astype(np.int64)
    for valid_when in (False, True):
        for there in (lengths > 0, lengths > 2, np.zeros(layout.length, bool)):
            for index in (np.zeros_like(lengths), lengths - 1, np.full_like(lengths, -1)):
                assert_same(lambda a, i: a[i], layout, one_each(index, there, valid_when))
    if name not in ("unions", "unknown"):
        with contextlib.suppress(operations.Undefined, TypeError):
            assert_same(lambda a: a[ak.argmax(ak.local_index(a, axis=1), axis=1, keepdims=True)], layout)


@pytest.mark.parametrize("where", [[3, 0, 0], [0, 0, 4], [0, -1, 0], [-4, 0, 0], [7, 0, 9]], ids=str)
@pytest.mark.parametrize("name", ["some", "starts and stops", "records", "from an element on"], **IDS)
def test_picking_what_is_not_there_is_an_error(name, where):
    assert_same(lambda a, i: a[i], ALL[name], one_each(where))


@pytest.mark.parametrize("content", [NumpyArray(NUMBERS), RECORDS, INDEXED], ids=["numbers", "records", "indexed"])
@pytest.mark.parametrize("stops", [[2, 1, 5], [2, 9, 5], [9, 1, 5]], ids=str)
def test_picking_from_lists_that_are_wrong(content, stops):
    with contextlib.suppress(operations.Undefined):
        assert_same(lambda a, i: a[i], lists(content, starts=[0, 3, 2], stops=stops), one_each([0, 0, 0]))


def test_picking_with_another_length_or_other_options():
    for where in (one_each([0, 0]), one_each([0, 0, 0, 0]), one_each([0, 0, 0], more={"unit": "mm"})):
        assert_same(lambda a, i: a[i], OF_NUMBERS["some"], where)
    two = ak.contents.RegularArray(one_each([0, 0, 0, 0, 0, 0], [True, True, False, False, True, True]).content, 2)
    assert_same(lambda a, i: a[i], OF_NUMBERS["some"], two)


def test_the_largest_of_many_lists():
    rng = np.random.default_rng(20267)
    offsets = np.r_[0, np.cumsum(rng.poisson(1.5, 30_000))]
    numbers = lists(rng.random(offsets[-1]), offsets)
    assert_same(lambda a: a[ak.argmax(a, axis=1, keepdims=True)], numbers)
    assert_same(lambda a: a[ak.argmin(a.x, axis=1, keepdims=True)], ak.zip({"x": ak.Array(numbers)}).layout)


def test_what_picking_launches(cupy):
    where = one_each([0, 0, 1], [True, False, True])
    for array, templates, waiting in (
        (OF_NUMBERS["some"], ["scan", "transform"], 1),
        (OTHERS["records"], ["transform"], 0),
        (PICKED_FROM["indexed records"], ["transform"], 0),
    ):
        assert_at_once(cupy, lambda a, i: a[i], [array, where], templates, waiting=waiting)


# ak.mask


BITS = ak.contents.BitMaskedArray(
    ak.index.IndexU8(np.array([5], np.uint8)), NumpyArray(NUMBERS), True, 7, lsb_order=True
)
MASKED = {
    **FLAT,
    "options": ak.contents.ListOffsetArray(
        Index(np.array([0, 3, 3, 7])), ak.contents.IndexedOptionArray(Index(np.array(INDEX)), NumpyArray(NUMBERS))
    ),
    "a mask": ak.contents.ListOffsetArray(
        Index(np.array([0, 3, 3, 7])),
        ak.contents.ByteMaskedArray(ak.index.Index8(np.arange(7, dtype=np.int8) % 2), NumpyArray(NUMBERS), True),
    ),
    "bits": BITS,
    "no bits": ak.contents.BitMaskedArray(
        ak.index.IndexU8(np.array([], np.uint8)), NumpyArray(NUMBERS[:0]), True, 0, lsb_order=True
    ),
    "lists of bits": lists(BITS, [0, 3, 3, 7]),
    "unmasked": ak.contents.UnmaskedArray(NumpyArray(NUMBERS)),
    "regular bits": ak.contents.RegularArray(BITS, 2),
    "records of bits": ak.contents.RecordArray([BITS, NumpyArray(NUMBERS)], ["x", "y"]),
    "lists of records of bits": lists(ak.contents.RecordArray([BITS], ["x"]), [0, 3, 3, 7]),
    "lists of regular bits": lists(ak.contents.RegularArray(BITS, 2), [0, 1, 1, 3]),
    "longer than its lists": lists(np.arange(20), [0, 3, 3, 7]),
    "a dimension more": NumpyArray(np.arange(14).reshape(7, 2)),
}


@pytest.mark.parametrize("valid_when", [True, False])
@pytest.mark.parametrize("name", MASKED, **IDS)
def test_mask(name, valid_when):
    layout, rng = MASKED[name], np.random.default_rng(20268)
    for truths in (rng.random(layout.length) < 0.5, np.zeros(layout.length, bool)):
        assert_same(lambda a, m: ak.mask(a, m, valid_when=valid_when), layout, NumpyArray(truths))
    assert_same(lambda a, m: ak.mask(a, m), layout, NumpyArray(np.ones(1, bool)))
    if getattr(layout, "offsets", None) is not None:
        n = int(layout.offsets[-1])
        for more in (0, 3):
            truths = lists(rng.random(n + more) < 0.5, np.array(layout.offsets.data), dtype=layout.offsets.dtype)
            assert_same(lambda a, m: ak.mask(a, m, valid_when=valid_when), layout, truths)
        with contextlib.suppress(operations.Undefined, TypeError, ValueError):
            assert_same(lambda a: ak.mask(a, ak.local_index(a, axis=1) > 0, valid_when=valid_when), layout)


def test_mask_of_unlike_lists_and_of_numbers():
    array = OF_NUMBERS["some"]
    for truths in (
        lists(np.arange(7) > 2, [0, 3, 4, 7]),
        lists(np.arange(7), [0, 3, 3, 7]),
        lists(np.arange(8) > 2, [0, 3, 3, 8]),
        lists(np.arange(9) > 2, [2, 5, 5, 9]),
        NumpyArray(np.arange(3)),
        NumpyArray(np.arange(4) > 1),
        ak.Array([[True, None, False], [], [True, True, False, True]]).layout,
    ):
        assert_same(lambda a, m: ak.mask(a, m), array, truths)


def test_mask_keeps_what_arrays_carry():
    def function(a):
        named = ak.with_named_axis(a, ("events", None))
        return ak.mask(named, named > 1), ak.mask(ak.Array(a, attrs={"source": 1}), a > 1)

    assert_same(function, OF_NUMBERS["some"])


def test_what_mask_launches(cupy):
    array, truths = OF_NUMBERS["some"], lists(NUMBERS > 2, [0, 3, 3, 7])
    assert_at_once(cupy, lambda a: ak.mask(a, a > 2), [array], ["transform"])
    assert_at_once(cupy, ak.mask, [array, truths], [])
    assert_at_once(cupy, ak.mask, [array, NumpyArray(np.array([True, False, True]))], [])


# ak.zip


@pytest.mark.parametrize("limit", [None, 1, 2, 3])
@pytest.mark.parametrize("name", MASKED, **IDS)
def test_zip(name, limit):
    layout = MASKED[name]
    for function in (
        lambda a: ak.zip({"x": a, "y": a}, depth_limit=limit),
        lambda a: ak.zip((a, a[:]), depth_limit=limit, with_name="pair", parameters={"unit": "mm"}),
        lambda a: ak.zip([a, a, ak.local_index(a, axis=0)], depth_limit=limit, parameters={"unit": "mm"}),
        lambda a: ak.zip({"x": a}, depth_limit=limit, with_name="point"),
        lambda a: ak.zip({"x": a, "y": a}, depth_limit=limit, optiontype_outside_record=True),
        lambda a: ak.zip({"x": a, "y": a}, depth_limit=limit, right_broadcast=True),
    ):
        with contextlib.suppress(operations.Undefined):
            assert_same(function, layout)


@pytest.mark.parametrize("limit", [None, 1, 2])
def test_zip_of_others(limit):
    array = OF_NUMBERS["some"]
    for other in (
        lists(np.arange(7), [0, 3, 3, 7]),
        lists(np.arange(9), [2, 5, 5, 9]),
        lists(np.arange(9), [0, 3, 3, 7]),
        lists(np.arange(7), [0, 3, 3, 7], dtype=np.int32),
        lists(np.arange(7), starts=[0, 3, 3], stops=[3, 3, 7]),
        lists(np.arange(7), [0, 2, 3, 7]),
        lists(np.arange(7), [0, 3, 7]),
        lists(np.arange(7), [0, 3, 3, 7], parameters={"unit": "mm"}),
        NumpyArray(np.arange(3)),
        NumpyArray(np.arange(1)),
        NumpyArray(np.arange(4)),
    ):
        assert_same(lambda a, b: ak.zip({"x": a, "y": b}, depth_limit=limit), array, other)
        assert_same(lambda a, b: ak.zip([b, a], depth_limit=limit), array, other)
    assert_same(lambda a: ak.zip({"x": a, "y": 1.5}, depth_limit=limit), array)
    assert_same(lambda a: ak.zip({"x": a, "y": None}, depth_limit=limit), array)


def test_zip_keeps_what_arrays_carry():
    def function(a):
        named = ak.with_named_axis(a, ("events", None))
        other = ak.Array(a, attrs={"source": 1})
        return ak.zip({"x": named, "y": a}), ak.zip({"x": a, "y": other}), ak.zip([a, a], attrs={"of": 2})

    assert_same(function, OF_NUMBERS["some"])


def test_what_zip_launches(cupy):
    array, other = OF_NUMBERS["some"], lists(NUMBERS, [0, 3, 3, 7])
    assert_at_once(cupy, lambda a: ak.zip({"x": a, "y": a}), [array], [])
    assert_at_once(cupy, lambda a: ak.zip({"x": a, "y": a * 2}), [array], ["transform"])
    assert_at_once(cupy, lambda a, b: ak.zip([a, b]), [array, other], [])
    assert_at_once(cupy, lambda a, b: ak.zip([a, b], depth_limit=1), [array, other], [])


def test_lists_are_compared_once(cupy):
    layouts = OF_NUMBERS["some"], lists(NUMBERS, [0, 3, 3, 7])
    for function, later in ((lambda a, b: a + b, ["transform"]), (lambda a, b: ak.zip([a, b]), [])):
        a, b = (ak.to_backend(ak.Array(layout), "cuda") for layout in layouts)
        for templates in (["reduce", *later], later, later):
            with launched(cupy) as found:
                result = function(a, b)
            assert found == templates
        assert result.layout.offsets is a.layout.offsets
    differing = ak.to_backend(ak.Array(lists(NUMBERS, [0, 3, 4, 7])), "cuda")
    for _ in range(2):
        with pytest.raises(ValueError, match="cannot broadcast nested list"):
            a + differing


# Reductions and sorts along lists


ALONG = {
    "sum": ak.sum,
    "any": ak.any,
    "count": ak.count,
    "max": ak.max,
    "argmin": ak.argmin,
    "sort": ak.sort,
    "argsort": ak.argsort,
}


@pytest.mark.parametrize("axis", [1, -1])
@pytest.mark.parametrize("function", ALONG, **IDS)
@pytest.mark.parametrize("name", MASKED, **IDS)
def test_reductions_and_sorts_along_lists(name, function, axis):
    reduced = ALONG[function]
    options = [{"keepdims": True}, {"mask_identity": True}, {"keepdims": True, "mask_identity": True}]
    if "sort" in function:
        options = [{"ascending": False}, {"stable": True}]
    for given in ({}, *options):
        with contextlib.suppress(operations.Undefined):
            assert_same(lambda a: reduced(a, axis=axis, **given), MASKED[name])  # noqa: B023


# Lengths of lists


@pytest.mark.parametrize("kind", OF_NUMBERS)
def test_how_long_lists_are(monkeypatch, kind):
    on_device = ak.to_backend(ak.Array(OF_NUMBERS[kind]), "cuda")
    with monkeypatch.context() as patch:
        patch.setattr(ak._do, "recursively_apply", None)
        assert len(ak.num(on_device)) == len(on_device)
        with pytest.raises(TypeError):
            ak.num(on_device, axis=-1)
    assert_same(ak.num, OF_NUMBERS[kind])
    assert_same(lambda a: ak.num(a[::-1]), OF_NUMBERS[kind])


def test_stops_may_be_more_than_starts():
    """Which awkward would subtract from one another as they are."""
    more = ak.to_backend(ak.Array(lists(NUMBERS, starts=[0, 2], stops=[2, 6, 7])), "cuda")
    assert ak.num(more).to_list() == [2, 4]


def test_how_long_other_lists_are():
    deeper = lists(lists(NUMBERS, [0, 3, 3, 7]), [0, 2, 3])
    for array in (deeper, lists(RECORDS, [0, 3, 7]), ["one", "", "three"], [["a", "bc"], []]):
        assert_same(ak.num, ak.Array(array))
    for axis in (0, 1, 2, -1, -2):
        assert_same(lambda a: ak.num(a, axis=axis), deeper)  # noqa: B023
    for array in ([[1, 2], None, []], np.zeros((2, 3)), [[1], "two"], [{"x": [1, 2]}]):
        assert_same(ak.num, ak.Array(array))
    assert_same(lambda a: ak.num(a, axis="inner"), ak.with_named_axis(ak.Array([[1], []]), ("outer", "inner")))


def test_lengths_keep_what_an_array_carries():
    array = ak.Array(OF_NUMBERS["some"], attrs={"one": 1}, behavior={"first": 1})
    for given in (array, ak.with_named_axis(array, ("events", "x"))):
        for options in ({}, {"attrs": {"three": 3}}, {"behavior": {"third": 3}}):
            expected = ak.num(given, **options)
            found = ak.num(ak.to_backend(given, "cuda"), **options)
            assert dict(found.attrs) == dict(expected.attrs)
            assert found.behavior == expected.behavior


# Numbers by an index


def projected(array):
    return ak.Array(array.layout.project())


@pytest.mark.parametrize("char", "?bBhHiIlLefdFD")
def test_numbers_by_an_index(char):
    content = (np.arange(7) % 5).astype(char)
    assert_same(projected, indexed(content), number=1 if char != "e" else 2)
    for dtype in (np.int32, np.uint32):
        assert_same(projected, indexed(content, dtype=dtype))
    assert_same(projected, indexed(content, ()))
    assert_same(projected, indexed(content[:0], ()))


def test_of_what_is_projected():
    assert_same(projected, indexed(NUMBERS, np.arange(5000) % 7), number=1)
    assert_same(projected, indexed(np.arange(14.0).reshape(7, 2)))
    assert_same(projected, indexed(RECORDS))
    assert_same(projected, indexed(NUMBERS[::2], (3, 3, 0)))
    kept = NumpyArray(NUMBERS, parameters={"unit": "mm"})
    for parameters in ({"of": 1}, {"unit": "m"}, {"__array__": "categorical"}):
        assert_same(lambda a: (found := projected(a), found.layout.parameters), indexed(kept, parameters=parameters))


@pytest.mark.parametrize("n", [0, 7])
@pytest.mark.parametrize("wrong", [-1, 7, 2**40])
def test_an_index_that_nothing_has(wrong, n):
    index = [0, wrong, 2] if n else [wrong]
    array = ak.Array(ak.to_backend(indexed(NUMBERS), "cuda"))
    nplike = array.layout.backend.nplike
    content = NumpyArray(nplike.asarray(NUMBERS[:n]))
    broken = ak.contents.IndexedArray(Index64(nplike.asarray(np.array(index))), content)
    text = r"^index out of range in compiled CUDA code \(awkward_IndexedArray_getitem_nextcarry\)"
    with pytest.raises(ValueError, match=text) as found:
        broken.project().to_list()
    assert found.value.index == len(index) // 2
    assert projected(array).to_list() == [2.5, 0.5, 1.5, 1.5, 6.5]
