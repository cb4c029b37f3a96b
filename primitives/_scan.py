"""`scan` and what is built on it: offsets from counts, prefix sums, stable compaction."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._check import INTEGERS, LARGEST, array_argument, length_argument
from ._intrinsics import popcount
from ._op import Op, device_function, op
from ._run import run
from ._template import SHARING_BLOCKS, Slot, Template
from ._transform import transform

_TILE = 5120  # values that a block takes, as in device/scan.cuh
_FLAGS = 4096  # flags that it takes
_ROUNDS = 8  # and how many times as many at most

PARAMETERS = (("n", "int64"), ("total", "T*"), ("state", "uint64"), ("capacity", "int64"))
"""Of the templates that give every index a value: what they take."""
VALUE = Slot(("int64", "T*"), 0)
"""The op that does so."""
VALUES = """
value = local({T})
before = {T}({IDENTITY})
for i in range(n):
    value[0] = {T}({IDENTITY})
    packed = op0(i, value ARGS0)
    if packed != 0:
        word[0] = base | uint64(packed - 1)
        return
"""
"""The start of their loop on the host."""

_SCAN = Template(
    "scan",
    slots=(VALUE, Slot(("int64", "T", "T"), 0)),
    parameters=PARAMETERS,
    host="""
first = {T}(0)
bits = {T}(0)
"""
    + VALUES
    + """
    if {FLAGS} and value[0] != 0:
        value[0] = 1
    after = {COMBINE}(before, value[0])
    if {BITS}:
        bits |= value[0] << (i & 15)
        packed = int64(0)
        if (i & 15) == 15 or i == n - 1:
            packed = op1(i >> 4, first, bits ARGS1)
            first = after
            bits = {T}(0)
    else:
        packed = op1(i, before, after ARGS1)
    if packed != 0:
        word[0] = base | uint64(packed - 1)
        return
    before = after
if total_address != 0:
    total[0] = before
""",
    state_bytes=lambda variant: 8 if variant["PACKED"] else 2 * np.dtype(variant["T"]).itemsize + 4,
)

_IDENTITIES = {
    ("add", "int64"): "0",
    ("add", "uint64"): "0",
    ("add", "float64"): "0",
    ("maximum", "int64"): "INT64_LOWEST",
    ("maximum", "uint64"): "0",
    ("maximum", "float64"): "FLOAT64_LOWEST",
    ("minimum", "int64"): "INT64_HIGHEST",
    ("minimum", "uint64"): "UINT64_HIGHEST",
    ("minimum", "float64"): "FLOAT64_HIGHEST",
}
_COMBINES = {"add": "ADD", "maximum": "MAX", "minimum": "MIN"}
_REDUCTIONS = {
    key: (
        ("T", np.dtype(key[1]).char),
        ("COMBINE", _COMBINES[key[0]]),
        ("IDENTITY", identity),
    )
    for key, identity in _IDENTITIES.items()
}
_VARIANTS = {
    key: (*variant, ("PACKED", 0), ("FLAGS", 0), ("BITS", 0)) for key, variant in _REDUCTIONS.items()
}
_SUM = _REDUCTIONS["add", "int64"]
_COUNTS = (*_SUM, ("PACKED", 1), ("FLAGS", 0), ("BITS", 0))
_VARIANTS["add", "count"] = _COUNTS
_VARIANTS["add", "flag"] = (*_SUM, ("PACKED", 1), ("FLAGS", 1), ("BITS", 0))
_VARIANTS["add", "bits"] = (*_SUM, ("PACKED", 1), ("FLAGS", 1), ("BITS", 1))
TOTALS = {"count": "lq", "flag": "lq", "bits": "lq", "int64": "lq", "uint64": "LQ", "float64": "d"}
"""The dtypes of an array that receives a total, for each type of values."""


def variant_of(primitive: str, combine: str, dtype: str) -> tuple[tuple[str, Any], ...]:
    """The macros of a combination of values of a type."""
    found = (_VARIANTS if primitive == "scan" else _REDUCTIONS).get((combine, dtype))
    if found is None:
        more = " and, to add, count, flag and bits" if primitive == "scan" else ""
        raise ValueError(
            f"{primitive} cannot combine with {combine!r} in {dtype!r}: combine must be one of "
            f"{', '.join(_COMBINES)}, dtype one of int64, uint64, float64{more}"
        )
    return found


def scan(
    n: int,
    value: tuple[Any, ...],
    emit: tuple[Any, ...],
    *,
    total: Any = None,
    combine: str = "add",
    dtype: str | None = None,
) -> None:
    """One pass over a range that knows, at every index, what came before it.

    For each ``i`` in ``range(n)``, ``value_op(i, value, *value_args)`` sets ``value[0]`` (which
    starts as the identity of `combine`, 0 for sums); then ``emit_op(i, before, after, *emit_args)``
    is called with the combination of the values before ``i``, and with that up to and including ``i``.
    This is an exclusive and an inclusive prefix scan, or a stable compaction, depending on what `emit`
    writes. Where only `total` is wanted, `reduce` is faster.

    Args:
        n: number of indexes.
        value: ``(value_op, *value_args)``.
        emit: ``(emit_op, *emit_args)``.
        total: an array of one element of `dtype`, which receives the combination of all values.
        combine: ``"add"``, ``"maximum"`` or ``"minimum"``, of which NaN is the result if it is among the values.
        dtype: the type of the values: ``"int64"``, ``"uint64"``, ``"float64"``; or, to add only and
            faster, ``"count"``, which is int64 with all partial sums within 62 bits, and ``"flag"``,
            which is 1 unless it is 0. By default ``"count"`` for sums, ``"int64"`` for the others.
            ``"bits"`` are flags, too, of which `emit_op` gets 16 at once: it is called as
            ``emit_op(i // 16, before, bits, *emit_args)`` for every ``i`` that 16 divides.

    Raises:
        TypeError: an argument is neither array nor number, or arrays are in different places.
        ValueError: `n` is negative, an array is not contiguous, or `combine` or `dtype` is unknown.

    Errors of both ops are reported through `errorflag`. One launch; never synchronizes.

    Example:
        >>> import numpy as np
        >>> from primitives import op, scan
        >>> @op
        ... def positive(i, value, x):
        ...     value[0] = x[i] > 0
        >>> @op
        ... def split(i, before, after, out, x, n):
        ...     if after != before:
        ...         out[before] = x[i]              # positive ones from the front
        ...     else:
        ...         out[n - 1 - (i - before)] = x[i]  # the others from the back
        >>> x = np.array([5, -1, 7, -2])
        >>> out, total = np.zeros(4, np.int64), np.zeros(1, np.int64)
        >>> scan(4, (positive, x), (split, out, x, 4), total=total)
        >>> out, total
        (array([ 5,  7, -2, -1]), array([2]))
    """
    if type(n) is not int or not 0 <= n <= LARGEST:
        n = length_argument("n", n)
    variant: tuple[tuple[str, Any], ...] = _COUNTS
    if dtype is None:
        dtype = "count" if combine == "add" else "int64"
    if combine != "add" or dtype != "count":
        variant = variant_of("scan", combine, dtype)
    if total is not None:
        total = array_argument("total", total, dtypes=TOTALS[dtype], size=1, written=True)
    elif n == 0:
        return
    if dtype == "flag" or dtype == "bits":
        tiles = (n + _FLAGS - 1) // _FLAGS
        tiles = max(1, min(tiles, SHARING_BLOCKS), (tiles + _ROUNDS - 1) // _ROUNDS)
    else:
        tiles = max(1, (n + _TILE - 1) // _TILE)
    run(_SCAN, variant, n, tiles, (n, total, 0, tiles), (value, emit))


@op
def _store_offset(i, before, after, offsets):
    if i == 0:
        offsets[0] = 0
    offsets[i + 1] = after


@op
def _zero(i, out):
    out[i] = 0


def offsets_from(count: tuple[Any, ...], n: int, offsets: Any, *, dtype: str = "count") -> None:
    """Offsets from counts, the counting fused: ``offsets[0] = 0, offsets[i + 1] = offsets[i] + count``.

    Args:
        count: ``(count_op, *args)``; ``count_op(i, count, *args)`` sets ``count[0]``.
        n: number of counts.
        offsets: receives ``n + 1`` integers.
        dtype: ``"flag"`` if all counts are 0 or 1, which is faster; any other then counts as 1.

    Raises:
        TypeError: `offsets` is no integer array, or arrays are in different places.
        ValueError: `offsets` is too short or read-only, `n` is negative, or `dtype` is another.

    One launch; never synchronizes. What does not fit into the dtype of `offsets` wraps.

    Example:
        >>> import numpy as np
        >>> from primitives import offsets_from, op
        >>> @op
        ... def length(i, count, starts, stops):
        ...     count[0] = stops[i] - starts[i]
        >>> offsets = np.empty(4, np.int64)
        >>> offsets_from((length, np.array([0, 5, 6]), np.array([2, 5, 9])), 3, offsets)
        >>> offsets
        array([0, 2, 2, 5])
    """
    if dtype not in ("count", "flag"):
        raise ValueError(f"argument 'dtype' must be 'count' or 'flag', not {dtype!r}")
    n = length_argument("n", n)
    offsets = array_argument("offsets", offsets, dtypes=INTEGERS, size=n + 1, written=True)
    if n == 0:
        transform(_zero, 1, offsets)
    else:
        scan(n, count, (_store_offset, offsets), dtype=dtype)


@op
def _load(i, value, values):
    value[0] = values[i]


@op
def _store_after(i, before, after, out):
    out[i] = after


@op
def _store_before(i, before, after, out):
    out[i] = before


def _scan_array(values: Any, out: Any, emit: Op, combine: str) -> None:
    values = array_argument("values", values, dtypes="?bBhHiIlLqQfd")
    n = values.shape[0]
    out = array_argument("out", out, dtypes="bBhHiIlLqQfd", size=n, written=True)
    kind = out.dtype.kind
    dtype = {"f": "float64", "u": "uint64"}.get(kind, "int64")
    if combine == "add" and kind != "f" and values.dtype.itemsize < 4:
        dtype = "count"  # sums of small numbers stay within its bits
    scan(n, (_load, values), (emit, out), combine=combine, dtype=dtype)


def inclusive_scan(values: Any, out: Any, *, combine: str = "add") -> None:
    """``out[i]`` is the combination of ``values[0]`` to ``values[i]``.

    Args:
        values: integers, floats or booleans; shape ``(n,)``.
        out: shape at least ``(n,)``; sums are made in its kind's 64-bit type and may overwrite `values`.
        combine: ``"add"``, ``"maximum"`` or ``"minimum"``, of which NaN is the result if it is among the values.

    Raises:
        TypeError: an argument is no array, has another dtype, or arrays are in different places.
        ValueError: `out` is too short or read-only, an array is not contiguous, or `combine` is unknown.

    One launch; never synchronizes. What does not fit into the dtype of `out` wraps.

    Example:
        >>> import numpy as np
        >>> from primitives import inclusive_scan
        >>> out = np.empty(3, np.int64)
        >>> inclusive_scan(np.array([1, 2, 3]), out)
        >>> out
        array([1, 3, 6])
    """
    _scan_array(values, out, _store_after, combine)


def exclusive_scan(values: Any, out: Any, *, combine: str = "add") -> None:
    """``out[i]`` is the combination of the values before ``values[i]``; the first is the identity.

    Args:
        values: integers, floats or booleans; shape ``(n,)``.
        out: shape at least ``(n,)``; sums are made in its kind's 64-bit type and may overwrite `values`.
        combine: ``"add"``, ``"maximum"`` or ``"minimum"``, of which NaN is the result if it is among the values.

    Raises:
        TypeError: an argument is no array, has another dtype, or arrays are in different places.
        ValueError: `out` is too short or read-only, an array is not contiguous, or `combine` is unknown.

    One launch; never synchronizes. What does not fit into the dtype of `out` wraps.

    Example:
        >>> import numpy as np
        >>> from primitives import exclusive_scan
        >>> out = np.empty(3, np.int64)
        >>> exclusive_scan(np.array([1, 2, 3]), out)
        >>> out
        array([0, 1, 3])
    """
    _scan_array(values, out, _store_before, combine)


@op
def _store_selected(i, before, after, out, values):
    if after != before:
        out[before] = values[i]


@op
def _store_selected_index(i, before, after, out):
    if after != before:
        out[before] = i


def select(keep: tuple[Any, ...], n: int, out: Any, *, values: Any = None, total: Any = None) -> None:
    """Stable compaction: the values, or the indexes, that an op keeps, in order.

    Args:
        keep: ``(keep_op, *args)``; ``keep_op(i, keep, *args)`` sets ``keep[0]``, which is 0, to 1 to keep ``i``.
        n: number of indexes.
        out: receives the kept ones, as its dtype; it must be long enough for all of them.
        values: what to keep, numbers of any dtype, shape at least ``(n,)``; by default the indexes themselves.
        total: an int64 array of one element, which receives their number; it stays on the device.

    Raises:
        TypeError: an argument is no array, has another dtype, or arrays are in different places.
        ValueError: `n` is negative, `values` is shorter, or an array is read-only or not contiguous.

    One launch; never synchronizes.

    Example:
        >>> import numpy as np
        >>> from primitives import op, select
        >>> @op
        ... def is_large(i, keep, x, limit):
        ...     keep[0] = x[i] > limit
        >>> x = np.array([5.0, 1.0, 7.0, 2.0])
        >>> out, total = np.zeros(4), np.zeros(1, np.int64)
        >>> select((is_large, x, 4), 4, out, values=x, total=total)
        >>> out[: total[0]]
        array([5., 7.])
    """
    n = length_argument("n", n)
    out = array_argument("out", out, written=True)
    if values is None:
        scan(n, keep, (_store_selected_index, out), total=total, dtype="flag")
    else:
        values = array_argument("values", values, size=n)
        scan(n, keep, (_store_selected, out, values), total=total, dtype="flag")


@op
def _store_bits(i, before, bits, words):
    words[i] = before << 16 | bits


def ranked_bits(keep: tuple[Any, ...], n: int, words: Any, *, total: Any = None) -> None:
    """Which indexes an op keeps, and how many of them are before any index: a bit vector with ranks.

    A word holds 16 bits, and above them how many are set before it. `bit_at` and `rank_at` read it
    in an op: half a byte for each index, where a prefix sum takes eight.

    Args:
        keep: ``(keep_op, *args)``; ``keep_op(i, keep, *args)`` sets ``keep[0]``, which is 0, to 1 to keep ``i``.
        n: number of indexes, at most 2**47.
        words: int64; receives ``(n + 15) // 16`` words.
        total: an int64 array of one element, which receives the number of those kept.

    Raises:
        TypeError: an argument is no array, has another dtype, or arrays are in different places.
        ValueError: `n` is negative, `words` is too short, or an array is read-only or not contiguous.

    One launch; never synchronizes.

    Example:
        >>> import numpy as np
        >>> from primitives import bit_at, op, rank_at, ranked_bits, transform
        >>> @op
        ... def is_large(i, keep, x, limit):
        ...     keep[0] = x[i] > limit
        >>> @op
        ... def move(i, out, words, x):
        ...     if bit_at(words, i):
        ...         out[rank_at(words, i)] = x[i]
        >>> x = np.array([5.0, 1.0, 7.0, 2.0])
        >>> words, total = np.empty(1, np.int64), np.empty(1, np.int64)
        >>> ranked_bits((is_large, x, 4), 4, words, total=total)
        >>> out = np.empty(int(total[0]))
        >>> transform(move, 4, out, words, x)
        >>> out
        array([5., 7.])
    """
    words = array_argument("words", words, dtypes="lq", size=(length_argument("n", n) + 15) // 16, written=True)
    scan(n, keep, (_store_bits, words), total=total, dtype="bits")


@device_function
def bit_at(words, i):
    """Whether `ranked_bits` has kept index ``i``: 1 or 0.

    Example:
        >>> from primitives import bit_at
        >>> bit_at([0b1010], 3)
        1
    """
    return words[i >> 4] >> (i & 15) & 1


@device_function
def rank_at(words, i):
    """How many indexes before ``i`` `ranked_bits` has kept.

    Example:
        >>> from primitives import rank_at
        >>> rank_at([0b1010], 3)
        1
    """
    word = words[i >> 4]
    return (word >> 16) + popcount(word & ((1 << (i & 15)) - 1))


@op
def _is_boundary(i, keep, values):
    if i == 0 or values[i] != values[i - 1]:
        keep[0] = 1


def run_boundaries(values: Any, starts: Any, *, total: Any = None) -> None:
    """The indexes at which runs of equal values start.

    Args:
        values: numbers, shape ``(n,)``.
        starts: integers; receives up to ``n`` indexes.
        total: an int64 array of one element, which receives the number of runs.

    Raises:
        TypeError: an argument is no array, has another dtype, or arrays are in different places.
        ValueError: an array is read-only or not contiguous.

    One launch; never synchronizes.

    Example:
        >>> import numpy as np
        >>> from primitives import run_boundaries
        >>> starts, total = np.zeros(6, np.int64), np.zeros(1, np.int64)
        >>> run_boundaries(np.array([4, 4, 4, 1, 1, 4]), starts, total=total)
        >>> starts[: total[0]]
        array([0, 3, 5])
    """
    values = array_argument("values", values)
    starts = array_argument("starts", starts, dtypes=INTEGERS, written=True)
    select((_is_boundary, values), values.shape[0], starts, total=total)


@device_function
def upper_bound(a, low, high, x):
    """The number of elements of sorted ``a[:high]`` that are <= x, given that it is at least `low`.

    Example:
        >>> from primitives import upper_bound
        >>> upper_bound([10, 20, 20, 30], 0, 4, 20)
        3
    """
    while low < high:
        middle = (low + high) // 2
        if a[middle] <= x:
            low = middle + 1
        else:
            high = middle
    return low


@device_function
def lower_bound(a, low, high, x):
    """The number of elements of sorted ``a[:high]`` that are < x, given that it is at least `low`.

    Example:
        >>> from primitives import lower_bound
        >>> lower_bound([10, 20, 20, 30], 0, 4, 20)
        1
    """
    while low < high:
        middle = (low + high) // 2
        if a[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@op
def _search_left(i, out, sorted_values, n, values):
    out[i] = lower_bound(sorted_values, 0, n, values[i])


@op
def _search_right(i, out, sorted_values, n, values):
    out[i] = upper_bound(sorted_values, 0, n, values[i])


def searchsorted(sorted_values: Any, values: Any, out: Any, *, side: str = "left") -> None:
    """Where `values` would be inserted to keep `sorted_values` sorted, as NumPy's `searchsorted`.

    Args:
        sorted_values: numbers, ascending; shape ``(n,)``.
        values: numbers, shape ``(m,)``.
        out: integers, shape at least ``(m,)``; positions that do not fit into their dtype wrap.
        side: ``"left"`` or ``"right"`` of equal elements.

    Raises:
        TypeError: an argument is no array, has another dtype, or arrays are in different places.
        ValueError: `out` is too short or read-only, an array is not contiguous, or `side` is unknown.

    One launch; never synchronizes.

    Example:
        >>> import numpy as np
        >>> from primitives import searchsorted
        >>> out = np.empty(2, np.int64)
        >>> searchsorted(np.array([10, 20, 20, 30]), np.array([20, 35]), out, side="right")
        >>> out
        array([3, 4])
    """
    if side not in ("left", "right"):
        raise ValueError(f"argument 'side' must be 'left' or 'right', not {side!r}")
    sorted_values = array_argument("sorted_values", sorted_values)
    values = array_argument("values", values)
    m = values.shape[0]
    out = array_argument("out", out, dtypes=INTEGERS, size=m, written=True)
    found = _search_left if side == "left" else _search_right
    transform(found, m, out, sorted_values, sorted_values.shape[0], values)
