"""The 35 families: which kernels of its file each launches, and what happens between two launches.

A function here takes the launcher of its file and then the arguments of awkward's kernel
specification. Its decorator says which argument's dtype is which template parameter.
"""

from __future__ import annotations

import inspect
import math
import threading
from collections.abc import Callable
from typing import Any

import errorflag

from ._source import Source

_families: dict[str, Family] = {}
_cache: Callable[[str, str, Callable[[], bytes]], bytes] | None = None


def set_cache(keep: Callable[[str, str, Callable[[], bytes]], bytes] | None) -> None:
    """Says where compiled code is kept between processes; by default nowhere.

    Args:
        keep: ``keep(kind, name, build)`` returns the content that is kept under a name, or that of
            ``build()``, which it then keeps.
    """
    global _cache
    _cache = keep


class Family:
    """A raw kernel for all its dtypes: called with CuPy arrays and numbers, it launches and returns.

    A number may be in memory, as the attribute `array` of an argument: but for the index of
    `getitem_next_at`, the host then waits for it, as the earlier design did.

    Attributes:
        name: as in awkward's kernel specification.
        source: its `.cu` file.
        parameters: the names of its arguments.
        types: the argument that gives each template parameter its type.
    """

    def __init__(self, name: str, function: Callable[..., None], types: dict[str, str]) -> None:
        self.name = name
        self.source = Source(name)
        self.function = function
        self.parameters = tuple(inspect.signature(function).parameters)[1:]
        self.types = types
        self.__name__ = name
        self.__doc__ = function.__doc__
        self._typed = tuple(self.parameters.index(argument) for argument in types.values())
        self._array = self._typed[0] if self._typed else 0
        self._launchers: dict[tuple[int, tuple[str, ...]], Any] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<raw kernel {self.name}({', '.join(self.parameters)})>"

    def __call__(self, *args: Any) -> None:
        """Launches on the current stream of the arrays' device."""
        if len(args) != len(self.parameters):
            raise TypeError(f"{self.name} takes {len(self.parameters)} arguments; {len(args)} given")
        key = args[self._array].data.device_id, tuple([args[i].dtype.char for i in self._typed])
        launcher = self._launchers.get(key) or self._load(*key)
        if errorflag.current_call() is not None:
            launcher.run(self.function, args)
            return
        with errorflag.call(self.name):
            launcher.run(self.function, args)
        if errorflag.is_eager():
            errorflag.synchronize()

    def _load(self, device: int, characters: tuple[str, ...]) -> Any:
        from ._device import Launcher

        with self._lock:
            found = self._launchers.get((device, characters))
            if found is None:
                types = dict(zip(self.types, characters, strict=True))
                found = Launcher(self.source, types, device, _cache)
                self._launchers[device, characters] = found
            return found


def family(name: str, **types: str) -> Callable[[Callable[..., None]], Family]:
    """Registers a function as a family; see the module's docstring."""

    def register(function: Callable[..., None]) -> Family:
        _families[name] = Family(name, function, types)
        return _families[name]

    return register


def kernels() -> dict[str, Family]:
    """Every raw kernel by the name of its family. Compiles nothing, and needs neither CuPy nor a GPU."""
    return dict(_families)


# IndexedArray, ByteMaskedArray


@family("awkward_ByteMaskedArray_reduce_next_64")
def _(launch, nextcarry, nextoffsets, outindex, mask, offsets, outlength, validwhen):
    n = outindex.shape[0]
    counts = launch.scratch(n)
    launch("flag_valid", n, counts, mask, offsets, outlength, validwhen)
    counts = launch.running_sum(counts)
    threads = max(n, outlength + 1)
    launch("store", threads, nextcarry, nextoffsets, outindex, n, counts, offsets, outlength)


@family("awkward_IndexedArray_fill", C="fromindex")
def _(launch, toindex, toindexoffset, fromindex, length, base):
    launch("fill", length, toindex, toindexoffset, fromindex, base)


@family("awkward_IndexedArray_fill_count")
def _(launch, toindex, toindexoffset, length, base):
    launch("fill_count", length, toindex, toindexoffset, base)


@family("awkward_IndexedArray_local_preparenext_64")
def _(launch, tocarry, starts, offsets, nextoffsets, outlength):
    launch("pair", outlength, tocarry, offsets, nextoffsets)


@family("awkward_IndexedArray_index_of_nulls", C="fromindex")
def _(launch, toindex, fromindex, offsets, outlength, starts):
    n = fromindex.shape[0]
    counts = launch.scratch(n)
    launch("flag_nulls", n, counts, fromindex, offsets, outlength)
    launch("store", outlength, toindex, launch.running_sum(counts), offsets, starts)


@family("awkward_IndexedArray_simplify", OUTER="outerindex", INNER="innerindex")
def _(launch, toindex, outerindex, outerlength, innerindex, innerlength):
    launch("simplify", outerlength, toindex, outerindex, innerindex, innerlength)


# ListArray


@family("awkward_ListArray_getitem_jagged_apply", C="fromstarts")
def _(
    launch, tooffsets, tocarry, slicestarts, slicestops, sliceouterlen, sliceindex, sliceinnerlen,
    fromstarts, fromstops, contentlen,
):  # fmt: skip
    n = sliceouterlen
    counts = launch.scratch(n)
    launch("count", n, counts, slicestarts, slicestops, sliceinnerlen)
    launch(
        "apply", n + 1, tooffsets, tocarry, tocarry.shape[0], launch.running_sum(counts), slicestarts,
        slicestops, sliceindex, sliceinnerlen, fromstarts, fromstops, contentlen,
    )  # fmt: skip


@family("awkward_ListArray_getitem_jagged_expand", C="fromstarts")
def _(
    launch, multistarts, multistops, singleoffsets, tocarry, fromstarts, fromstops, jaggedsize,
    length,
):  # fmt: skip
    launch(
        "expand", length * max(jaggedsize, 1), multistarts, multistops, singleoffsets, tocarry,
        fromstarts, fromstops, jaggedsize,
    )  # fmt: skip


@family("awkward_ListArray_getitem_jagged_shrink")
def _(launch, tocarry, tosmalloffsets, tolargeoffsets, slicestarts, slicestops, length, missing):
    small, large = launch.scratch(length), launch.scratch(length)
    launch("count", length, small, large, slicestarts, slicestops, missing)
    launch(
        "store", length + 1, tocarry, tosmalloffsets, tolargeoffsets, launch.running_sum(small),
        launch.running_sum(large), slicestarts, slicestops, missing,
    )  # fmt: skip


@family("awkward_ListArray_getitem_next_array", C="fromstarts")
def _(launch, tocarry, toadvanced, fromstarts, fromstops, fromarray, lenstarts, lenarray, lencontent):
    launch(
        "next_array", lenstarts * max(lenarray, 1), tocarry, toadvanced, fromstarts, fromstops,
        fromarray, lenarray, lencontent,
    )  # fmt: skip


@family("awkward_ListArray_getitem_next_array_advanced", C="fromstarts")
def _(
    launch, tocarry, toadvanced, fromstarts, fromstops, fromarray, fromadvanced, lenstarts,
    lencontent,
):  # fmt: skip
    launch(
        "next_array_advanced", lenstarts, tocarry, toadvanced, fromstarts, fromstops, fromarray,
        fromadvanced, lencontent,
    )  # fmt: skip


@family("awkward_ListArray_getitem_next_at", C="fromstarts")
def _(launch, tocarry, fromstarts, fromstops, lenstarts, at):
    if type(at) is int:
        launch("next_at", lenstarts, tocarry, fromstarts, fromstops, at, None)
    else:  # in memory, where the host need not read it
        array = getattr(at, "array", at).astype("int64", copy=False)
        launch("next_at", lenstarts, tocarry, fromstarts, fromstops, 0, array)


@family("awkward_ListArray_getitem_next_range", C="fromstarts")
def _(launch, tooffsets, tocarry, fromstarts, fromstops, lenstarts, start, stop, step):
    counts = launch.scratch(lenstarts)
    launch("count", lenstarts, counts, fromstarts, fromstops, start, stop, step)
    counts = launch.running_sum(counts)
    n = lenstarts + 1
    launch("store", n, tooffsets, tocarry, counts, fromstarts, fromstops, start, stop, step)


@family("awkward_ListArray_getitem_next_range_spreadadvanced", C="fromoffsets")
def _(launch, toadvanced, fromadvanced, fromoffsets, lenstarts):
    launch("spread", lenstarts, toadvanced, fromadvanced, fromoffsets)


@family("awkward_ListArray_rpad_axis1", C="fromstarts")
def _(launch, toindex, fromstarts, fromstops, tostarts, tostops, target, length):
    counts = launch.scratch(length)
    launch("count", length, counts, fromstarts, fromstops, target)
    counts = launch.running_sum(counts)
    launch("store", length, toindex, tostarts, tostops, counts, fromstarts, fromstops)


@family("awkward_ListArray_validity", C="starts")
def _(launch, starts, stops, length, lencontent):
    launch("validity", length, starts, stops, lencontent)


# ListOffsetArray


@family("awkward_ListOffsetArray_drop_none_indexes", C="fromoffsets")
def _(launch, tooffsets, noneindexes, fromoffsets, length_offsets, length_indexes):
    counts = launch.scratch(length_indexes)
    launch("flag_nones", length_indexes, counts, noneindexes)
    counts = launch.running_sum(counts)
    launch("store", length_offsets, tooffsets, counts, fromoffsets, length_indexes)


@family("awkward_ListOffsetArray_flatten_offsets", C="outeroffsets")
def _(launch, tooffsets, outeroffsets, outeroffsetslen, inneroffsets):
    launch("flatten", outeroffsetslen, tooffsets, outeroffsets, inneroffsets)


@family("awkward_ListOffsetArray_reduce_local_nextparents_64", C="offsets")
def _(launch, nextparents, offsets, length, nextparents_length):
    launch("nextparents_of", length, nextparents, offsets, nextparents_length)


@family("awkward_ListOffsetArray_reduce_local_outoffsets_64")
def _(launch, outoffsets, parents, lenparents, outlength):
    launch("outoffsets_of", lenparents + 1, outoffsets, parents, lenparents, outlength)


@family("awkward_ListOffsetArray_reduce_nonlocal_nextstarts_64")
def _(launch, nextstarts, nextparents, nextlen):
    launch("nextstarts_of", nextlen, nextstarts, nextparents)


@family("awkward_ListOffsetArray_reduce_nonlocal_outstartsstops_64")
def _(launch, outstarts, outstops, distincts, lendistincts, outlength):
    maxcount = lendistincts // max(outlength, 1)
    launch("startsstops", outlength, outstarts, outstops, distincts, maxcount)


@family("awkward_ListOffsetArray_rpad_axis1", C="fromoffsets")
def _(launch, toindex, fromoffsets, fromlength, target):
    counts = launch.scratch(fromlength)
    launch("count", fromlength, counts, fromoffsets, target)
    launch("store", fromlength, toindex, launch.running_sum(counts), fromoffsets)


@family("awkward_ListOffsetArray_toRegularArray", C="fromoffsets")
def _(launch, size, fromoffsets, offsetslength):
    lists = max(offsetslength - 1, 0)
    launch("regular_size", max(lists, 1), size, fromoffsets, lists)


# NumpyArray, RegularArray


@family("awkward_NumpyArray_rearrange_shifted")
def _(launch, toptr, fromshifts, length, fromoffsets, outlength, fromparents, fromstarts):
    launch("rearrange", outlength, toptr, fromshifts, length, fromoffsets, fromparents, fromstarts)


@family("awkward_NumpyArray_reduce_adjust_starts_64")
def _(launch, toptr, outlength, offsets, starts):
    launch("adjust", outlength, toptr, starts)


@family("awkward_RegularArray_combinations_64")
def _(launch, tocarry, toindex, fromindex, n, replacement, size, length):
    count = math.comb(max(size + n - 1, 0) if replacement else size, n)
    launch("combine", length if count else 0, tocarry, n, replacement, size, count)


@family("awkward_RegularArray_getitem_next_array_regularize")
def _(launch, toarray, fromarray, lenarray, size):
    launch("regularize", lenarray, toarray, fromarray, size)


@family("awkward_RegularArray_reduce_local_nextparents_64")
def _(launch, nextparents, size, length):
    launch("nextparents_of", length * size, nextparents, size)


@family("awkward_RegularArray_reduce_nonlocal_preparenext_64")
def _(launch, nextcarry, nextoffsets, offsets, size, length, outlength):
    launch("prepare", outlength * size + 1, nextcarry, nextoffsets, offsets, size)


# UnionArray


@family("awkward_UnionArray_flatten_combine", TAGS="fromtags", INDEX="fromindex")
def _(launch, totags, toindex, tooffsets, fromtags, fromindex, length, offsetsraws):
    counts = launch.scratch(length)
    launch("count", length, counts, fromtags, fromindex, offsetsraws)
    counts = launch.running_sum(counts)
    n = length + 1
    launch("store", n, totags, toindex, tooffsets, counts, fromtags, fromindex, offsetsraws)


@family("awkward_UnionArray_flatten_length", TAGS="fromtags", INDEX="fromindex")
def _(launch, total_length, fromtags, fromindex, length, offsetsraws):
    counts = launch.scratch(length)
    launch("count", length, counts, fromtags, fromindex, offsetsraws)
    launch("take_last", 1, total_length, launch.running_sum(counts), length)


@family("awkward_UnionArray_nestedfill_tags_index", TAGS="totags", INDEX="toindex")
def _(launch, totags, toindex, tmpstarts, tag, fromcounts, length):
    sums = launch.running_sum(fromcounts[:length])
    launch("fill", length, totags, toindex, tmpstarts, sums, tag)


# Sorting


@family("awkward_sorting_ranges")
def _(launch, toindex, tolength, parents, parentslength):
    n = max(parentslength, 1)
    counts = launch.scratch(n)
    launch("flag_changes", n, counts, parents)
    launch("store", n, toindex, tolength, launch.running_sum(counts), parentslength)


@family("awkward_sorting_ranges_length")
def _(launch, tolength, parents, parentslength):
    counts = launch.scratch(parentslength)
    launch("flag_changes", parentslength, counts, parents)
    launch("take_last", 1, tolength, launch.running_sum(counts), parentslength)
