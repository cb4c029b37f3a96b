import sys
from types import ModuleType

import numpy as np
import pytest

from primitives import _radix, op, order_of, segmented_argsort, segmented_sort

LENGTHS = {
    "none": [],
    "one empty": [0],
    "short": np.random.default_rng(1).poisson(3, 5000).tolist(),
    "boundaries": [0, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1023, 1024, 1025, 2048, 0, 1],
    "one long": [50_000],
    "skewed": [1, 2, 30_000, 3, 0, 5, 40, 33],
    "runs of empty": [3, *[0] * 70_000, 5, 40, *[0] * 200_000, 2],  # more than a block keeps in its table
}


@pytest.fixture(params=LENGTHS)
def offsets(request):
    return np.concatenate([[0], np.cumsum(LENGTHS[request.param])]).astype(np.int64)


def expected_order(offsets, values, ascending):
    """Stable, NaN first in both directions."""
    order = np.empty(len(values), np.int64)
    filled = np.diff(offsets) > 0
    for begin, end in zip(offsets[:-1][filled], offsets[1:][filled]):
        keys = values[begin:end]
        is_number = keys == keys
        ranks = np.unique(np.where(is_number, keys, 0), return_inverse=True)[1]
        ranks = np.where(is_number, ranks if ascending else -ranks, 0)
        order[begin:end] = np.lexsort((ranks, is_number))
    return order


@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("dtype", "?bBhHiIlLfd")
def test_argsort_and_sort(xp, to_numpy, offsets, dtype, ascending):
    rng = np.random.default_rng(7)
    n = int(offsets[-1])
    values = rng.integers(0, 2 if dtype == "?" else 100, n).astype(dtype)  # many ties
    if dtype in "fd":
        values[rng.random(n) < 0.05] = np.nan
    elif dtype in "lL" and n:
        values[: n // 2] += np.array(2**62, dtype)  # not distinct as float64
    order = expected_order(offsets, values, ascending)
    given, keys = xp.asarray(offsets), xp.asarray(values)
    out = xp.full(n + 1, -7, np.int64)
    segmented_argsort(given, out, order_of(keys, ascending), elements=n)
    assert np.array_equal(to_numpy(out)[:n], order)
    assert int(to_numpy(out)[n]) == -7
    result = xp.empty_like(keys)
    segmented_sort(given, keys, result, ascending=ascending)
    absolute = order + np.repeat(offsets[:-1], np.diff(offsets))
    assert np.array_equal(to_numpy(result), values[absolute], equal_nan=dtype in "fd")


def test_offsets_that_do_not_start_at_zero(xp, to_numpy):
    values = np.random.default_rng(2).permutation(300)
    out = xp.full(300, -7, np.int64)
    segmented_argsort(xp.asarray([100, 150, 300]), out, order_of(xp.asarray(values)))
    got = to_numpy(out)
    assert np.all(got[:100] == -7)
    assert np.array_equal(got[100:150], np.argsort(values[100:150]))
    assert np.array_equal(got[150:], np.argsort(values[150:]))


@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("dtype", "?bBhHiIlLfd")
@pytest.mark.parametrize("lengths", [[200_000], [70_000, 0, 50_000, 90_000], [1000] * 150])
def test_long_segments(xp, to_numpy, lengths, dtype, ascending):
    """Where the device sorts by radix."""
    rng = np.random.default_rng(8)
    skipped = 77  # before the first segment, and as many after the last
    offsets = np.concatenate([[0], np.cumsum(lengths)]) + skipped
    n = int(offsets[-1]) + skipped
    values = rng.integers(0, 256, n).astype(dtype) if dtype in "?bB" else rng.integers(0, 2**15, n).astype(dtype)
    if dtype in "fd":
        values = ((values - 2**14) * 1.25).astype(dtype)
        values[rng.random(n) < 0.01] = np.nan
        values[::1000] = -0.0
        values[1::1000] = 0.0
        values[2::1000] = np.inf
        values[3::1000] = -np.inf
    elif dtype in "hil":
        values = (values - 2**14).astype(dtype)
        values[::100] = np.iinfo(dtype).min
        values[1::100] = np.iinfo(dtype).max
    elif dtype == "L":
        values[::100] = 2**64 - 1
    order = expected_order(offsets - skipped, values[skipped:-skipped], ascending)
    out = xp.full(n, -7, np.int64)
    segmented_argsort(xp.asarray(offsets), out, order_of(xp.asarray(values), ascending))
    got = to_numpy(out)
    assert np.all(got[:skipped] == -7) and np.all(got[-skipped:] == -7)
    assert np.array_equal(got[skipped:-skipped], order)
    result = xp.zeros_like(xp.asarray(values))
    segmented_sort(xp.asarray(offsets), xp.asarray(values), result, ascending=ascending)
    absolute = order + np.repeat(offsets[:-1], np.diff(offsets))
    assert np.array_equal(to_numpy(result)[skipped:-skipped], values[absolute], equal_nan=dtype in "fd")


def test_a_comparison_of_strings(xp, to_numpy):
    @op
    def before(left, right, result, starts, characters):
        left_at = starts[left]
        right_at = starts[right]
        while (
            left_at < starts[left + 1]
            and right_at < starts[right + 1]
            and characters[left_at] == characters[right_at]
        ):
            left_at += 1
            right_at += 1
        if right_at == starts[right + 1]:
            result[0] = False
        elif left_at == starts[left + 1]:
            result[0] = True
        else:
            result[0] = characters[left_at] < characters[right_at]

    rng = np.random.default_rng(3)
    words = ["".join(rng.choice(list("ab"), rng.integers(0, 5))) for _ in range(500)]
    starts = np.concatenate([[0], np.cumsum([len(w) for w in words])])
    characters = np.frombuffer("".join(words).encode(), np.uint8)
    out = xp.empty(500, np.int64)
    less = (before, xp.asarray(starts), xp.asarray(characters))
    segmented_argsort(xp.asarray([0, 500]), out, less)
    assert to_numpy(out).tolist() == sorted(range(500), key=lambda i: words[i])


def test_repeated_sorts_reuse_their_state(xp, to_numpy):
    rng = np.random.default_rng(4)
    for n in (50_000, 10, 4000, 33, 50_000):
        values = rng.random(n)
        out = xp.empty(n, np.int64)
        segmented_argsort(xp.asarray([0, n // 3, n]), out, order_of(xp.asarray(values)))
        split = n // 3
        assert np.array_equal(to_numpy(out)[:split], np.argsort(values[:split]))
        assert np.array_equal(to_numpy(out)[split:], np.argsort(values[split:]))


class TestRefusals:
    def test_out_too_short(self, xp):
        with pytest.raises(ValueError, match="'out' has 3 elements; it must have at least 5"):
            segmented_argsort(xp.asarray([0, 5]), xp.zeros(3, int), order_of(xp.ones(5)), elements=5)

    def test_out_of_another_dtype(self, xp):
        with pytest.raises(TypeError, match="'out' has dtype float64"):
            segmented_argsort(xp.asarray([0, 5]), xp.zeros(5), order_of(xp.ones(5)))

    def test_complex_values(self, xp):
        with pytest.raises(TypeError, match="'values' has dtype complex128"):
            segmented_sort(xp.asarray([0, 1]), xp.ones(1, complex), xp.ones(1, complex))


@pytest.mark.parametrize("there", [True, False])
def test_a_library_that_does_not_find_what_it_is_linked_with_is_not_used(monkeypatch, there):
    """It can be imported then, but has nothing."""

    class Module(ModuleType):
        def __getattr__(self, name):
            if not there:
                raise AttributeError("CUDA bindings are not available")
            return None

    monkeypatch.setitem(sys.modules, "cuda.compute", Module("cuda.compute"))
    monkeypatch.setattr(_radix, "_missing", False)
    monkeypatch.setattr(_radix, "_sorters", {})
    assert _radix.available() is there


def test_a_radix_sort_that_cannot_be_built_is_said_once_and_not_used(monkeypatch):
    """As where the headers of one version of CUDA meet the compiler of another."""
    tried = []

    def prepare(device):
        tried.append(device)
        raise RuntimeError("12 errors detected\n  in the compilation")

    monkeypatch.setattr(_radix, "_missing", False)
    monkeypatch.setattr(_radix, "_sorters", {})
    monkeypatch.setattr(_radix, "available", lambda: not _radix._missing)
    monkeypatch.setattr(_radix, "prepare", prepare)
    monkeypatch.setattr("primitives._device.architecture", lambda device: "sm_90")
    with pytest.warns(RuntimeWarning, match=r"are merged.*12 errors detected in the compilation\)") as caught:
        assert not _radix.ready(0)
        assert not _radix.ready(0)
    assert len(caught) == len(tried) == 1
    monkeypatch.setattr(_radix, "_sorters", {"sm_90": object()})
    assert _radix.ready(0)
