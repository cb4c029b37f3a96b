"""Extrema of lists on CUDA, with None for empty ones: what awkward makes of them, in one launch."""

from __future__ import annotations

import sys

import awkward as ak
import numpy as np
import pytest
from operations import assert_same

pytestmark = pytest.mark.usefixtures("cupy")

REDUCERS = (ak.max, ak.min, ak.argmax, ak.argmin)
LENGTHS = {
    "some": [3, 0, 0, 5, 1, 2, 0],
    "none": [],
    "empty": [0, 0, 0],
    "longer": [17, 0, 40, 1, 33, 16],
    "long": [0, 20_000, 3, 8_193, 0],
}


def lists_of(char, lengths, first=0):
    """With equal ones, the extreme ones and, of floats, NaN at the front and in between."""
    dtype = np.dtype(char)
    n = first + sum(lengths)
    data = np.random.default_rng(len(lengths)).integers(0, 9, n).astype(dtype)
    if dtype.kind == "f":
        data[::4] = np.nan
        data[1::7] = -0.0
        data[3::11] = -np.inf
    elif dtype.kind in "iu":
        data[::5] = np.iinfo(dtype).min
        data[1::6] = np.iinfo(dtype).max
    offsets = ak.index.Index64(first + np.cumsum([0, *lengths]))
    return ak.contents.ListOffsetArray(offsets, ak.contents.NumpyArray(data))


@pytest.mark.parametrize("reducer", REDUCERS, ids=lambda reducer: reducer.__name__)
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("char", "bBhHiIlLfd")
def test_one_launch(char, lengths, reducer):
    lists = lists_of(char, LENGTHS[lengths])
    assert_same(lambda a: reducer(a, axis=1), lists, number=1 if len(lists) else None)
    assert_same(lambda a: reducer(a, axis=-1, keepdims=True), lists)


@pytest.mark.parametrize("reducer", REDUCERS, ids=lambda reducer: reducer.__name__)
@pytest.mark.parametrize("first", [1, 7])
def test_offsets_need_not_start_at_0(first, reducer):
    lists = lists_of("d", LENGTHS["some"], first)
    assert_same(lambda a: reducer(a, axis=1), lists)
    assert_same(lambda a: reducer(a[1:], axis=1), lists)
    assert_same(lambda a: reducer(a[::-1], axis=1), lists)


@pytest.mark.parametrize("reducer", REDUCERS, ids=lambda reducer: reducer.__name__)
def test_of_other_lists(reducer):
    lists = lists_of("d", LENGTHS["some"])
    deeper = ak.contents.ListOffsetArray(ak.index.Index64(np.array([0, 2, 2, 7])), lists)
    for axis in (0, 1, 2, -1, -2):
        assert_same(lambda a, axis=axis: reducer(a, axis=axis), deeper)
    assert_same(lambda a: reducer(a, axis=0), lists)
    assert_same(lambda a: reducer(a, axis=0), ak.contents.NumpyArray(np.array([3.0, 1.0, np.nan])))
    regular = ak.contents.RegularArray(lists.content[:9], 3)
    assert_same(lambda a: reducer(a, axis=1), regular)


@pytest.mark.parametrize("char", ["?", "F", "D"])
@pytest.mark.parametrize("reducer", REDUCERS, ids=lambda reducer: reducer.__name__)
def test_of_other_numbers(char, reducer):
    assert_same(lambda a: reducer(a, axis=1), lists_of(char, LENGTHS["some"]))


@pytest.mark.parametrize("char", "ld")
@pytest.mark.parametrize("reducer", REDUCERS, ids=lambda reducer: reducer.__name__)
def test_without_a_mask(char, reducer):
    assert_same(lambda a: reducer(a, axis=1, mask_identity=False), lists_of(char, LENGTHS["some"]))


@pytest.mark.parametrize("char", "bld")
@pytest.mark.parametrize("initial", [3, -2, 100])
def test_an_initial_value(char, initial):
    lists = lists_of(char, LENGTHS["some"])
    assert_same(lambda a: ak.max(a, axis=1, initial=initial, mask_identity=True), lists)
    assert_same(lambda a: ak.min(a, axis=1, initial=initial), lists)


# What awkward does around a reduction

OPERATIONS = pytest.mark.parametrize(
    "operation",
    [ak.all, ak.any, ak.argmax, ak.argmin, ak.count, ak.count_nonzero, ak.max, ak.min, ak.prod, ak.sum],
    ids=lambda operation: operation.__name__,
)


@OPERATIONS
def test_without_names_the_handling_of_names_is_left_out(operation, monkeypatch):
    asked = []

    def get_named_axis(context, _original=ak._namedaxis._get_named_axis):
        asked.append(context)
        return _original(context)

    monkeypatch.setattr(sys.modules[operation.__module__], "_get_named_axis", get_named_axis)
    a = ak.to_backend(ak.Array(lists_of("d", LENGTHS["some"])), "cuda")
    for axis in (0, 1, -1, None):
        operation(a, axis=axis)
    assert not asked
    for axis, array in (("x", ak.with_named_axis(a, ("events", "x"))), (0, [1.0, 2.0])):
        operation(array, axis=axis)
        assert asked.pop() is not None


@OPERATIONS
@pytest.mark.parametrize("axis", [0, 1, -1, "x", "events"])
def test_named_axes(operation, axis):
    array = ak.with_named_axis(ak.Array(lists_of("l", LENGTHS["some"])), ("events", "x"))
    for keepdims in (False, True):
        expected = operation(array, axis=axis, keepdims=keepdims)
        found = operation(ak.to_backend(array, "cuda"), axis=axis, keepdims=keepdims)
        assert found.to_list() == expected.to_list()
        assert found.named_axis == expected.named_axis
    given = {"attrs": {"__named_axis__": {"a": 0, "b": 1}}}
    expected = operation(ak.Array(array.layout), axis=1, keepdims=True, **given)
    found = operation(ak.to_backend(ak.Array(array.layout), "cuda"), axis=1, keepdims=True, **given)
    assert found.named_axis == expected.named_axis


@OPERATIONS
def test_what_an_array_carries(operation):
    array = ak.Array(lists_of("l", LENGTHS["some"]), attrs={"one": 1}, behavior={"first": 1})
    for options in ({}, {"attrs": {"three": 3}}, {"behavior": {"third": 3}}, {"highlevel": False}):
        expected = operation(array, axis=1, **options)
        found = operation(ak.to_backend(array, "cuda"), axis=1, **options)
        assert type(found).__name__ == type(expected).__name__
        if "highlevel" not in options:
            assert dict(found.attrs) == dict(expected.attrs)
            assert found.behavior == expected.behavior


@OPERATIONS
def test_what_cannot_be_reduced(operation):
    """The texts are awkward's."""
    for array, axis in ((lists_of("d", LENGTHS["some"]), 2), (["one", "two"], 1), ([{"x": 1}], 0)):
        array = ak.Array(array)
        with pytest.raises(Exception) as expected:
            operation(array, axis=axis)
        with pytest.raises(type(expected.value)) as found:
            operation(ak.to_backend(array, "cuda"), axis=axis)
        assert str(found.value).split("\n")[0] == str(expected.value).split("\n")[0]


def test_a_reducer_of_a_behavior():
    def longest(array, mask):
        return ak.Array(ak.contents.NumpyArray(array.layout.backend.nplike.asarray([7])))

    array = ak.Array([{"x": 1}, {"x": 2}], with_name="point", behavior={(ak.sum, "point"): longest})
    for axis in (-1, None):
        expected, found = ak.sum(array, axis=axis), ak.sum(ak.to_backend(array, "cuda"), axis=axis)
        assert found == expected
