"""Reductions of everything on CUDA: what awkward finds, in a launch or two."""

from __future__ import annotations

import awkward as ak
import numpy as np
import pytest
from operations import assert_same, launches, problems
from test_at_once import assert_at_once
from test_moments import close, lists_of, numbers

import awkward_cudakernels
from awkward_cudakernels.arraylayer import totals

pytestmark = [
    pytest.mark.usefixtures("cupy"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]

REDUCED = "?bBhHiIlLfd"
FUNCTIONS = [ak.sum, ak.max, ak.min, ak.any, ak.all, ak.count, ak.count_nonzero]
EACH = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)


CLOSE = {"f": 1e-5, "d": 1e-12}
"""Of what is added in another order; NumPy adds float32 as such."""


def launches_of(function, char):
    """The 64-bit types are what numbers are combined in."""
    if function in (ak.any, ak.all):
        return 2
    if function is ak.sum:
        return 1 + (char == "f")
    return 1 + (function in (ak.max, ak.min) and char not in "lLd")


def of_all(function, **options):
    return lambda a: function(a, axis=None, **options)


@EACH
@pytest.mark.parametrize("char", REDUCED)
def test_of_every_type(char, function):
    for n in (1, 300):
        layout = lists_of(numbers(char, n), [n])
        number = launches_of(function, char)
        if char in "fd" and function is ak.sum:
            with launches() as found:
                assert problems(of_all(ak.sum), ak.Array(layout), backend="cuda", tolerance=CLOSE[char]) == []
            assert len(found) == number
        else:
            assert_same(of_all(function), layout, number=number)


@EACH
@pytest.mark.parametrize("char", "bBhHiIlL")
def test_of_the_extreme_numbers(char, function):
    info = np.iinfo(char)
    for values in ([info.max, info.min], [info.min] * 3, [info.max] * 3, [0, info.max], [0]):
        assert_same(of_all(function), lists_of(np.array(values, char), [len(values)]))


@EACH
@pytest.mark.parametrize("char", "fd")
def test_of_what_floats_hold(char, function):
    for special in (np.nan, -np.nan, np.inf, -np.inf, -0.0):
        for at in (0, 150, 299):
            x = numbers(char, 300).astype(np.int16).astype(char)  # sums are exact
            x[at] = special
            assert_same(of_all(function), lists_of(x, [300]))
        assert_same(of_all(function), lists_of(np.full(3, special, char), [3]))


@EACH
def test_of_lists_in_lists_that_leave_elements_out(function):
    inner = lists_of(np.arange(20), [2, 0, 3, 1, 4], first=3)
    assert_same(of_all(function), inner, number=launches_of(function, "l"))
    for first, lengths in ((0, [2, 0, 3]), (1, [2, 0, 1]), (2, [3])):
        outer = ak.contents.ListOffsetArray(ak.index.Index64(first + np.cumsum([0, *lengths])), inner)
        assert_same(of_all(function), outer, number=launches_of(function, "l"))
    narrow = ak.contents.ListOffsetArray(
        ak.index.Index32(np.array([1, 3, 7], np.int32)), ak.contents.NumpyArray(np.arange(9))
    )
    assert_same(of_all(function), narrow, number=launches_of(function, "l"))


@EACH
def test_one_dimension_along_any_axis(function):
    array = ak.contents.NumpyArray(np.array([3, 0, -5]))
    for axis in (None, 0, -1):
        assert_same(lambda a, axis=axis: function(a, axis=axis), array, number=launches_of(function, "l"))
        assert_same(lambda a, axis=axis: function(a, axis=axis, keepdims=True), array)


@EACH
@pytest.mark.parametrize("mask_identity", [False, True])
def test_of_nothing(mask_identity, function):
    for char in "?ld":
        for layout in (
            lists_of(np.zeros(0, char), [0, 0]),
            lists_of(np.zeros(0, char), []),
            ak.contents.NumpyArray(np.zeros(0, char)),
        ):
            assert_same(of_all(function, mask_identity=mask_identity), layout)


@EACH
def test_what_is_left_to_awkward(function):
    x = lists_of(np.arange(6.0), [2, 0, 4])
    for array in (
        ak.mask(ak.Array(x), [True, False, True]),
        ak.mask(ak.Array(x), ak.Array(x) > 3),
        ak.Array(["one", "", "three"]),
        ak.to_regular(ak.Array([[1, 2], [3, 4]])),
        ak.Array([[1 + 2j], [0j]]),
        ak.Array(np.array([[1.5, 2.5], [0.0, 4.0]])),
        ak.Array([[[1, 2], []], [], [[3]]])[[2, 0]],
        ak.Array([1, [2, 3]]),
        ak.Array([{"x": 1}]),
    ):
        assert_same(of_all(function), array)
    if function in (ak.sum, ak.max, ak.min, ak.count):  # awkward has the others not
        assert_same(of_all(function), ak.Array(np.array([0.5, 1.5], np.float16)))
    assert_same(of_all(function, keepdims=True), x)


def test_where_extrema_start():
    x = lists_of(np.array([3.0, 5.0, 4.0]), [2, 1])
    for initial in (0, 4, 10, -np.inf):
        assert_same(of_all(ak.max, initial=initial), x)
        assert_same(of_all(ak.min, initial=initial), x)


@pytest.mark.parametrize("char", REDUCED)
def test_means(char):
    for function in (ak.mean, ak.std, ak.ptp):
        close(of_all(function), lists_of(numbers(char, 300).astype(char), [100, 0, 200]))


def test_launches_and_waits(cupy):
    x = ak.Array(lists_of(numbers("d", 300), [100, 0, 200]))
    mask = x > 3
    assert_at_once(cupy, of_all(ak.sum), [x], ["reduce"])
    assert_at_once(cupy, of_all(ak.max), [x], ["reduce"])
    assert_at_once(cupy, of_all(ak.any), [mask], ["reduce", "transform"])
    assert_at_once(cupy, of_all(ak.all), [mask], ["reduce", "transform"])
    assert_at_once(cupy, of_all(ak.sum), [mask], ["reduce"])
    assert_at_once(cupy, of_all(ak.count), [x], ["transform"])
    first = lambda a: ak.sum(a[:, 0], axis=None)  # noqa: E731
    assert_at_once(cupy, first, [ak.Array([[1], [2, 3]])], ["transform", "reduce"], 1)


@EACH
def test_an_error_before_is_raised(function):
    array = ak.to_backend(ak.Array([[1, 2, 3], [], [4]]), "cuda")
    if function is ak.count:  # nothing is read
        function(array[:, 0], axis=None)
        with pytest.raises(ValueError, match="index out of range"):
            awkward_cudakernels.synchronize_cuda()
        return
    with pytest.raises(ValueError, match="index out of range"):
        function(array[:, 0], axis=None)
    assert function(array, axis=None).get() == function(ak.to_backend(array, "cpu"), axis=None)


def test_the_dtypes_are_those_of_numpy():
    assert set(totals.REDUCED) == set(REDUCED)
