"""The two families of awkward's releases before its reducers took offsets, against NumPy."""

import numpy as np
import pytest

from awkward_cudakernels import registry

NEXTSTARTS = "awkward_ListOffsetArray_reduce_nonlocal_nextstarts_64"
OUTOFFSETS = "awkward_ListOffsetArray_reduce_local_outoffsets_64"

POISON = -777
LENGTHS = (0, 1, 2, 255, 256, 257, 3000, 70001)


def parents_of(n: int, outlength: int, seed: int) -> np.ndarray:
    """Sorted numbers below `outlength`, some of which do not occur."""
    rng = np.random.default_rng(seed)
    present = rng.permutation(outlength)[: max(outlength // 2, 1)]
    return np.sort(rng.choice(present, n)).astype(np.int64)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("outlength", (1, 7, 300))
@pytest.mark.parametrize("to", ("host", pytest.param("device", marks=pytest.mark.gpu)))
def test_nextstarts(n, outlength, to):
    parents = parents_of(n, outlength, n + outlength)
    expected = np.full(outlength, POISON)
    present, first = np.unique(parents, return_index=True)
    expected[present] = first

    out = _copy(np.full(outlength, POISON), to)
    registry()[NEXTSTARTS](out, _copy(parents, to), n)
    assert _back(out).tolist() == expected.tolist()


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("outlength", (0, 1, 7, 300))
@pytest.mark.parametrize("to", ("host", pytest.param("device", marks=pytest.mark.gpu)))
def test_outoffsets(n, outlength, to):
    if outlength == 0 and n > 0:
        pytest.skip("elements without a parent")
    parents = parents_of(n, outlength, n + outlength) if n else np.zeros(0, np.int64)
    expected = np.concatenate([[0], np.cumsum(np.bincount(parents, minlength=outlength))])

    out = _copy(np.full(outlength + 3, POISON), to)
    registry()[OUTOFFSETS](out, _copy(parents, to), n, outlength)
    assert _back(out).tolist() == [*expected, POISON, POISON]


@pytest.mark.parametrize("present", ([0], [5000], [9999], [255, 256, 257, 511, 512], [0, 3000, 3001, 9000], []))
@pytest.mark.parametrize("to", ("host", pytest.param("device", marks=pytest.mark.gpu)))
def test_outoffsets_with_long_runs_of_empty_lists(present, to):
    parents = np.repeat(np.array(present, np.int64), 3)
    expected = np.concatenate([[0], np.cumsum(np.bincount(parents, minlength=10_000))])
    out = _copy(np.full(10_001, POISON), to)
    registry()[OUTOFFSETS](out, _copy(parents, to), len(parents), 10_000)
    assert _back(out).tolist() == expected.tolist()


def test_only_the_given_length_is_read():
    """Arrays may be longer than the call needs."""
    parents = np.array([1, 1, 3, 0, 99], np.int64)
    out = np.full(6, POISON)
    registry()[NEXTSTARTS](out, parents, 3)
    assert out.tolist() == [POISON, 0, POISON, 2, POISON, POISON]
    registry()[OUTOFFSETS](out, parents, 3, 4)
    assert out.tolist() == [0, 0, 2, 2, 3, POISON]


def _copy(array: np.ndarray, to: str) -> np.ndarray:
    if to == "host":
        return array.copy()
    import cupy

    return cupy.asarray(array)


def _back(array: np.ndarray) -> np.ndarray:
    return array if isinstance(array, np.ndarray) else array.get()
