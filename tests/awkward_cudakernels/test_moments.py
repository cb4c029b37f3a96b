"""Means, variances and standard deviations of lists on CUDA: what awkward makes of them, in a launch or two."""

from __future__ import annotations

import contextlib
import itertools

import awkward as ak
import numpy as np
import pytest
from operations import Undefined, assert_same, launches, problems
from test_at_once import assert_at_once

from awkward_cudakernels.arraylayer import moments

pytestmark = pytest.mark.usefixtures("cupy")

Index64 = ak.index.Index64
ListOffsetArray, NumpyArray = ak.contents.ListOffsetArray, ak.contents.NumpyArray

LAUNCHES = {ak.mean: 1, ak.var: 2, ak.std: 2}
STATISTICS = pytest.mark.parametrize("statistic", LAUNCHES, ids=lambda statistic: statistic.__name__)
LENGTHS = {
    "some": [3, 0, 0, 5, 1, 2, 0, 16],
    "one empty": [0],
    "empty": [0, 0, 0],
    "of one element": [1, 1, 1],
}
LONG = {
    "longer": [17, 0, 40, 1, 33, 16],
    "many of 17": [17] * 60,
    "long": [0, 20_000, 3, 8_193, 0],
}
CLOSE = 1e-12
"""Of numbers that are added in another order, as those of longer lists are."""


def lists_of(data, lengths, first=0, **parameters):
    offsets = first + np.cumsum([0, *lengths])
    return ListOffsetArray(Index64(offsets), NumpyArray(data), **parameters)


def numbers(char, n, seed=1):
    """Of a dtype, any but the extreme ones: of floats, such whose sums are rounded."""
    dtype = np.dtype(char)
    random = np.random.default_rng(seed)
    if dtype.kind in "fc":
        return random.normal(3.0, 10.0, n).astype(dtype)
    return random.integers(0, 2 if char == "?" else 100, n).astype(dtype)


def some(char="d", lengths="some", first=0):
    given = {**LENGTHS, **LONG}[lengths]
    return lists_of(numbers(char, first + sum(given) + 2), given, first)


def close(function, layout, launched=None):
    """As `assert_same`, but for the order of additions."""
    with launches() as found:
        assert problems(function, ak.Array(layout), backend="cuda", tolerance=CLOSE) == []
    if launched is not None:
        assert len(found) == launched


@pytest.fixture
def at_once(monkeypatch):
    """The calls of what writes results at once."""
    found = []

    def noting(function):
        def call(*args):
            found.append(function.__name__)
            return function(*args)

        return call

    for name in ("write_means", "write_variances"):
        monkeypatch.setattr(moments, name, noting(getattr(moments, name)))
    return found


@STATISTICS
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("char", "?bBhHiIlLfd")
def test_of_every_type(char, lengths, statistic):
    assert_same(lambda a: statistic(a, axis=1), some(char, lengths), number=LAUNCHES[statistic])


@STATISTICS
@pytest.mark.parametrize("lengths", LONG)
@pytest.mark.parametrize("char", "?bLfd")
def test_of_longer_lists(char, lengths, statistic):
    close(lambda a: statistic(a, axis=1), some(char, lengths), LAUNCHES[statistic])


@STATISTICS
@pytest.mark.parametrize("mask_identity", [False, True])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [1, -1])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_forms(lengths, axis, keepdims, mask_identity, statistic):
    def function(array):
        return statistic(array, axis=axis, keepdims=keepdims, mask_identity=mask_identity)

    assert_same(function, some("d", lengths), number=LAUNCHES[statistic])
    assert_same(function, some("d")[:0], number=0)
    assert_same(function, ListOffsetArray(Index64(np.array([3])), NumpyArray(np.arange(5))), number=0)
    assert_same(function, lists_of(np.array([], np.int32), [0, 0]), number=LAUNCHES[statistic])


@STATISTICS
@pytest.mark.parametrize("mask_identity", [False, True])
def test_a_result_is_used(statistic, mask_identity):
    def function(array):
        found = statistic(array, axis=1, keepdims=True, mask_identity=mask_identity)
        return array - found, ak.is_none(found, axis=1), ak.fill_none(found, 7.0, axis=1), found[::-1]

    assert_same(function, some("d"))


@STATISTICS
@pytest.mark.parametrize("first", [1, 7])
def test_offsets_need_not_start_at_0(first, statistic):
    lists = some("d", first=first)
    assert_same(lambda a: statistic(a, axis=1), lists, number=LAUNCHES[statistic])
    assert_same(lambda a: statistic(a[2:5], axis=1), lists, number=LAUNCHES[statistic])
    close(lambda a: statistic(a, axis=1), some("f", "long", first), LAUNCHES[statistic])


VARIANCES = pytest.mark.parametrize("statistic", [ak.var, ak.std], ids=["var", "std"])


@VARIANCES
@pytest.mark.parametrize("mask_identity", [False, True])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("ddof", [0, 1, 2, 3, 4, 100, -1, 2**31 - 1])
@pytest.mark.parametrize("char", "?ilfd")
def test_degrees_of_freedom(char, ddof, keepdims, mask_identity, statistic):
    def function(array):
        return statistic(array, axis=1, ddof=ddof, keepdims=keepdims, mask_identity=mask_identity)

    assert_same(function, some(char), number=2)
    constant = lists_of(np.full(12, 3, char), LENGTHS["some"][:6])
    assert_same(function, constant, number=2)


@VARIANCES
@pytest.mark.parametrize("ddof", [1.0, 0.5, -2.5, True, np.int64(1), 2**31, 2**62, 2**63, -(2**70)])
def test_other_degrees_of_freedom(at_once, ddof, statistic):
    assert_same(lambda a: statistic(a, axis=1, ddof=ddof), some("d"))
    assert_same(lambda a: statistic(a, axis=1, ddof=ddof, mask_identity=True), some("d"))
    assert "write_variances" not in at_once  # whose op is not compiled for these


SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.5, np.finfo("f").max, np.finfo("f").tiny]


@STATISTICS
@pytest.mark.parametrize("mask_identity", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("char", "fd")
def test_special_numbers(char, n, mask_identity, statistic):
    data = np.array(list(itertools.product(SPECIAL, repeat=n)), char).reshape(-1)
    if char == "d":
        data[np.isfinite(data)] *= 2.0**600  # of which squares overflow
    lists = lists_of(data, [n, 0, n] * (len(data) // n // 2))
    assert_same(
        lambda a: statistic(a, axis=1, mask_identity=mask_identity), lists, number=LAUNCHES[statistic]
    )


@STATISTICS
@pytest.mark.parametrize("char", "bBhHiIlL")
def test_the_largest_integers(char, statistic):
    limits = np.iinfo(char)
    data = np.array([limits.max] * 5 + [limits.min] * 4 + [limits.max - 1, 0, 1, limits.max // 2 + 1], char)
    lists = lists_of(data, [2, 3, 0, 1, 3, 1, 3])
    assert_same(lambda a: statistic(a, axis=1), lists, number=LAUNCHES[statistic])


@VARIANCES
def test_what_is_far_from_0(statistic):
    """Squares less the square of the mean would have no digit left."""
    assert_same(lambda a: statistic(a, axis=1), lists_of(1e9 + numbers("d", 30), LENGTHS["some"]), number=2)
    close(lambda a: statistic(a, axis=1), lists_of(1e6 + numbers("d", 150), LONG["longer"]), 2)


# Deeper lists


def deeper(lists, offsets, **parameters):
    return ListOffsetArray(Index64(np.array(offsets)), lists, **parameters)


@STATISTICS
@pytest.mark.parametrize("mask_identity", [False, True])
@pytest.mark.parametrize("keepdims", [False, True])
def test_the_innermost_of_deeper_lists(keepdims, mask_identity, statistic):
    def function(axis):
        return lambda a: statistic(a, axis=axis, keepdims=keepdims, mask_identity=mask_identity)

    number, twice = LAUNCHES[statistic], deeper(some("d"), [0, 2, 2, 7, 8])
    assert_same(function(-1), twice, number=number)
    assert_same(function(2), twice, number=number)
    assert_same(function(3), deeper(twice, [0, 0, 3, 4]), number=number)
    assert_same(function(-1), deeper(some("l")[:0], [0, 0]), number=0)
    assert_same(function(-1), deeper(some("d"), [0, 8], parameters={"unit": "mm"}), number=number)
    outer = ak.index.Index32(np.array([0, 2, 8], np.int32))
    assert_same(function(-1), ListOffsetArray(outer, some("d")))


@STATISTICS
@pytest.mark.parametrize("offsets", [[1, 2, 2, 8], [0, 2, 7], [3, 3], [0]], ids=str)
def test_some_of_the_innermost_lists(at_once, offsets, statistic):
    """All of them need not be reduced for these."""
    lists = deeper(some("d"), offsets)
    assert_same(lambda a: statistic(a, axis=-1), lists)
    assert_same(lambda a: statistic(a, axis=3), deeper(lists, [0, 0, lists.length]))
    assert not at_once


@STATISTICS
@pytest.mark.parametrize("axis", [0, 1, -2, 3, -4])
def test_other_axes_of_deeper_lists(axis, statistic):
    assert_same(lambda a: statistic(a, axis=axis), deeper(some("l"), [0, 2, 2, 7, 8]))


# What is left to awkward


def rows(layout):
    return ak.contents.RegularArray(layout, 4)


OTHERS = {
    "options": ak.Array([[1.5, None, 3.0], [], [None], [4.0]]).layout,
    "a mask": ak.mask(ak.Array([[1, 2], [], [3, 4, 5]]), [True, False, True]).layout,
    "complex": some("D"),
    "complex of float32": some("F"),
    "records": ListOffsetArray(
        Index64(np.array([0, 2, 2, 5])), ak.contents.RecordArray([NumpyArray(np.arange(5.0))], ["x"])
    ),
    "strings": ak.Array([["a", "bc"], ["d"]]).layout,
    "words": ak.Array(["one", "", "three"]).layout,
    "bytes": ak.Array([b"one", b"", b"three"]).layout,
    "unions": ak.Array([[1, "one"], [], [[2]]]).layout,
    "regular": rows(NumpyArray(numbers("d", 12))),
    "regular lists": rows(some("d")),
    "lists of rows": deeper(rows(NumpyArray(numbers("d", 12))), [0, 1, 1, 3]),
    "two dimensions": deeper(NumpyArray(numbers("d", 12).reshape(6, 2)), [0, 3, 3, 6]),
    "unknown": ak.Array([[], [], []]).layout,
    "numbers": NumpyArray(numbers("d", 6)),
    "int32 offsets": ListOffsetArray(
        ak.index.Index32(np.array([0, 3, 3, 6], np.int32)), NumpyArray(numbers("d", 6))
    ),
    "starts and stops": ak.contents.ListArray(
        Index64(np.array([4, 0, 0])), Index64(np.array([6, 0, 4])), NumpyArray(numbers("d", 6))
    ),
    "characters": deeper(
        NumpyArray(np.arange(97, 103, dtype=np.uint8), parameters={"__array__": "char"}), [0, 3, 6]
    ),
}
WITHOUT_KERNELS = {
    "halves": some("e"),
    "longlong": lists_of(np.arange(6, dtype=np.longlong), [2, 0, 4]),
    "times": lists_of(np.arange(6).view("timedelta64[s]"), [2, 0, 4]),
    "dates": lists_of(np.arange(6).view("datetime64[s]"), [2, 0, 4]),
}
"""Of which awkward, or this project, has none."""


@STATISTICS
def test_the_calls_are_seen(at_once, statistic):
    assert_same(lambda a: statistic(a, axis=1), some("d"))
    assert at_once == ["write_means", "write_variances"][: LAUNCHES[statistic]]


@STATISTICS
@pytest.mark.parametrize("mask_identity", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("name", OTHERS)
def test_of_other_arrays(at_once, name, axis, mask_identity, statistic):
    of_none = Undefined if (name, axis) == ("int32 offsets", 0) else ()  # awkward lacks a kernel for some of these

    def function(a):
        return statistic(a, axis=axis, mask_identity=mask_identity)

    with contextlib.suppress(of_none):
        if name == "complex of float32":  # awkward's own: CuPy's sums of these have the digits of complex128
            function(ak.to_backend(ak.Array(OTHERS[name]), "cuda"))
        else:
            close(function, OTHERS[name])
    assert not at_once


@STATISTICS
@pytest.mark.parametrize("name", WITHOUT_KERNELS)
def test_without_kernels(at_once, name, statistic):
    with contextlib.suppress(Exception):  # whatever it is without the array layer
        statistic(ak.to_backend(ak.Array(WITHOUT_KERNELS[name]), "cuda"), axis=1)
    assert not at_once


@STATISTICS
def test_on_the_host(at_once, statistic):
    statistic(ak.Array(some("d")), axis=1)
    assert not at_once


@STATISTICS
@pytest.mark.parametrize("axis", [0, None, 2, -3, "inner", True, 1.5])
def test_other_axes(at_once, axis, statistic):
    close(lambda a: statistic(a, axis=axis), some("l"))
    assert not at_once


@STATISTICS
@pytest.mark.parametrize("mask_identity", [False, True])
def test_weights(at_once, statistic, mask_identity):
    def function(array):
        weight = array * 0 + 0.5 + ak.local_index(array)
        return statistic(array, weight, axis=1, mask_identity=mask_identity), statistic(array, 2, axis=1)

    close(function, some("d"))
    assert not at_once


@STATISTICS
@pytest.mark.parametrize("axis", [1, "inner", "outer", -1])
def test_named_axes(statistic, axis):
    array = ak.with_named_axis(ak.Array(some("d")), ("outer", "inner"))
    for keepdims in (False, True):
        expected = statistic(array, axis=axis, keepdims=keepdims)
        found = statistic(ak.to_backend(array, "cuda"), axis=axis, keepdims=keepdims)
        np.testing.assert_array_equal(ak.to_numpy(ak.to_backend(found, "cpu")), ak.to_numpy(expected))
        assert found.named_axis == expected.named_axis
        assert found.named_axis


@pytest.mark.parametrize(
    "statistic", [ak.nanmean, ak.nanvar, ak.nanstd], ids=lambda statistic: statistic.__name__
)
def test_of_what_is_not_nan(statistic):
    data = numbers("d", 30)
    data[::4] = np.nan
    close(lambda a: statistic(a, axis=1), lists_of(data, LENGTHS["some"]))


def test_of_two_arrays():
    close(lambda a: ak.corr(a, a * a + 1, axis=1), some("d"))
    close(lambda a: ak.covar(a, a * a + 1, axis=1), some("d"))


@STATISTICS
@pytest.mark.parametrize("offsets", [[0, 3, 9], [-1, 3, 5], [3, 5, 2]], ids=str)
def test_what_offsets_do_not_fit_is_left_to_awkward(offsets, statistic):
    """So that no element is read that is not there."""
    nplike = ak.to_backend(ak.Array(some("d")), "cuda").layout.backend.nplike
    content = NumpyArray(nplike.asarray(np.arange(5.0)))
    lists = ListOffsetArray(Index64(nplike.asarray(np.array(offsets))), content)
    assert moments._lists_of_numbers(ak.Array(lists), None, 1, None) is None
    lists = ListOffsetArray(Index64(nplike.asarray(np.array([0, 3, 5]))), content)
    assert moments._lists_of_numbers(ak.Array(lists), None, 1, None) is lists


# What results carry


@STATISTICS
@pytest.mark.parametrize("keepdims", [False, True])
def test_what_arrays_carry(statistic, keepdims):
    array = ak.Array(some("d"), attrs={"one": 1}, behavior={"first": 1})
    for options in (
        {},
        {"attrs": {"three": 3}},
        {"behavior": {"third": 3}},
        {"attrs": {"__named_axis__": {}}},
    ):
        expected = statistic(array, axis=1, keepdims=keepdims, **options)
        found = statistic(ak.to_backend(array, "cuda"), axis=1, keepdims=keepdims, **options)
        assert dict(found.attrs) == dict(expected.attrs)
        assert found.behavior == expected.behavior
    plain = ak.to_backend(ak.Array(some("d")), "cuda")
    assert statistic(plain, axis=1).behavior is None
    assert dict(statistic(plain, axis=1).attrs) == {}
    low = statistic(plain, axis=1, keepdims=keepdims, highlevel=False)
    assert type(low) is (ak.contents.RegularArray if keepdims else NumpyArray)


@STATISTICS
@pytest.mark.parametrize("mask_identity", [False, True])
def test_parameters_are_dropped(statistic, mask_identity):
    content = NumpyArray(numbers("d", 9), parameters={"unit": "mm"})
    for lists in (
        deeper(content, [0, 3, 3, 9], parameters={"__doc__": "lists", "__list__": "Hits"}),
        deeper(deeper(content, [0, 3, 3, 9]), [0, 1, 3], parameters={"__doc__": "lists"}),
    ):
        assert_same(
            lambda a: statistic(a, axis=-1, mask_identity=mask_identity), lists, number=LAUNCHES[statistic]
        )


@STATISTICS
def test_the_array_is_as_it_was(statistic):
    array = ak.to_backend(ak.Array(some("d")), "cuda")
    before = array.to_list()
    assert array.layout.offsets[0] == 0
    statistic(array, axis=1, mask_identity=True)
    assert array.layout.offsets._ends == (0, 27)  # still known, for no kernel writes them
    assert array.to_list() == before


@STATISTICS
@pytest.mark.parametrize("options", [{}, {"mask_identity": True}, {"keepdims": True}], ids=str)
def test_nothing_else_is_launched_and_nothing_waits(cupy, statistic, options):
    array = ak.Array(some("f"))
    templates = ["segmented_reduce"] * LAUNCHES[statistic]
    assert_at_once(cupy, lambda a: statistic(a, axis=1, **options), [array], templates)
    if statistic is not ak.mean:
        assert_at_once(cupy, lambda a: statistic(a, axis=1, ddof=1, **options), [array], templates)


# Of all numbers

OF_ALL = {ak.mean: 2, ak.var: 3, ak.std: 3}


@STATISTICS
@pytest.mark.parametrize("char", moments.REDUCED)
def test_of_all(char, statistic):
    for n in (1, 2, 300, 20_000):
        layout = lists_of(numbers(char, n + 3), [n // 2, 0, n - n // 2], 2)
        close(lambda a: statistic(a, axis=None), layout, OF_ALL[statistic])
        close(lambda a: statistic(a, axis=None, mask_identity=True), layout, OF_ALL[statistic])
    close(lambda a: statistic(a), NumpyArray(numbers(char, 300)), OF_ALL[statistic])
    close(lambda a: np.asarray(statistic(a, axis=None, highlevel=False)), layout)


@pytest.mark.parametrize("statistic", [ak.var, ak.std], ids=lambda statistic: statistic.__name__)
@pytest.mark.parametrize("ddof", [1, -1, 5, 6])
def test_degrees_of_freedom_of_all(statistic, ddof):
    close(lambda a: statistic(a, axis=None, ddof=ddof), lists_of(numbers("d", 5), [2, 3]), 3)


@STATISTICS
def test_of_all_that_are_not_usual(statistic):
    data = numbers("d", 300)
    for value in (np.nan, np.inf):
        data[7] = value
        close(lambda a: statistic(a, axis=None), lists_of(data, [100, 200]), OF_ALL[statistic])
    far = 1e9 + np.arange(1000) % 2  # whose squares keep nothing of their distances
    close(lambda a: statistic(a, axis=None), lists_of(far, [1000]), OF_ALL[statistic])
    deeper = ListOffsetArray(Index64(np.array([0, 2, 2, 8])), some("d"))
    close(lambda a: statistic(a, axis=None), deeper, OF_ALL[statistic])
    close(lambda a: statistic(a[1:], axis=None), deeper, OF_ALL[statistic])


@STATISTICS
def test_what_of_all_is_left_to_awkward(statistic):
    assert_same(lambda a: statistic(a, axis=None, mask_identity=True), some("d", "empty"))
    assert_same(lambda a: statistic(a, axis=None), some("d", "empty"))
    close(lambda a: statistic(a, axis=None, keepdims=True), some("d"))
    close(lambda a: statistic(a, 2, axis=None), some("d"))
    close(lambda a: statistic(a, axis=None), ak.Array([1.0, None, 4.0]).layout)
    close(lambda a: statistic(a, axis=None), ak.with_named_axis(ak.Array(some("d")), ("x", "y")))


def test_an_error_before_a_mean_of_all_is_told():
    array = ak.to_backend(ak.Array([[1.0], []]), "cuda")
    with pytest.raises(ValueError, match=r"^index out of range in compiled CUDA code"):
        ak.mean(array[:, 0], axis=None)
    assert ak.mean(array, axis=None) == 1.0


@pytest.mark.parametrize("axis", [None, 1])
@STATISTICS
def test_of_lists_with_a_name(statistic, axis):
    layout = ak.with_parameter(ak.Array([[1.0, 2.0], [3.0]]), "__list__", "L", highlevel=False)
    assert problems(lambda a: statistic(a, axis=axis), ak.Array(layout), backend="cuda") == []
