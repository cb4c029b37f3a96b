"""Sorting numbers in segments."""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import Out

from . import Context, generator


def _equal_keys(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    if left.dtype.kind == "f":
        return (left == right) | (np.isnan(left) & np.isnan(right))
    return left == right


def _segments(values: dict[str, Any]) -> list[tuple[int, int]]:
    offsets = np.minimum(values["offsets"].astype(np.int64), values["length"])
    return [(a, b) for a, b in zip(offsets[:-1], offsets[1:]) if a < b]


def check_argsort(values, expected, actual):
    """Without ``stable`` equal keys may come in any order: the order is one that sorts, not the oracle's."""
    if values["stable"]:
        return None
    want, got, data = expected["toptr"], actual["toptr"], values["fromptr"]
    inside = np.zeros(len(want), bool)
    for start, stop in _segments(values):
        inside[start:stop] = True
        if not np.array_equal(np.sort(got[start:stop]), np.arange(stop - start)):
            return [f"toptr[{start}:{stop}] is not a permutation"]
        if not _equal_keys(data[start:stop][got[start:stop]], data[start:stop][want[start:stop]]).all():
            return [f"toptr[{start}:{stop}] does not sort"]
    if not np.array_equal(want[~inside], got[~inside]):
        return ["elements outside of all segments differ"]
    return []


def check_sort(values, expected, actual):
    """Without ``stable`` -0.0 and 0.0, and NaNs, may come in any order among themselves."""
    want, got = expected["toptr"], actual["toptr"]
    if values["stable"] or want.dtype.kind != "f":
        return None
    total = min(int(values["offsets"][-1]), values["length"]) if len(values["offsets"]) else 0
    want, got = want[:total], got[:total]
    if not _equal_keys(want, got).all():
        i = np.flatnonzero(~_equal_keys(want, got))[0]
        return [f"toptr[{i}] is {got[i]!r}, not {want[i]!r}"]
    for start, stop in _segments(values):
        a, b = want[start:stop], got[start:stop]
        negative = np.signbit(a) & (a == 0), np.signbit(b) & (b == 0)
        if negative[0].sum() != negative[1].sum():
            return [f"toptr[{start}:{stop}] has another number of -0.0"]
    return []


def _shapes(c: Context):
    dtype, offsetdtype = c.dtype("fromptr"), c.dtype("offsets")
    kinds = c.kinds(dtype)
    for i, (name, n, kind, start) in enumerate(
        (
            ("empty", 0, "random", 0),
            ("one", 1, "nonempty", 0),
            ("one empty", 1, "zero", 0),
            ("small", 7, "random", 0),
            ("from 3", 9, "random", 3),
            ("one long", 1, "long", 0),
            ("257", 257, "random", 1),
            ("skewed", 300, "skewed", 5),
            ("1500", 1500, "random", 0),
            ("20000", 20000, "random", 0),
        )
    ):
        offsets = c.offsets(n, kind, start, offsetdtype)
        yield name, c.values(int(offsets[-1]), dtype, kinds[i % len(kinds)]), offsets
    for kind in kinds:
        offsets = c.offsets(30, "skewed", 0, offsetdtype)
        yield f"all {kind}", c.values(int(offsets[-1]), dtype, kind), offsets
    offsets = c.offsets(20, "nonempty", 0, offsetdtype)
    data = c.values(int(offsets[-1]) + 9, dtype, "mixed")
    yield "more numbers than offsets", data, offsets
    yield "fewer numbers than offsets", data[: int(offsets[-1]) - 3], offsets
    yield "no offsets", data[:5], offsets[:0]


@generator("awkward_sort", check=check_sort)
@generator("awkward_argsort", check=check_argsort)
def sort(c):
    for i, (name, data, offsets) in enumerate(_shapes(c)):
        flags = [(a, s) for a in (True, False) for s in (True, False)]
        for ascending, stable in flags if name.startswith("all") else (flags[i % 4], flags[(i + 3) % 4]):
            yield (
                f"{name}, {'ascending' if ascending else 'descending'}{', stable' if stable else ''}",
                {
                    "toptr": Out(len(data)),
                    "fromptr": data,
                    "length": len(data),
                    "offsets": offsets,
                    "offsetslength": len(offsets),
                    "ascending": ascending,
                    "stable": stable,
                },
            )
