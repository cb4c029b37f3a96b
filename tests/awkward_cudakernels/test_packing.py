"""Lists that get offsets of their own: with awkward's values, forms and errors, in so many launches and waits."""

import contextlib

import awkward as ak
import numpy as np
import operations
import pytest
from operations import assert_same
from test_at_once import ALL, IDS, NUMBERS, RECORDS, assert_at_once, lists

pytestmark = pytest.mark.usefixtures("cupy")

NumpyArray, RegularArray = ak.contents.NumpyArray, ak.contents.RegularArray

N = 60
WORDS = ak.Array([f"{i}" * (i % 4) for i in range(N)]).layout
OPTIONS = ak.Array([None if i % 7 == 3 else i for i in range(N)]).layout
CONTENTS = {
    "numbers": NumpyArray(np.arange(N) / 4),
    "numbers of parameters": NumpyArray(np.arange(N, dtype=np.uint8), parameters={"unit": "mm"}),
    "complex numbers": NumpyArray(np.arange(N) * (1 + 2j)),
    "halves": NumpyArray(np.arange(N, dtype=np.float16)),
    "every second": NumpyArray(np.arange(2 * N)[::2]),
    "rows": NumpyArray(np.arange(2 * N).reshape(N, 2)),
    "records": ak.contents.RecordArray([NumpyArray(np.arange(N)), WORDS], ["x", "y"]),
    "options": OPTIONS,
    "a mask": ak.mask(ak.Array(np.arange(N)), np.arange(N) % 3 > 0).layout,
    "strings": WORDS,
    "lists": lists(np.arange(2 * N), np.arange(N + 1) * 2 - np.arange(N + 1) % 2),
    "lists of starts and stops": lists(np.arange(N), starts=np.arange(N)[::-1] // 2, stops=np.arange(N)[::-1]),
    "regular": RegularArray(NumpyArray(np.arange(3 * N)), 3),
    "indexed": ak.contents.IndexedArray(ak.index.Index64(np.arange(N)[::-1].copy()), NumpyArray(np.arange(N))),
    "unions": ak.concatenate([ak.Array(np.arange(N // 2)), ak.Array(WORDS)[: N // 2]]).layout,
    "unknown": ak.contents.EmptyArray(),
}
OPERATIONS = {
    "to_packed": ak.to_packed,
    "from zero": lambda a: ak.Array(a.layout.to_ListOffsetArray64(True)),
    "from where they start": lambda a: ak.Array(a.layout.to_ListOffsetArray64(False)),
    "flatten": lambda a: ak.flatten(a, axis=1),
    "sort": lambda a: ak.sort(a, axis=1),
    "is_none": lambda a: ak.is_none(a, axis=1),
    "broadcast": lambda a: ak.broadcast_arrays(a, ak.local_index(a, axis=0)),
}


def bounds(kind, size, rng):
    """Starts and stops of twenty lists in a content."""
    offsets = np.sort(rng.integers(0, size + 1, 21))
    if kind == "one after another":
        return offsets[:-1], offsets[1:]
    if kind == "from the first element on":
        offsets[0] = 0
        return offsets[:-1], offsets[1:]
    if kind == "out of order":
        return offsets[:-1][::-1], offsets[1:][::-1]
    ends = np.sort(rng.integers(0, size + 1, (2, 20)), axis=0)
    if kind == "with empty ones":
        ends[1][rng.random(20) < 0.5] = 0
        ends[0][ends[1] == 0] = 0
    if kind == "empty":
        ends[1] = ends[0] = rng.integers(0, 2 * size + 2, 20)  # which need not be in the content
    return ends


KINDS = (
    "overlapping", "one after another", "from the first element on", "out of order", "with empty ones", "empty"
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, **IDS)
@pytest.mark.parametrize("content", CONTENTS, **IDS)
def test_lists_of_starts_and_stops(content, kind):
    rng = np.random.default_rng(20263)
    layout = CONTENTS[content]
    for dtype in (np.int32, np.uint32, np.int64):
        for more in (0, 3):
            starts, stops = bounds(kind, layout.length, rng)
            stops = np.append(stops, rng.integers(0, 9, more))
            for parameters in (None, {"unit": "mm"}):
                array = lists(layout, starts=starts, stops=stops, dtype=dtype, parameters=parameters)
                for name in ("to_packed", "from zero", "from where they start"):
                    assert_same(OPERATIONS[name], array)


@pytest.mark.parametrize("operation", OPERATIONS, **IDS)
@pytest.mark.parametrize("name", ALL, **IDS)
def test_all_kinds_of_lists(name, operation):
    if not hasattr(ALL[name], "to_ListOffsetArray64") and "start" in operation:
        return
    with contextlib.suppress(operations.Undefined):
        assert_same(OPERATIONS[operation], ALL[name])


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64])
@pytest.mark.parametrize("start_at_zero", [False, True])
@pytest.mark.parametrize("offsets", [[0, 3, 3, 7], [0, 3, 3, 5], [2, 3, 3, 5], [4, 4, 4], [7], [0], [9, 9]], ids=str)
def test_offsets(offsets, start_at_zero, dtype):
    for content in (NUMBERS, RECORDS):
        layout = lists(content, offsets, dtype=dtype)
        assert_same(ak.to_packed, layout)
        assert_same(lambda a: ak.Array(a.layout.to_ListOffsetArray64(start_at_zero)), layout)
        assert_same(lambda a: ak.Array(NumpyArray(a.layout._compact_offsets64(start_at_zero).data)), layout)


WRONG = {
    "a stop before its start": ([0, 3, 2], [2, 1, 5]),
    "a stop beyond": ([0, 3, 2], [2, 9, 5]),
    "a stop beyond, then one before its start": ([0, 3, 2], [2, 9, 1]),
    "a stop before its start, then one beyond": ([0, 3, 2], [2, 1, 9]),
    "two of both": ([5, 3, 2, 6, 0], [8, 1, 9, 4, 2]),
    "an empty list beyond": ([0, 30, 2], [2, 30, 5]),
    "one after another, backwards": ([0, 5, 2], [5, 2, 7]),
    "one after another, beyond": ([0, 5, 9], [5, 9, 11]),
    "one after another, backwards and beyond": ([0, 9, 2], [9, 2, 7]),
    "from an element on, backwards": ([3, 5, 4], [5, 4, 6]),
}


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64])
@pytest.mark.parametrize("operation", ["to_packed", "from zero", "from where they start"], **IDS)
@pytest.mark.parametrize("name", WRONG, **IDS)
def test_errors(name, operation, dtype):
    starts, stops = WRONG[name]
    for content in (NumpyArray(NUMBERS), RECORDS):
        for more in ([], [7]):
            array = lists(content, starts=starts, stops=[*stops, *more], dtype=dtype)
            with contextlib.suppress(operations.Undefined):
                assert_same(OPERATIONS[operation], array)


@pytest.mark.parametrize("length", [0, 1, 2])
@pytest.mark.parametrize("more", [0, 1, 2])
def test_few_lists(length, more):
    for content in (NUMBERS, NUMBERS[:0], RECORDS, ak.contents.EmptyArray()):
        for starts in ([0] * length, [3] * length):
            size = 0 if len(content) == 0 else 2
            array = lists(content, starts=starts, stops=[*(start + size for start in starts), *[1] * more])
            for name in ("to_packed", "from zero", "from where they start"):
                assert_same(OPERATIONS[name], array)


def test_many_lists():
    rng = np.random.default_rng(20264)
    content = np.arange(100_000) / 8
    starts = rng.integers(0, 90_000, 30_000)
    assert_same(ak.to_packed, lists(content, starts=starts, stops=starts + rng.poisson(2, 30_000)))
    offsets = np.sort(starts)
    assert_same(ak.to_packed, lists(content, starts=offsets[:-1], stops=offsets[1:]))
    with_one_gap = offsets[1:].copy()
    with_one_gap[12_345] += 1
    assert_same(ak.to_packed, lists(content, starts=offsets[:-1], stops=with_one_gap))


def test_an_earlier_error_is_the_one_that_is_raised():
    array = ak.to_backend(ak.Array(lists(NUMBERS, starts=[4, 0], stops=[7, 2])), "cuda")
    array[:, 5]
    with pytest.raises(ValueError, match="index out of range"):
        ak.to_packed(array)
    assert ak.to_list(ak.to_packed(array)) == [[4.5, 5.5, 6.5], [0.5, 1.5]]


def test_what_packing_launches(cupy):
    copied, kept = ["scan", "reduce", "segmented_transform"], ["scan", "reduce"]
    for dtype in (np.int32, np.uint32, np.int64):
        apart, joined, later = (
            lists(NUMBERS, starts=starts, stops=stops, dtype=dtype)
            for starts, stops in (([4, 0, 0], [7, 0, 4]), ([0, 3, 3], [3, 3, 7]), ([1, 3, 3], [3, 3, 7]))
        )
        assert_at_once(cupy, ak.to_packed, [apart], copied, waiting=1)
        assert_at_once(cupy, ak.to_packed, [joined], kept, waiting=1)
        assert_at_once(cupy, ak.to_packed, [later], kept, waiting=1)
        assert_at_once(cupy, OPERATIONS["from where they start"], [later], [*kept, "transform"], waiting=1)
        assert_at_once(cupy, ak.to_packed, [lists(NUMBERS, [1, 3, 3, 6], dtype=dtype)], ["transform"])
    for content in (RECORDS, OPTIONS):  # which are carried in a launch more
        apart = lists(content, starts=[4, 0, 0], stops=[7, 0, 4])
        assert_at_once(cupy, OPERATIONS["from zero"], [apart], [*copied, "transform"], waiting=1)


# Lists of one length


REGULARS = {
    "pairs": RegularArray(NumpyArray(NUMBERS), 2),
    "of one": RegularArray(NumpyArray(NUMBERS), 1),
    "of none": RegularArray(NumpyArray(NUMBERS), 0, zeros_length=4),
    "no lists": RegularArray(NumpyArray(NUMBERS[:0]), 3),
    "no lists of none": RegularArray(NumpyArray(NUMBERS[:0]), 0, zeros_length=0),
    "records": RegularArray(RECORDS, 3),
    "one record each": RegularArray(RECORDS, 1),
    "pairs of pairs": RegularArray(RegularArray(NumpyArray(NUMBERS), 2), 2),
    "two dimensions": NumpyArray(np.arange(12).reshape(4, 3)),
    "three dimensions": NumpyArray(np.arange(24).reshape(4, 3, 2)),
    "one in each dimension": NumpyArray(np.arange(4).reshape(4, 1, 1)),
    "of parameters": RegularArray(NumpyArray(NUMBERS), 3, parameters={"unit": "mm"}),
    "words": RegularArray(WORDS, 4),
    "of lists": RegularArray(lists(NUMBERS, [0, 3, 3, 7, 7]), 2),
}


@pytest.mark.parametrize("name", REGULARS, **IDS)
def test_regular_lists(name):
    for axis in (1, 2, -1, None):
        assert_same(lambda a, axis=axis: ak.from_regular(a, axis=axis), REGULARS[name])
        assert_same(lambda a, axis=axis: ak.to_regular(ak.from_regular(a, axis=axis), axis=axis), REGULARS[name])
    for start_at_zero in (True, False):
        layout = REGULARS[name]
        if isinstance(layout, RegularArray):
            assert_same(lambda a, zero=start_at_zero: ak.Array(a.layout.to_ListOffsetArray64(zero)), layout)
    for operation in ("to_packed", "flatten", "sort", "broadcast"):
        assert_same(OPERATIONS[operation], REGULARS[name])
    assert_same(lambda a: ak.concatenate([a, a[:1]], axis=0), REGULARS[name])


def test_what_regular_lists_launch(cupy):
    for name, launches in (("pairs", 1), ("records", 1), ("of parameters", 1), ("of one", 2)):
        templates = ["transform", "segmented_transform"][:launches]
        assert_at_once(cupy, lambda a: ak.from_regular(a, axis=1), [REGULARS[name]], templates)
