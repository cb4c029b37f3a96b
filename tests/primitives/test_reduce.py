import numpy as np
import pytest

from primitives import DeviceValueError, op, reduce, synchronize

SIZES = [0, 1, 31, 32, 33, 255, 256, 257, 2047, 2048, 2049, 70_000, 1_048_577, 1056 * 2048 + 1]
FUNCTIONS = {"add": np.sum, "maximum": np.max, "minimum": np.min}


@op
def number(i, value, x):
    value[0] = x[i]


@op
def every_third(i, value, x):
    if i % 3 == 0:
        value[0] = x[i]


@op(errors=("too large",))
def small(i, value, x, limit):
    value[0] = x[i]
    if x[i] > limit:
        return 1, x[i]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("combine", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64"])
def test_the_combination_of_all_values(xp, to_numpy, n, combine, dtype):
    low = 0 if dtype == "uint64" else -1000
    x = np.random.default_rng(n).integers(low, 1000, n).astype(dtype)
    total = xp.full(1, 77, dtype)
    reduce(n, (number, xp.asarray(x)), total, combine=combine, dtype=dtype)
    identity = {"add": 0}.get(combine)
    if n == 0 and identity is None:
        info = np.finfo if dtype == "float64" else np.iinfo
        identity = info(dtype).min if combine == "maximum" else info(dtype).max
        if dtype == "float64":
            identity = -np.inf if combine == "maximum" else np.inf
    expected = FUNCTIONS[combine](x) if n else identity
    assert to_numpy(total).tolist() == [expected]


@pytest.mark.parametrize("n", [1, 33, 2049, 70_000])
@pytest.mark.parametrize("combine", ["maximum", "minimum"])
def test_nan_is_the_result_wherever_it_is(xp, to_numpy, n, combine):
    for at in {0, n // 2, n - 1}:
        x = np.random.default_rng(n).normal(size=n)
        x[at] = np.nan
        total = xp.zeros(1)
        reduce(n, (number, xp.asarray(x)), total, combine=combine, dtype="float64")
        assert np.isnan(to_numpy(total)).all()


def test_integers_wrap(xp, to_numpy):
    total = xp.zeros(1, np.int64)
    reduce(3, (number, xp.asarray([2**62, 2**62, 1])), total)
    assert to_numpy(total).tolist() == [-(2**63) + 1]


@pytest.mark.parametrize("n", [5, 5000])
def test_an_op_that_sets_nothing_gives_the_identity(xp, to_numpy, n):
    x = np.arange(n) + 1
    total = xp.zeros(1, np.int64)
    reduce(n, (every_third, xp.asarray(x)), total)
    assert to_numpy(total).tolist() == [x[::3].sum()]
    reduce(n, (every_third, xp.asarray(x)), total, combine="minimum")
    assert to_numpy(total).tolist() == [1]


def test_sums_of_floats_are_the_same_every_time(xp, to_numpy):
    x = xp.asarray(np.random.default_rng(1).exponential(1.0, 300_000))
    totals = xp.zeros((20, 1))
    for total in totals:
        reduce(len(x), (number, x), total, dtype="float64")
    found = to_numpy(totals)
    assert len(np.unique(found)) == 1
    np.testing.assert_allclose(found[0], to_numpy(x).sum(), rtol=1e-12)


@pytest.mark.parametrize("at", [0, 2047, 2048, 69_999])
def test_the_error_of_the_lowest_index(xp, to_numpy, at):
    x = np.zeros(70_000, np.int64)
    x[at:] = 5
    total = xp.zeros(1, np.int64)
    with pytest.raises(DeviceValueError, match="^too large in compiled") as caught:
        reduce(len(x), (small, xp.asarray(x), 4), total)
        synchronize()
    assert caught.value.index == at
    reduce(at, (small, xp.asarray(x), 4), total)  # the state is as it was
    assert to_numpy(total).tolist() == [0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"combine": "multiply"}, "reduce cannot combine with 'multiply' in 'int64'"),
        ({"dtype": "count"}, "reduce cannot combine with 'add' in 'count'"),
        ({"dtype": "float32"}, "reduce cannot combine with 'add' in 'float32'"),
    ],
)
def test_what_it_cannot_combine(options, message):
    with pytest.raises(ValueError, match=message):
        reduce(1, (number, np.zeros(1)), np.zeros(1, np.int64), **options)


def test_refusals():
    with pytest.raises(ValueError, match="'n' must not be negative"):
        reduce(-1, (number, np.zeros(1)), np.zeros(1, np.int64))
    with pytest.raises(TypeError, match="'total'"):
        reduce(1, (number, np.zeros(1)), np.zeros(1))
    with pytest.raises(ValueError, match="'total'"):
        reduce(1, (number, np.zeros(1)), np.zeros(0, np.int64))
