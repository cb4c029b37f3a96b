import numpy as np
import pytest

from primitives import op, segment_ids, segmented_reduce, segmented_transform


def segments_of(kind, rng):
    """Offsets with the given character; the last one is some ten or hundred thousand at most."""
    if kind == "none":
        lengths = np.zeros(0, int)
    elif kind == "one empty":
        lengths = np.zeros(1, int)
    elif kind == "all empty":
        lengths = np.zeros(5000, int)
    elif kind == "one element":
        lengths = np.ones(1, int)
    elif kind == "short":
        lengths = rng.poisson(3, 20_000)
    elif kind == "long":
        lengths = rng.integers(0, 3000, 50)
    elif kind == "boundaries":
        lengths = np.array([0, 15, 16, 17, 0, 31, 32, 33, 255, 256, 257, 8191, 8192, 8193, 0, 1])
    elif kind == "huge":
        lengths = np.array([100_000, 3, 70_000])
    elif kind == "skewed":
        lengths = rng.poisson(3, 20_000)
        lengths[777] = lengths.sum()
    elif kind == "a million":
        lengths = np.full(1_048_577 // 7, 7)
        lengths[-1] += 1_048_577 % 7
    elif kind == "mostly empty":
        lengths = np.where(rng.random(30_000) < 0.01, 50, 0)
    elif kind == "runs of empty":  # more than a block keeps in its table, and less
        lengths = np.zeros(400_000, int)
        lengths[[7, 90_000, 90_001, 155_600, 221_200, 399_999]] = [3000, 1, 5, 2000, 7000, 40]
    return np.concatenate([[0], np.cumsum(lengths)])


KINDS = [
    "none",
    "one empty",
    "all empty",
    "one element",
    "short",
    "long",
    "boundaries",
    "huge",
    "skewed",
    "mostly empty",
    "runs of empty",
    "a million",
]


@pytest.fixture(params=KINDS)
def offsets(request):
    return segments_of(request.param, np.random.default_rng(KINDS.index(request.param)))


@op
def locate(segment, position, local, segments, locals_, shift):
    segments[position - shift] = segment
    locals_[position - shift] = local


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64"])
@pytest.mark.parametrize("shift", [0, 5])
def test_segmented_transform_visits_every_element_once(xp, to_numpy, offsets, dtype, shift):
    n = int(offsets[-1])
    segments, locals_ = xp.full(n + 1, -7), xp.full(n + 1, -7)
    given = xp.asarray((offsets + shift).astype(dtype))
    segmented_transform(given, n, locate, segments, locals_, shift)
    expected = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    assert np.array_equal(to_numpy(segments)[:n], expected)
    assert np.array_equal(to_numpy(locals_)[:n], np.arange(n) - offsets[expected] if n else [])
    assert to_numpy(segments)[n] == to_numpy(locals_)[n] == -7


def test_segment_ids(xp, to_numpy, offsets):
    out = xp.full(int(offsets[-1]), -7)
    segment_ids(xp.asarray(offsets), out)
    assert np.array_equal(to_numpy(out), np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)))


def test_any_number_of_segments(xp, to_numpy):
    """Blocks search for their segments, 33 parts at a time: numbers that 33 divides have their own traps."""
    rng = np.random.default_rng(3)
    for n in [*range(1, 1300), *rng.integers(1300, 60_000, 60)]:
        lengths = rng.integers(0, 30, n)
        if n % 3 == 0:
            lengths[n // 2] = lengths.sum() + 1
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        ids = xp.full(int(offsets[-1]), -1, np.int64)
        segment_ids(xp.asarray(offsets), ids)
        assert np.array_equal(to_numpy(ids), np.repeat(np.arange(n), lengths)), n


def test_blocks_go_from_tile_to_tile(xp, to_numpy):
    """With so many elements, and no bound on them, every block has several tiles."""
    lengths = np.random.default_rng(5).poisson(3, 2_300_000)
    lengths[700_000:800_000] = 0
    lengths[1_500_000:1_565_537] = 0
    lengths[1_800_000] = 300_000
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    n = int(offsets[-1])
    segments, locals_ = xp.full(n, -7), xp.full(n, -7)
    segmented_transform(xp.asarray(offsets + 3), None, locate, segments, locals_, 3)
    expected = np.repeat(np.arange(len(lengths)), lengths)
    assert np.array_equal(to_numpy(segments), expected)
    assert np.array_equal(to_numpy(locals_), np.arange(n) - offsets[expected])


def test_elements_beyond_the_bound_are_not_visited(xp, to_numpy):
    out = xp.full(10, -7)
    segmented_transform(xp.asarray([0, 4, 10]), 6, locate, out, xp.zeros(10, int), 0)
    assert to_numpy(out).tolist() == [0, 0, 0, 0, 1, 1, -7, -7, -7, -7]


def test_offsets_that_are_not_sorted_lead_to_no_other_elements(xp, to_numpy):
    """What is between their first and their last is visited, or not; nothing else is."""
    out = xp.full(10, -7)
    segmented_transform(xp.asarray([3, 1, 9, 2, 5]), 10, locate, out, xp.zeros(10, int), 0)
    assert set(np.flatnonzero(to_numpy(out) != -7)) <= {3, 4}


@op
def start(acc, segment, identity):
    acc[0] = identity


@op
def add(acc, segment, position, x):
    acc[0] += x[position]


@op
def merge(acc, other, segment):
    acc[0] += other[0]


@op
def finish(acc, segment, out):
    out[segment] = acc[0]


def segmented_sum(offsets, x, out, **options):
    segmented_reduce(
        offsets,
        len(x),
        dtype=out.dtype,
        start=(start, 0),
        step=(add, x),
        merge=(merge,),
        finish=(finish, out),
        **options,
    )


@pytest.mark.parametrize("dtype", "?bBhHiIlLfd")
@pytest.mark.parametrize("offset_dtype", ["int32", "uint32", "int64"])
def test_sums_of_integers_are_exact(xp, to_numpy, offsets, dtype, offset_dtype):
    x = np.random.default_rng(3).integers(0, 2 if dtype == "?" else 5, int(offsets[-1])).astype(dtype)
    out = xp.full(len(offsets), -7, np.int64)
    segmented_sum(xp.asarray(offsets.astype(offset_dtype)), xp.asarray(x), out)
    sums = np.concatenate([[0], np.cumsum(x, dtype=np.int64)])
    assert np.array_equal(to_numpy(out)[:-1], sums[offsets[1:]] - sums[offsets[:-1]])
    assert to_numpy(out)[-1] == -7


@pytest.mark.parametrize(("segments", "mean"), [(2**23 - 1, 0.4), (2**23 + 3, 0.4), (2**18 + 5, 25)])
def test_so_many_segments_that_threads_take_several(xp, to_numpy, segments, mean):
    lengths = np.random.default_rng(segments).poisson(mean, segments)
    lengths[segments // 2] = 20_000
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    x = xp.ones(int(offsets[-1]), np.int8)
    out = xp.full(segments + 1, -7, np.int32)
    segmented_sum(xp.asarray(offsets), x, out)
    assert np.array_equal(to_numpy(out)[:-1], lengths)
    assert to_numpy(out)[-1] == -7


@pytest.mark.parametrize("acc", "bBhHiIlLfd")
def test_accumulators_of_every_dtype(xp, to_numpy, acc):
    offsets = segments_of("boundaries", None)
    x = np.ones(int(offsets[-1]), np.int64)
    out = xp.zeros(len(offsets) - 1, acc)
    segmented_sum(xp.asarray(offsets), xp.asarray(x), out)
    assert np.array_equal(to_numpy(out), np.diff(offsets).astype(acc))


def test_repeated_and_interleaved_reductions(xp, to_numpy):
    rng = np.random.default_rng(5)
    for _ in range(3):
        for kind in ("huge", "short", "skewed", "huge", "long"):
            offsets = segments_of(kind, rng)
            x = rng.integers(0, 5, int(offsets[-1]))
            out = xp.zeros(len(offsets) - 1, np.int64)
            segmented_sum(xp.asarray(offsets), xp.asarray(x), out)
            sums = np.concatenate([[0], np.cumsum(x)])
            assert np.array_equal(to_numpy(out), sums[offsets[1:]] - sums[offsets[:-1]])


def test_accumulators_of_two_values(xp, to_numpy, offsets):
    @op
    def start2(acc, segment):
        acc[0] = -1.0
        acc[1] = 0.0

    @op
    def step2(acc, segment, position, x):
        acc[0] = max(acc[0], x[position])
        acc[1] += 1.0

    @op
    def merge2(acc, other, segment):
        acc[0] = max(acc[0], other[0])
        acc[1] += other[1]

    @op
    def finish2(acc, segment, largest, number):
        largest[segment] = acc[0]
        number[segment] = acc[1]

    x = np.random.default_rng(4).random(int(offsets[-1]))
    n = len(offsets) - 1
    largest, number = xp.zeros(n), xp.zeros(n, np.int64)
    segmented_reduce(
        xp.asarray(offsets),
        len(x),
        dtype="float64",
        width=2,
        start=(start2,),
        step=(step2, xp.asarray(x)),
        merge=(merge2,),
        finish=(finish2, largest, number),
    )
    assert np.array_equal(to_numpy(number), np.diff(offsets))
    expected = [x[b:e].max() if e > b else -1.0 for b, e in zip(offsets[:-1], offsets[1:])]
    assert np.array_equal(to_numpy(largest), expected)


def test_fewer_segments_than_offsets(xp, to_numpy):
    out = xp.full(3, -7, np.int64)
    segmented_sum(xp.asarray([0, 2, 3, 5]), xp.ones(5), out, segments=2)
    assert to_numpy(out).tolist() == [2, 1, -7]


class TestRefusals:
    def test_width(self, xp):
        with pytest.raises(ValueError, match="'width' must be between 1 and 8"):
            segmented_sum(xp.asarray([0, 1]), xp.ones(1), xp.ones(1), width=9)

    def test_segments(self, xp):
        with pytest.raises(ValueError, match="'segments' is 2, but 'offsets' has 2 elements"):
            segmented_sum(xp.asarray([0, 1]), xp.ones(1), xp.ones(1), segments=2)

    def test_offsets(self, xp):
        with pytest.raises(TypeError, match="'offsets' has dtype float64"):
            segment_ids(xp.ones(3), xp.ones(3, int))
        with pytest.raises(ValueError, match="'offsets' must have one dimension"):
            segment_ids(xp.ones((3, 3), int), xp.ones(3, int))

    def test_elements(self, xp):
        with pytest.raises(ValueError, match="'elements' must not be negative"):
            segmented_transform(xp.asarray([0, 1]), -1, locate, xp.ones(3), xp.ones(3), 0)


class Foreign:
    """An array of a library that is neither NumPy nor CuPy, but knows DLPack."""

    dtype = "its own kind of dtype"

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_arrays_of_another_library():
    out = np.full(5, -1)
    segment_ids(Foreign(np.array([0, 3, 3, 5])), Foreign(out))
    assert out.tolist() == [0, 0, 0, 2, 2]


@op
def store_segment_and_local(segment, position, local, segments, locals):
    segments[position] = segment
    locals[position] = local


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("to", ["host", pytest.param("device", marks=pytest.mark.gpu)])
def test_elements_that_the_host_does_not_know(kind, to):
    offsets = segments_of(kind, np.random.default_rng(3))
    lengths = np.diff(offsets)
    outs = [np.full(offsets[-1], -7) for _ in range(2)]
    given = [offsets, *outs]
    if to == "device":
        import cupy

        given = [cupy.asarray(x) for x in given]
    segmented_transform(given[0], None, store_segment_and_local, *given[1:])
    found = given[1:] if to == "host" else [x.get() for x in given[1:]]
    assert (found[0] == np.repeat(np.arange(len(lengths)), lengths)).all()
    assert (found[1] == np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)).all()
