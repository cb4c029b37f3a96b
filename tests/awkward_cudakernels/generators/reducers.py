"""Reductions of segments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import Out

from . import SEGMENTS, Context, generator, segments_of

# Bounds: with u the unit roundoff and g(k) = k*u / (1 - k*u), a sum of n terms in any order is within
# g(n - 1) * sum(|x|) of the exact one, so two orders are within twice that (Higham, Accuracy and Stability of
# Numerical Algorithms, 4.2). Terms that are themselves rounded add their own roundings to n.


def _gamma(k: Any, dtype: np.dtype) -> Any:
    ku = np.asarray(k, np.float64) * np.finfo(dtype).eps / 2
    return ku / (1 - ku)


def _segments(values: dict[str, Any], width: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """The reduced elements, the segment of each, and the length of each segment."""
    offsets, n = values["offsets"], values["outlength"]
    data = values["fromptr"].reshape(-1, width)[offsets[0] : offsets[-1]]
    return data.astype(np.float64), segments_of(offsets), np.diff(offsets), n


def _total(terms: np.ndarray, ids: np.ndarray, n: int) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.bincount(ids, weights=terms, minlength=n)[:n]


def _sum_bound(width: int):
    def bound(values: dict[str, Any], dtype: np.dtype) -> np.ndarray:
        data, ids, counts, n = _segments(values, width)
        columns = [2 * _gamma(counts, dtype) * _total(np.abs(data[:, i]), ids, n) for i in range(width)]
        return np.stack(columns, axis=1).reshape(-1)

    return bound


def _terms_bound(term: Any, roundings: Any):
    def bound(values: dict[str, Any], dtype: np.dtype) -> np.ndarray:
        data, ids, counts, n = _segments(values)
        with np.errstate(all="ignore"):
            terms = np.abs(term(data[:, 0], ids, values))
            return 2 * _gamma(counts + roundings(values), dtype) * _total(terms, ids, n)

    return bound


def _prod_bound(width: int):
    def bound(values: dict[str, Any], dtype: np.dtype) -> np.ndarray:
        data, ids, counts, n = _segments(values, width)
        out = np.ones(n)
        with np.errstate(all="ignore"):
            np.multiply.at(out, ids, np.hypot.reduce(data, axis=1) if width == 2 else np.abs(data[:, 0]))
            # A complex product is within sqrt(5)*u of its modulus (Brent, Percival, Zimmermann 2007).
            return np.repeat(2 * _gamma(counts * (3 if width == 2 else 1), dtype) * out, width)

    return bound


def _shapes(c: Context, width: int = 1) -> Iterator[tuple[str, dict[str, Any]]]:
    """Segments with numbers in them: every shape once, then every kind of numbers."""
    dtype = c.dtype("fromptr")
    kinds = c.kinds(dtype)
    for i, (name, n, kind, start) in enumerate(SEGMENTS):
        offsets = c.offsets(n, kind, start)
        for numbers in ("mixed", kinds[1 + i % (len(kinds) - 1)]):
            yield f"{name}, {numbers}", _call(c, offsets, c.values(width * offsets[-1], dtype, numbers))
    for numbers in kinds:
        for j, (n, kind, start) in enumerate(((40, "random", 0), (60, "skewed", 7), (3, "long", 0))):
            offsets = c.offsets(n, kind, start)
            yield f"all {numbers} {j}", _call(c, offsets, c.values(width * offsets[-1], dtype, numbers))


def _call(c: Context, offsets: np.ndarray, fromptr: np.ndarray) -> dict[str, Any]:
    n = len(offsets) - 1
    width = 2 if c.specialization.family.endswith("_complex") and c.dtype("toptr").kind == "f" else 1
    values = {"toptr": Out(n * width), "fromptr": fromptr, "offsets": offsets, "outlength": n}
    if "starts" in (x.name for x in c.specialization.arguments):
        values["starts"] = offsets[:-1].copy()
    return values


@generator("awkward_reduce_count_64")
def count(c):
    for name, n, kind, start in SEGMENTS:
        yield name, {"toptr": Out(n), "offsets": c.offsets(n, kind, start), "outlength": n}


@generator("awkward_NumpyArray_reduce_mask_ByteMaskedArray_64")
def mask(c):
    yield from count(c)


@generator(
    "awkward_reduce_argmax",
    "awkward_reduce_argmin",
    "awkward_reduce_countnonzero",
    "awkward_reduce_prod_bool",
    "awkward_reduce_sum_bool",
    "awkward_reduce_sum_int32_bool_64",
    "awkward_reduce_sum_int64_bool_64",
)
def exact(c):
    yield from _shapes(c)
    if c.dtype("fromptr").kind == "f":
        nan, offsets = np.nan, np.array([0, 3, 6, 9, 11, 13, 14], np.int64)
        numbers = [nan, 1, 2, 1, nan, 2, 2, 1, nan, nan, nan, -0.0, 0.0, nan]
        yield (
            "NaN first, in the middle, last, alone",
            _call(c, offsets, np.array(numbers, c.dtype("fromptr"))),
        )


@generator(
    "awkward_reduce_argmax_complex",
    "awkward_reduce_argmin_complex",
    "awkward_reduce_countnonzero_complex",
    "awkward_reduce_prod_bool_complex",
    "awkward_reduce_sum_bool_complex",
)
def exact_complex(c):
    yield from _shapes(c, 2)
    yield "NaN parts", _nan_parts(c)


def _nan_parts(c: Context) -> dict[str, Any]:
    """NaN in either part, first, in the middle and last: comparing with it is always false, so it may stick."""
    nan = np.nan
    segments = [
        [(nan, 1), (5, 1), (6, 0)],
        [(1, nan), (1, 5), (0, 9)],
        [(1, 3), (1, nan), (1, 5)],
        [(0, 0), (1, nan), (1, 5), (1, -5)],
        [(5, 1), (nan, 7), (4, nan), (5, 2)],
        [(nan, nan)],
        [(2, -0.0), (2, 0.0)],
        [(-0.0, 1), (0.0, 2), (-0.0, 0)],
    ]
    offsets = np.cumsum([0, *map(len, segments)]).astype(np.int64)
    numbers = np.array([x for segment in segments for pair in segment for x in pair], c.dtype("fromptr"))
    return _call(c, offsets, numbers)


def _identities(dtype: np.dtype) -> list[Any]:
    if dtype.kind == "f":
        return [-np.inf, np.inf, 0.0, 1.5, -0.0]
    info = np.iinfo(dtype)
    return [int(info.min), int(info.max), 0, 1]


@generator("awkward_reduce_max", "awkward_reduce_min")
def extremum(c):
    identities = _identities(c.dtype("identity"))
    lowest = identities[0 if "max" in c.specialization.family else 1]
    shapes = dict(exact(c))
    for i, (name, values) in enumerate(shapes.items()):
        yield name, {**values, "identity": lowest}
        if name.startswith("all"):
            yield f"{name}, identity", {**values, "identity": identities[i % len(identities)]}


@generator("awkward_reduce_max_complex", "awkward_reduce_min_complex")
def extremum_complex(c):
    identities = _identities(c.dtype("identity"))
    for i, (name, values) in enumerate(exact_complex(c)):
        yield name, {**values, "identity": identities[i % len(identities)]}


@generator("awkward_reduce_sum", bounds={"toptr": _sum_bound(1)})
def total(c):
    yield from _shapes(c)


@generator("awkward_reduce_sum_complex", bounds={"toptr": _sum_bound(2)})
def total_complex(c):
    yield from _shapes(c, 2)


@generator(
    "awkward_reduce_sumofsquares",
    bounds={"toptr": _terms_bound(lambda x, ids, values: x * x, lambda values: 2)},
)
def sum_of_squares(c):
    for name, values in _shapes(c):
        if c.dtype("fromptr") == np.float64 and "extremes" in name:
            # Squares must not overflow: whether a partial sum does depends on the order.
            values["fromptr"] = np.sign(values["fromptr"]) * np.sqrt(np.abs(values["fromptr"]))
        yield name, values


@generator(
    "awkward_reduce_sumofpowers",
    bounds={
        "toptr": _terms_bound(
            lambda x, ids, values: x ** float(values["n"]), lambda values: 2 * abs(values["n"]) + 16
        )
    },
)
def sum_of_powers(c):
    floating = c.dtype("fromptr").kind == "f"
    for name, values in _shapes(c):
        if floating and "extremes" in name:
            values["fromptr"] = c.values(len(values["fromptr"]), c.dtype("fromptr"), "mixed")
        for n in (3,) if not name.startswith("all") else (-3, -1, 0, 1, 2, 5, 8):
            yield f"{name}, power {n}", {**values, "n": n}


@generator(
    "awkward_reduce_centered_sumofsquares",
    bounds={"toptr": _terms_bound(lambda x, ids, values: (x - values["means"][ids]) ** 2, lambda values: 4)},
)
def centered(c):
    for name, values in sum_of_squares(c):
        offsets, n = values["offsets"], values["outlength"]
        data = values["fromptr"][offsets[0] : offsets[-1]].astype(np.float64)
        counts = np.diff(offsets)
        with np.errstate(all="ignore"):
            means = np.bincount(segments_of(offsets), weights=data, minlength=n)[:n] / counts
        if c.dtype("fromptr").kind != "f":
            means[counts == 0] = 0.0
        yield name, {**values, "means": means}


@generator("awkward_reduce_prod", bounds={"toptr": _prod_bound(1)})
def product(c):
    dtype = c.dtype("fromptr")
    for name, values in _shapes(c):
        if c.dtype("toptr").kind == "f" and "specials" not in name:
            values["fromptr"] = _near_one(c, len(values["fromptr"]), dtype)
        elif "specials" in name:
            # Without the tiny ones: whether a partial product underflows depends on the order.
            # Thousands of them may overflow.
            pool = [np.nan, np.inf, -np.inf, 1, -1, -0.0, 2, 0.5][: 6 if _longest(values) > 100 else 8]
            values["fromptr"] = c.rng.choice(np.array(pool, dtype), len(values["fromptr"]))
        elif "mixed" in name and dtype.kind != "b":
            # Odd numbers: even ones soon multiply to 0 modulo 2**64.
            values["fromptr"] |= dtype.type(1)
        yield name, values


def _longest(values: dict[str, Any]) -> int:
    return int(np.diff(values["offsets"]).max(initial=0))


def _near_one(c: Context, n: int, dtype: np.dtype) -> np.ndarray:
    """Factors of which thousands stay far from overflow."""
    return (c.rng.choice([-1, 1], n) * c.rng.uniform(0.98, 1.02, n)).astype(dtype)


@generator("awkward_reduce_prod_complex", bounds={"toptr": _prod_bound(2)})
def product_complex(c):
    dtype = c.dtype("fromptr")
    for name, values in _shapes(c, 2):
        n = len(values["fromptr"]) // 2
        angle = c.rng.uniform(0, 2 * np.pi, n)
        modulus = c.rng.uniform(0.99, 1.01, n)
        pairs = np.stack([modulus * np.cos(angle), modulus * np.sin(angle)], axis=1).astype(dtype)
        if "specials" in name:
            pairs[c.rng.random(n) < 0.2, 0] = np.nan
        if "zeros" in name:
            pairs[c.rng.random(n) < 0.2] = 0
        yield name, {**values, "fromptr": pairs.reshape(-1)}
