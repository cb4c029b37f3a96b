"""Everything that this package compiles, and filling the disk cache with it.

A kernel chooses what it launches by what the host knows: dtypes, sizes and flags. So each
specialization is called with small arrays of its dtypes and with numbers from a few values, while
primitives only record what they would launch. A test compares the result with what the kernels
compile for the cases of the differential tests.
"""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from awkward import _reducers

from primitives import (
    _cache,
    _device,
    _host,
    _radix,
    inclusive_scan,
    offsets_from,
    ranked_bits,
    reduce,
    run_boundaries,
    scalar_of,
    scan,
    segment_ids,
    segmented_transform,
    select,
    transform,
)
from primitives._run import Build, record
from primitives._sort import order_of

from ._registry import Function, is_size, registry
from .arraylayer import (
    applying,
    arrays,
    carries,
    choosing,
    combining,
    elementwise,
    grouping,
    keeping,
    merging,
    missing,
    moments,
    options,
    packing,
    picking,
    reducing,
    slices,
    totals,
    ufuncs,
)
from .signatures import Argument, families

ELEMENTS = 256
"""Length of the arrays: with few lists these are long ones, with many short ones."""

NUMBERS = (1, 30, 0, 2)
"""What numbers are: all the same, or one of them another. Sizes are among them."""

BUNCH = 6
"""How many builds a process takes at a time."""

HOST = "host"
"""The target that stands for the host executor; the others are architectures."""


# What there is to compile


@cache
def builds(only: str = "") -> tuple[Build, ...]:
    """What all registered kernels and the array layer compile; the same in every process.

    Args:
        only: of the families whose name contains this, without the array layer.
    """
    found: dict[Any, Build] = {}
    for name, function in sorted(registry().items()):
        if only in name:
            for build in builds_of(name, function):
                found.setdefault(identity(build), build)
    for build in [*_sorting(list(found.values())), *([] if only else _array_layer())]:
        found.setdefault(identity(build), build)
    return tuple(found.values())


def builds_of(name: str, function: Function) -> list[Build]:
    """What a kernel compiles, for all specializations of its family."""
    found: dict[Build, None] = {}
    if name in families():
        signatures = [x.arguments for x in families()[name].specializations]
    else:
        signatures = [_older(function)]
    for arguments in signatures:
        for call in _calls(arguments):
            with record() as recorded:
                try:
                    function(*call)
                except ValueError:
                    pass  # these sizes do not go together; what was launched before counts
            found.update(dict.fromkeys(recorded))
    return list(found)


def identity(build: Build) -> tuple[Any, ...]:
    """What builds have in common that compile to the same code: booleans are bytes, and some kernels
    have ops of their own that do the same."""
    variant = tuple((name, _byte(value)) for name, value in build.variant)
    groups = tuple(tuple(_byte(kind) for kind in group) for group in build.groups)
    ops = tuple((op.fingerprint(), len(op.errors)) for op in build.ops)
    return build.template, variant, ops, groups


def _byte(kind: Any) -> Any:
    return kind.replace("?", "B") if isinstance(kind, str) else kind


def _older(function: Function) -> tuple[Argument, ...]:
    """The arguments of a kernel of older releases of awkward: sizes and arrays of int64."""
    code = function.__code__
    return tuple(
        Argument(name, "int64_t" if is_size(name) else "List[int64_t]", "in", None)
        for name in code.co_varnames[: code.co_argcount]
    )


def _calls(arguments: tuple[Argument, ...]) -> Iterator[list[Any]]:
    """Calls that reach everything that a kernel can launch, and many that do so again."""
    numbers = [place for place, argument in enumerate(arguments) if argument.depth == 0]
    for usual in NUMBERS:
        call = [_value(argument, usual) for argument in arguments]
        yield call
        for place in numbers:
            for other in NUMBERS:
                if other != usual:
                    changed = list(call)
                    changed[place] = _value(arguments[place], other)
                    yield changed
            if arguments[place].name == "at":
                # awkward's slices make an index an array without dimensions: see the registry.
                changed = list(call)
                changed[place] = scalar_of(np.asarray(usual))
                yield changed


def _value(argument: Argument, number: int) -> Any:
    dtype = argument.dtype
    if argument.depth == 2:
        return _array(np.dtype(np.intp))  # addresses
    if argument.depth == 1:
        return _array(dtype)
    return bool(number) if dtype == np.bool_ else dtype.type(number).item()


@cache
def _array(dtype: Any) -> Any:
    return np.zeros(ELEMENTS, dtype)


def _sorting(others: Iterable[Build]) -> Iterator[Build]:
    """What takes the place of sorting by comparison where segments are long, on the device."""
    of_numbers = {order_of(_array("d"), ascending)[0] for ascending in (True, False)}
    types = {
        (dict(build.variant)["OFFSET"], build.groups[0][0])
        for build in others
        if build.template.name == "segmented_argsort" and build.ops[0] in of_numbers
    }
    for offset, number in sorted(types):
        with record() as recorded:
            _radix.radix_argsort(
                _array(offset),
                _array("l"),
                _array(number),
                ascending=True,
                absolute=True,
                elements=ELEMENTS,
                segments=1,
            )
        yield from recorded


def _array_layer() -> Iterator[Build]:
    """What `arraylayer` launches, for the types of awkward's indexes, masks and numbers."""
    out, mask, n = _array("l"), _array("?"), ELEMENTS
    with record() as recorded:
        for validity in ((options.is_valid, _array("b"), 1), (options.is_some, out)):
            _reductions_of_options(validity)
        for by in "?bl":
            ranked_bits((keeping.is_kept, _array(by), 1), n, out, total=out)
        transform(keeping.kept_position, n, out, out)
        ranked_bits((slices.is_true_or_missing, mask, _array("b"), 1), n, out, total=out)
        for by in "bil":  # of what tells which elements of an option are there
            x = _array(by)
            transform(slices.kept_position_or_none, n, out, out, x, 1)
            transform(ufuncs.position_or_none, n, out, x, 1)
            transform(ufuncs.none_where_missing, n, out, x, 1)
            if by != "b":
                ranked_bits((slices.indexed_is_true_or_missing, mask, x, n), n, out, total=out)
        for kind in "?bBhHiIlLfd":
            select((arrays.is_nonzero, _array(kind)), n, out, total=out)
        for kind in "?bBhHiIlL":
            x = _array(kind)
            inclusive_scan(x, _array("L" if x.dtype.kind == "u" else "l"))
        for kind in "?bBhHiIlLfd":
            run_boundaries(_array(kind), out, total=out)
            segmented_transform(out, n, grouping.starts_run, mask, _array(kind))
        for kind in "bBiIl":
            x = _array(kind)
            reduce(n, (arrays.differs, x, x), out)
        for kind in "bBhHiIlL":
            arrays.check_bounds(_array(kind), n)
        for kind in "iIl":
            x = _array(kind)
            count = (arrays.repeat_count, x)
            scan(n, count, (arrays.store_repeat_offset, out), total=out)
            scan(n, count, (grouping.store_offset_of_group, out))
            transform(merging.shifted_offset, n, out, x, 0)
            scan(n, (packing.range_length, x, x), (packing.store_offset_and_ends, out, out, x, n))
            reduce(n, (packing.how_it_lies, x, x, n, n), out, combine="maximum")
            transform(missing.start_or_none, n, out, x, x)
            transform(carries.list_at, n, x, x, x, out, n)
            transform(arrays.take, n, out, out, x, n)
            transform(keeping.offset_of_kept, n, out, x, out, n, out)
            transform(keeping.kept_range, n, x, x, out, x, x)
            there = _array("b"), 1
            transform(picking.pick_place, n - 1, out, out, *there, out, x, x, n, n - 1)
            transform(picking.pick_place_through, n - 1, out, out, *there, out, x, x, out, n, n, n - 1)
            segmented_transform(out, n, keeping.kept_in_list, out, out, x, x, n)
            segmented_transform(out, n, slices.jagged_element, out, n, out, out, out, n, x, x, n)
            segmented_transform(x, n, keeping.kept_local, out, out)
            offsets_from((combining.number_of_pairs_within, x, x, 0), n - 1, out)
            segmented_transform(out, n, combining.write_pair, out, out, 0, x, x)
            offsets_from((combining.number_of_pairs, x, x), n - 1, out)
            segmented_transform(out, n, combining.write_product, out, out, x, x)
            segmented_transform(x, n, combining.write_row, out, out, x, 0, 1, 1)
            reduce(n, (combining.has_several, x), out)
            for values in "?bBhHiIlLfdFD":
                y = _array(values)
                segmented_transform(out, n, combining.write_values_of_pair, y, y, 0, x, x, y, n)
                segmented_transform(
                    out, n, combining.write_values_of_product, y, y, x, x, y, n, y, n
                )
                transform(slices.value_at, n, y, x, x, y, n, 0)
                transform(picking.pick_value, n - 1, out, out, y, out, out, x, x, y, n, n, n - 1)
                segmented_transform(x, n, slices.sliced_value, y, x, x, 0, 1, y, n)
                segmented_transform(x, n, slices.value_of_range, y, x, 0, 1, y, n)
                segmented_transform(out, n, carries.list_value, y, y, n, x)
        for kind in "?bBhHiIlLfdFD":
            x = _array(kind)
            segmented_transform(out, n, elementwise.repeat_element, x, x)
            segmented_transform(out, n, merging.value_of_either, x, out, out, 0, 0, x, n, x, n)
            for index in (out, _array("i")):
                transform(missing.single_value, n, x, out, index, x, n)
            for other in [kind] if kind in "FD" else sorted({kind, "l", "d"}):  # a number of the user's
                y = _array(other)
                merged = _array(np.result_type(x.dtype, y.dtype).char)
                transform(carries.value_of_two, n, merged, _array("b"), out, x, n, y, n)
                transform(options.value_or_fill, n, merged, _array("b"), 1, x, y)
                transform(options.indexed_value_or_fill, n, merged, out, x, n, y)
                sides = sorted((x, y), key=lambda side: side.dtype.num)
                transform(choosing.one_of_arrays, n, merged, mask, 1, *sides)
                if kind not in "FD":
                    number = elementwise.number_of(y.dtype, 1)
                    transform(choosing.one_of_array_and_number, n, merged, mask, 1, x, number)
            for index in "il" if kind in "bBiIl" else "l":
                transform(arrays.take, n, x, x, _array(index), n)
            transform(arrays.take_row, n, x, x, out, n, 1)
            transform(carries.take_indexed, n, x, x, out, n)
            transform(carries.take_option, n, x, x, out, n)
            transform(keeping.kept_value, n, x, out, x)
            transform(keeping.kept_indexed_value, n, x, out, out, x, n)
            segmented_transform(out, n, slices.indexed_value, x, out, out, out, x, n)
        transform(carries.is_in_content, n, out, n)
        for kind in reducing.REDUCED:
            x, none = _array(kind), _array("b")
            for lists in (1, n - 1):  # long ones, and short ones
                start = x.dtype.type(0)
                reducing.write_extremum(x, none, x, out, None, lists, True, start)
                start = reducing.BEATEN[reducing.wide(x.dtype)][True]
                reducing.write_extremum(out, none, x, out, out, lists, True, start)
        for kind in totals.REDUCED:
            x = _array(kind)
            for reducer in totals.COMBINATIONS:
                totals.of_numbers(x, reducer)
            totals.of_numbers(x, _reducers.Sum, np.dtype(np.float64))  # of means
            for reducer in totals.TRUTHS:
                totals.of_truths(x, reducer)
        for kind in moments.REDUCED:
            x, real = _array(kind), _array("d")
            for lists in (1, n - 1):  # long ones, and short ones
                where = x, out, lists, n
                moments.write_means(real, out, True, *where)
                moments.write_variances(real, out, True, *where, real, 1, True)
            moments.mean_of_all(x)
            moments.variance_of_all(x, 1, True)
        transform(grouping.length_of_run, n, out, out, n, n)
        transform(merging.sum_of_offsets, n, out, out, out, 0)
        for kind in "il":
            x = _array(kind)
            offsets_from((options.is_some, x), n - 1, out, dtype="flag")
            transform(missing.single_position, n, out, out, x, n)
            transform(applying.without_first, n, x, x, 1)
            for length in (1, n):
                applying.find_span(x[:length], _array("l")[:2], out)
        for kind, *numbers in (("?", 1, 1), ("l", 1, 1), ("d", 1, 0.5), ("d", 0.5, 0.5)):
            transform(choosing.one_of_numbers, n, _array(kind), mask, 1, *numbers)
        for name, function in elementwise.FUNCTIONS.items():
            for char in sorted(function.chars - {"q", "Q"}):
                dtype = np.dtype(char)
                number = elementwise.number_of(dtype, 1)
                for form, launched in function.ops.items():
                    *_, result = getattr(np, name).resolve_dtypes((*[dtype] * len(form), None))
                    args = [_array(char) if is_array else number for is_array in form]
                    transform(launched, n, _array(result), *args)
                for launched in function.ops_of_lists.values():
                    *_, result = getattr(np, name).resolve_dtypes((dtype, dtype, None))
                    for offsets in "il" if char == "d" else "l":
                        segmented_transform(_array(offsets), n, launched, _array(result), _array(char), _array(char))
        for function in elementwise.MIXED.values():
            for form, launched in function.ops.items():
                args = [
                    _array(char) if is_array else number
                    for is_array, char, number in zip(form, "lL", (1, np.uint64(1)), strict=True)
                ]
                transform(launched, n, _array("?"), *args)
            for launched in function.ops_of_lists.values():
                segmented_transform(out, n, launched, _array("?"), _array("l"), _array("L"))
        for before, after in sorted(elementwise.CASTS):
            if not {before, after} & {"q", "Q"}:
                transform(elementwise.copy_value, n, _array(after), _array(before))
        for char in "?bBhHiIlLfd":
            dtype = np.dtype(char)
            transform(elementwise.fill_value, n, _array(char), elementwise.number_of(dtype, 1))
        transform(arrays.number_of_range, n, out, 0, 1)
        transform(slices.is_unset, n, mask, 0)
        transform(carries.number_from_front, n, out, out, n)
        transform(carries.position_in_row, n, out, out, n, 1)
        segment_ids(out, out)
    yield from recorded


def _reductions_of_options(validity: tuple[Any, ...]) -> None:
    offsets = _array("l")
    for lists in (1, ELEMENTS - 1):  # long ones, and short ones
        for name in ("count", "none"):
            options.write_reduction(name, _array("l" if name == "count" else "b"), validity, offsets, offsets, lists)
        for char in options.REDUCED:
            x = _array(char)
            for name in ("sum", "prod", "count_nonzero", "any", "all", "max"):
                dtype = options.result_dtype(name, x.dtype)
                for result in sorted({dtype.char, "d"}) if name == "sum" else dtype.char:  # ak.mean adds as float64
                    out = _array(result)
                    options.write_reduction(name, out, validity, x, offsets, lists, out.dtype.type(0))


# Filling the cache


@dataclass
class Filled:
    """What the disk cache has for a target, and how it came there.

    Attributes:
        target: an architecture such as ``"sm_90"``, or ``"host"``.
        built: number of entries that were made.
        kept: number of entries that were there.
        bytes: the size of all of them.
        failed: why entries could not be made: messages, with how many entries each is of.
    """

    target: str
    built: int = 0
    kept: int = 0
    bytes: int = 0
    failed: Counter[str] = field(default_factory=Counter)


def fill(
    targets: list[str], jobs: int, progress: Callable[[int, int], None], only: str = ""
) -> list[Filled]:
    """Builds what the disk cache lacks, in several processes.

    Args:
        targets: architectures, or ``"host"``.
        jobs: number of processes.
        progress: called with how many entries are done, and how many there are to do.
        only: as of `builds`.
    """
    results = {target: Filled(target) for target in targets}
    missing = []
    for target, result in results.items():
        for number, build in enumerate(builds(only)):
            size = size_of(target, build)
            if size is None:
                missing.append((target, number))
            else:
                result.kept += 1
                result.bytes += size
    done = 0
    progress(done, len(missing))
    if not missing:
        return list(results.values())
    # Not by forking: numba and the progress bar have threads.
    context = multiprocessing.get_context("spawn")
    # In bunches: neighbours have ops in common, which a process compiles once.
    bunches = [missing[start : start + BUNCH] for start in range(0, len(missing), BUNCH)]
    with ProcessPoolExecutor(min(jobs, len(bunches)), context) as pool:
        try:
            for task in as_completed([pool.submit(_make, bunch, only) for bunch in bunches]):
                for target, outcome in task.result():
                    result = results[target]
                    if isinstance(outcome, str):
                        result.failed[outcome] += 1
                    else:
                        size, made = outcome
                        result.built += made
                        result.kept += not made
                        result.bytes += size
                    done += 1
                progress(done, len(missing))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return list(results.values())


def prepare_devices() -> None:
    """Builds what only a device can: the radix sort of `cuda.compute`, once per architecture."""
    import cupy

    for device in range(cupy.cuda.runtime.getDeviceCount()):
        _radix.ready(device)


def size_of(target: str, build: Build) -> int | None:
    """Bytes of a build in the disk cache; None if it is not there."""
    if target == HOST:
        return _host.size_in_cache(build.template, dict(build.variant), build.ops, build.groups)
    source = _device.template_source(build.template, dict(build.variant), build.groups)
    name = _device.entry_name(source, build.ops, build.groups, target)
    content = _cache.load(_device.KIND, name)
    return None if content is None else len(content)


def _make(bunch: list[tuple[str, int]], only: str) -> list[tuple[str, tuple[int, bool] | str]]:
    """Makes builds in a process of the pool.

    Returns their sizes and whether they were made here (another program may have), or what is wrong.
    """
    return [(target, _make_one(target, builds(only)[number])) for target, number in bunch]


def _make_one(target: str, build: Build) -> tuple[int, bool] | str:
    arguments = build.template, dict(build.variant), build.ops, build.groups
    before = _cache.built.total()
    try:
        if target == HOST:
            _host.compile(*arguments)
        else:
            _device.build(*arguments, target)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    size = size_of(target, build)
    if size is None:
        return "the disk cache does not keep it"
    return size, _cache.built.total() > before
