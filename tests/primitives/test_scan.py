import numpy as np
import pytest

from primitives import (
    DeviceValueError,
    bit_at,
    exclusive_scan,
    inclusive_scan,
    offsets_from,
    op,
    popcount,
    rank_at,
    ranked_bits,
    run_boundaries,
    scan,
    searchsorted,
    select,
    synchronize,
    transform,
)

SIZES = [0, 1, 31, 32, 33, 255, 256, 257, 2047, 2048, 2049, 5119, 5120, 5121, 70_000, 1_048_577]


@op(errors=("negative count",))
def counts(i, count, x):
    if x[i] < 0:
        return 1, x[i]
    count[0] = x[i]


@op
def is_odd(i, keep, x):
    keep[0] = x[i] % 2


@op
def record(i, before, after, starts, stops):
    starts[i] = before
    stops[i] = after


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", "bBhHiIl")
def test_offsets_from_counts(xp, to_numpy, n, dtype):
    x = np.random.default_rng(n).integers(0, 9, n).astype(dtype)
    offsets = xp.full(n + 2, -7, np.int64)
    offsets_from((counts, xp.asarray(x)), n, offsets)
    expected = np.concatenate([[0], np.cumsum(x.astype(np.int64)), [-7]])
    assert np.array_equal(to_numpy(offsets), expected)


@pytest.mark.parametrize("n", SIZES)
def test_scan_gives_both_sides_and_the_total(xp, to_numpy, n):
    x = np.random.default_rng(n).integers(0, 9, n)
    starts, stops = xp.full(n, -1, np.int64), xp.full(n, -1, np.int64)
    total = xp.full(1, -1, np.int64)
    scan(n, (counts, xp.asarray(x)), (record, starts, stops), total=total)
    assert np.array_equal(to_numpy(stops), np.cumsum(x))
    assert np.array_equal(to_numpy(starts), np.cumsum(x) - x)
    assert to_numpy(total).tolist() == [x.sum()]


@pytest.mark.parametrize("n", [*SIZES, 4095, 4096, 4097, 8191, 8193])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99, 1.0])
def test_a_scan_of_flags(xp, to_numpy, n, share):
    x = (np.random.default_rng(n).random(n) < share).astype(np.int8)
    starts, stops = xp.full(n, -1, np.int64), xp.full(n, -1, np.int64)
    total = xp.full(1, -1, np.int64)
    scan(n, (counts, xp.asarray(x)), (record, starts, stops), total=total, dtype="flag")
    assert np.array_equal(to_numpy(stops), np.cumsum(x))
    assert np.array_equal(to_numpy(starts), np.cumsum(x) - x)
    assert to_numpy(total).tolist() == [x.sum()]
    offsets = xp.full(n + 1, -7, np.int64)
    offsets_from((counts, xp.asarray(x)), n, offsets, dtype="flag")
    assert np.array_equal(to_numpy(offsets), np.concatenate([[0], np.cumsum(x)]))


def test_what_is_not_0_is_a_flag(xp, to_numpy):
    x = np.array([0, 5, -1, 0, 2**40, 1])
    offsets, kept = xp.full(7, -1, np.int64), xp.full(6, -1, np.int64)

    @op
    def as_it_is(i, value, x):
        value[0] = x[i]

    offsets_from((as_it_is, xp.asarray(x)), 6, offsets, dtype="flag")
    select((as_it_is, xp.asarray(x)), 6, kept)
    assert to_numpy(offsets).tolist() == [0, 0, 1, 2, 2, 3, 4]
    assert to_numpy(kept).tolist() == [1, 2, 4, 5, -1, -1]


@pytest.mark.parametrize("n", [1056 * 4096, 1056 * 4096 + 1, 9_000_001])
def test_a_scan_of_so_many_flags_that_blocks_take_several_rounds(xp, to_numpy, n):
    x = np.random.default_rng(n).random(n) < 0.3
    offsets = xp.full(n + 1, -7, np.int32)
    offsets_from((counts, xp.asarray(x.view(np.int8))), n, offsets, dtype="flag")
    assert np.array_equal(to_numpy(offsets)[1:], np.cumsum(x))
    assert to_numpy(offsets)[0] == 0


@op
def read_bits(i, bits, ranks, words):
    bits[i] = bit_at(words, i)
    ranks[i] = rank_at(words, i)


@pytest.mark.parametrize("n", [*SIZES, 15, 16, 17, 511, 512, 513, 4096, 4097, 1056 * 4096 + 1])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99, 1.0])
def test_ranked_bits(xp, to_numpy, n, share):
    x = (np.random.default_rng(n).random(n) < share).astype(np.int8)
    n_words = (n + 15) // 16
    words, total = xp.full(n_words + 1, -7, np.int64), xp.full(1, -1, np.int64)
    ranked_bits((counts, xp.asarray(x)), n, words, total=total)
    assert to_numpy(total).tolist() == [x.sum()]
    padded = np.zeros(16 * n_words, np.int64)
    padded[:n] = x
    of_words = padded.reshape(n_words, 16)
    before = np.cumsum(of_words.sum(axis=1)) - of_words.sum(axis=1)
    expected = before << 16 | of_words @ (1 << np.arange(16))
    assert np.array_equal(to_numpy(words), np.r_[expected, -7])
    bits, ranks = xp.full(n, -1, np.int64), xp.full(n, -1, np.int64)
    transform(read_bits, n, bits, ranks, words)
    assert np.array_equal(to_numpy(bits), x)
    assert np.array_equal(to_numpy(ranks), np.cumsum(x) - x)


def test_an_op_of_16_flags_at_once(xp, to_numpy):
    x = np.array([0, 5, -1, 0, 2**40] * 7)

    @op
    def as_it_is(i, value, x):
        value[0] = x[i]

    starts, bits = xp.full(4, -1, np.int64), xp.full(4, -1, np.int64)
    scan(35, (as_it_is, xp.asarray(x)), (record, starts, bits), dtype="bits")
    flags = np.r_[x != 0, np.zeros(13, bool)].reshape(3, 16)
    assert to_numpy(starts).tolist() == [0, *np.cumsum(flags.sum(axis=1))[:2], -1]
    assert to_numpy(bits).tolist() == [*(flags @ (1 << np.arange(16))), -1]


@op(errors=("the third sixteen",))
def refuse_third(i, before, bits, out):
    if i == 2:
        return 1, i
    out[i] = bits


def test_errors_of_a_scan_of_bits(xp):
    out = xp.zeros(700, np.int64)
    with pytest.raises(DeviceValueError, match="the third sixteen"):
        scan(10_000, (counts, xp.ones(10_000, np.int8)), (refuse_third, out), dtype="bits")
        synchronize()
    x = np.ones(10_000, np.int64)
    x[4097:] = -1
    with pytest.raises(DeviceValueError, match="negative count") as caught:
        ranked_bits((counts, xp.asarray(x)), 10_000, out)
        synchronize()
    assert caught.value.index == 4097


@op
def count_bits(i, out, x):
    out[i] = popcount(x[i])


def test_popcount(xp, to_numpy):
    x = np.array([0, 1, -1, 2**63 - 1, -(2**63), 0b10110, 2**40 + 3])
    out = xp.full(7, -1, np.int64)
    transform(count_bits, 7, out, xp.asarray(x))
    assert to_numpy(out).tolist() == [0, 1, 64, 63, 1, 3, 3] == [popcount(value) for value in x]


@pytest.mark.parametrize(
    ("n", "at"), [*((10_000, at) for at in (0, 4095, 4096, 9999)), (5_000_000, 4_999_999)]
)
def test_an_error_in_a_scan_of_flags(xp, n, at):
    x = np.ones(n, np.int64)
    x[at:] = -1
    starts = xp.full(n, -1, np.int64)
    with pytest.raises(DeviceValueError, match="negative count") as caught:
        scan(n, (counts, xp.asarray(x)), (record, starts, starts), dtype="flag")
        synchronize()
    assert caught.value.index == at


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("combine", ["add", "maximum", "minimum"])
@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64", "int32", "bool"])
def test_inclusive_and_exclusive(xp, to_numpy, n, combine, dtype):
    x = np.random.default_rng(n).integers(0, 2 if dtype == "bool" else 1000, n).astype(dtype)
    wide = {"int32": np.int64, "bool": np.int64}.get(dtype, np.dtype(dtype))
    function = {"add": np.add, "maximum": np.maximum, "minimum": np.minimum}[combine]
    expected = function.accumulate(x.astype(wide)) if n else x.astype(wide)
    out = xp.zeros(n, wide)
    inclusive_scan(xp.asarray(x), out, combine=combine)
    assert np.array_equal(to_numpy(out), expected)
    exclusive_scan(xp.asarray(x), out, combine=combine)
    assert np.array_equal(to_numpy(out)[1:], expected[:-1])
    if n:
        identity = {
            "add": 0,
            "maximum": -np.inf if wide == "f8" else np.iinfo(wide).min,
            "minimum": np.inf if wide == "f8" else np.iinfo(wide).max,
        }
        assert to_numpy(out)[0] == identity[combine]


@pytest.mark.parametrize("n", [1, 257, 5000, 100_000])
@pytest.mark.parametrize("combine", ["maximum", "minimum"])
def test_after_nan_all_are_nan(xp, to_numpy, n, combine):
    for at in {0, n // 3, n - 1}:
        x = np.random.default_rng(n).normal(size=n)
        x[at] = np.nan
        out = xp.zeros(n)
        inclusive_scan(xp.asarray(x), out, combine=combine)
        expected = getattr(np, combine).accumulate(x)
        assert np.array_equal(to_numpy(out), expected, equal_nan=True)


def test_in_place(xp, to_numpy):
    x = xp.ones(5000, np.int64)
    inclusive_scan(x, x)
    assert np.array_equal(to_numpy(x), np.arange(1, 5001))


def test_many_scans_reuse_their_state(xp, to_numpy):
    out = xp.zeros(100_001, np.int64)
    x = xp.ones(100_000, np.int64)
    for n in (100_000, 1, 5000, 99_999, 2049) * 4:
        offsets_from((counts, x), n, out)
        assert int(to_numpy(out)[n]) == n


def test_error_of_a_scan(xp):
    x = np.ones(10_000, np.int64)
    x[[9000, 4321]] = -1
    offsets = xp.zeros(10_001, np.int64)
    for _ in range(5):
        offsets_from((counts, xp.asarray(x)), 10_000, offsets)
        with pytest.raises(DeviceValueError) as caught:
            synchronize()
        assert (caught.value.message, caught.value.index) == ("negative count", 4321)


def test_error_of_the_second_op_has_its_own_message(xp):
    @op(errors=("full",))
    def emit(i, before, after, out, size):
        if after > size:
            return 1
        out[before] = i

    x, out = xp.ones(100, np.int64), xp.zeros(50, np.int64)
    scan(100, (counts, x), (emit, out, 50))
    with pytest.raises(DeviceValueError, match="^full in compiled") as caught:
        synchronize()
    assert caught.value.index == 50


@pytest.mark.parametrize("n", SIZES)
def test_select(xp, to_numpy, n):
    x = np.random.default_rng(n).integers(0, 100, n)
    total = xp.full(1, -1, np.int64)
    out = xp.full(n, -7, np.int64)
    select((is_odd, xp.asarray(x)), n, out, total=total)
    expected = np.flatnonzero(x % 2)
    assert to_numpy(total).tolist() == [len(expected)]
    assert np.array_equal(to_numpy(out)[: len(expected)], expected)
    assert np.all(to_numpy(out)[len(expected) :] == -7)
    select((is_odd, xp.asarray(x)), n, out, values=xp.asarray(x * 3))
    assert np.array_equal(to_numpy(out)[: len(expected)], x[expected] * 3)


@pytest.mark.parametrize("keep", [0, 1])
def test_select_all_or_nothing(xp, to_numpy, keep):
    x, out, total = xp.full(3000, keep), xp.full(3000, -7), xp.zeros(1, np.int64)
    select((is_odd, x), 3000, out, total=total)
    assert to_numpy(total)[0] == 3000 * keep
    assert np.array_equal(to_numpy(out), np.arange(3000) if keep else np.full(3000, -7))


@pytest.mark.parametrize("n", SIZES[:-1])
def test_run_boundaries(xp, to_numpy, n):
    x = np.sort(np.random.default_rng(n).integers(0, 1 + n // 3, n))
    starts, total = xp.full(n, -7, np.int64), xp.full(1, -1, np.int64)
    run_boundaries(xp.asarray(x), starts, total=total)
    expected = np.unique(x, return_index=True)[1]
    assert to_numpy(total)[0] == len(expected)
    assert np.array_equal(to_numpy(starts)[: len(expected)], expected)


@pytest.mark.parametrize("n", [0, 1, 2, 1000])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float64"])
def test_searchsorted(xp, to_numpy, n, side, dtype):
    rng = np.random.default_rng(n)
    table = np.sort(rng.integers(0, 50, n)).astype(dtype)
    values = rng.integers(-5, 55, 777).astype(dtype)
    out = xp.full(777, -1, np.int64)
    searchsorted(xp.asarray(table), xp.asarray(values), out, side=side)
    assert np.array_equal(to_numpy(out), np.searchsorted(table, values, side))


class TestRefusals:
    def test_offsets_too_short(self, xp):
        with pytest.raises(ValueError, match="'offsets' has 3 elements; it must have at least 4"):
            offsets_from((counts, xp.zeros(3, int)), 3, xp.zeros(3, int))

    def test_offsets_of_floats(self, xp):
        with pytest.raises(TypeError, match="'offsets' has dtype float64; it must be one of int8"):
            offsets_from((counts, xp.zeros(3, int)), 3, xp.zeros(4))

    def test_words_too_short(self, xp):
        with pytest.raises(ValueError, match="'words' has 1 elements; it must have at least 2"):
            ranked_bits((counts, xp.zeros(17, int)), 17, xp.zeros(1, int))

    def test_words_of_floats(self, xp):
        with pytest.raises(TypeError, match="'words' has dtype float64"):
            ranked_bits((counts, xp.zeros(3, int)), 3, xp.zeros(1))

    def test_combine(self, xp):
        with pytest.raises(ValueError, match="combine with 'multiply'"):
            inclusive_scan(xp.ones(3), xp.ones(3), combine="multiply")

    def test_negative_length(self, xp):
        with pytest.raises(ValueError, match="'n' must not be negative"):
            scan(-3, (counts, xp.zeros(3)), (record, xp.zeros(3), xp.zeros(3)))

    def test_side(self, xp):
        with pytest.raises(ValueError, match="'side' must be"):
            searchsorted(xp.ones(3), xp.ones(3), xp.ones(3, int), side="middle")

    def test_total_of_another_dtype(self, xp):
        with pytest.raises(TypeError, match="'total' has dtype float64"):
            select((is_odd, xp.zeros(3, int)), 3, xp.zeros(3, int), total=xp.zeros(1))
