"""Every primitive with its own ops, compiled for GPUs that need not be here: every dtype for sm_90, one
for the other architectures."""

from __future__ import annotations

import numpy as np
import pytest

import primitives
from primitives import _compilers, _device, _radix, bit_at, op, popcount, rank_at
from primitives._run import record

pytestmark = pytest.mark.compile

N = 100
INTEGERS = "bBhHiIlL"
NUMBERS = "?" + INTEGERS + "fd"
EVERYTHING = NUMBERS + "FD"
OTHERS = ("sm_75", "sm_80", "sm_100", "sm_120")


def array(dtype):
    return np.zeros(N, dtype)


@op
def one(i, value):
    value[0] = 1


@op
def store(i, before, after, out):
    out[i] = after - before


@op
def copy(i, out, x):
    out[i] = x[i]


@op
def copy_scalar(i, out, x):
    out[i] = x


@op
def copy_element(segment, position, local, out, x):
    out[position] = x[position]


@op
def start(acc, segment):
    for k in range(2):
        acc[k] = 0


@op
def add(acc, segment, position, x):
    acc[0] += x[position]


@op
def of_bits(i, out, words):
    out[i] = bit_at(words, i) + rank_at(words, i) + popcount(i)


@op
def merge(acc, other, segment):
    acc[0] += other[0]


@op
def finish(acc, segment, out):
    out[segment] = acc[0]


def reduce(offsets="l", dtype="d", values="d", width=1, elements=N, segments=N - 1):
    primitives.segmented_reduce(
        array(offsets),
        elements,
        segments=segments,
        dtype=dtype,
        width=width,
        start=(start,),
        step=(add, array(values)),
        merge=(merge,),
        finish=(finish, array(dtype)),
    )


def combinations():
    for combine in ("add", "maximum", "minimum"):
        for dtype in (None, "int64", "uint64", "float64"):
            element = {None: "l", "int64": "l", "uint64": "L", "float64": "d"}[dtype]
            yield combine, dtype, element


CASES = {
    "transform": lambda: [primitives.transform(copy, N, array(x), array(x)) for x in EVERYTHING],
    "transform of numbers": lambda: [
        primitives.transform(copy_scalar, N, array(x), number)
        for x in NUMBERS
        for number in (1, 1.0, np.uint64(1), primitives.scalar_of(np.ones(1, x)))
    ],
    "scan": lambda: [
        primitives.scan(N, (one,), (store, array(x)), total=array(x), combine=combine, dtype=dtype)
        for combine, dtype, x in combinations()
    ],
    "scan of flags": lambda: [
        *[primitives.scan(N, (one,), (store, array(x)), dtype="flag") for x in INTEGERS],
        *[primitives.offsets_from((one,), N - 1, array(x), dtype="flag") for x in INTEGERS],
    ],
    "reduce": lambda: [
        primitives.reduce(N, (one,), array(x), combine=combine, dtype=dtype)
        for combine, dtype, x in combinations()
        if dtype not in (None, "count")
    ],
    "inclusive_scan": lambda: [primitives.inclusive_scan(array(x), array(x)) for x in NUMBERS[1:]],
    "inclusive_scan of extrema": lambda: [
        primitives.inclusive_scan(array(x), array(x), combine=combine)
        for x in NUMBERS[1:]
        for combine in ("maximum", "minimum")
    ],
    "exclusive_scan": lambda: [
        *[primitives.exclusive_scan(array(x), array(x)) for x in NUMBERS[1:]],
        primitives.exclusive_scan(array("?"), array("l")),
    ],
    "offsets_from": lambda: [
        primitives.offsets_from((one,), n, array(x)) for x in INTEGERS for n in (0, N - 1)
    ],
    "select": lambda: [
        *[primitives.select((one,), N, array(x)) for x in INTEGERS],
        *[primitives.select((one,), N, array(x), values=array(x)) for x in EVERYTHING],
    ],
    "ranked_bits": lambda: [
        primitives.ranked_bits((one,), N, array("l")),
        primitives.transform(of_bits, N, array("l"), array("l")),
    ],
    "run_boundaries": lambda: [primitives.run_boundaries(array(x), array("l")) for x in EVERYTHING],
    "searchsorted": lambda: [
        primitives.searchsorted(array(x), array(x), array("l"), side=side)
        for x in NUMBERS
        for side in ("left", "right")
    ],
    "segment_ids": lambda: [
        *[primitives.segment_ids(array(x), array("l")) for x in INTEGERS],
        *[primitives.segment_ids(array("l"), array(x)) for x in INTEGERS],
    ],
    "segmented_transform": lambda: [
        primitives.segmented_transform(array("l"), N, copy_element, array(x), array(x)) for x in EVERYTHING
    ],
    "segmented_reduce": lambda: [
        *[reduce(dtype=x, values=x) for x in NUMBERS[1:]],
        *[reduce(offsets=x) for x in INTEGERS],
        *[reduce(width=width) for width in (2, 3, 8)],
        *[reduce(dtype=x, segments=1) for x in "lfd"],
    ],
    "segmented_sort": lambda: [
        primitives.segmented_sort(array("l"), array(x), array(x), ascending=ascending)
        for x in NUMBERS
        for ascending in (True, False)
    ],
    "segmented_argsort": lambda: [
        primitives.segmented_argsort(array(x), array("l"), primitives.order_of(array("d"))) for x in INTEGERS
    ],
    "radix sort": lambda: [
        _radix.radix_argsort(
            array("l"),
            array("l"),
            array(x),
            ascending=True,
            absolute=True,
            elements=N,
            segments=1,
        )
        for x in NUMBERS
    ],
}


def distinct(case):
    with record() as builds:
        CASES[case]()
    return list(dict.fromkeys(builds))


def compile_all(builds, arch):
    known = _compilers.architectures()
    if arch not in known:
        pytest.skip(f"the installed NVRTC does not know {arch}: it knows {', '.join(known)}")
    for build in builds:
        cubin = _device.build(build.template, dict(build.variant), build.ops, build.groups, arch)
        assert cubin[:4] == b"\x7fELF"
        for kernel in build.template.kernels:
            assert f".text.{kernel}\0".encode() in cubin


@pytest.mark.parametrize("case", CASES)
def test_every_dtype(case):
    compile_all(distinct(case), "sm_90")


@pytest.mark.parametrize("arch", OTHERS)
@pytest.mark.parametrize("case", CASES)
def test_one_dtype(case, arch):
    builds = {(build.template, build.ops): build for build in distinct(case)}
    compile_all(builds.values(), arch)


def test_all_primitives_are_here():
    """By name, and by the templates that they launch."""
    helpers = {
        "DeviceValueError", "DeviceFunction", "Op", "OpError", "CompilerError", "bit_at", "cache_info",
        "device_function", "float_bits", "load_int64", "lower_bound", "op", "order_of", "popcount",
        "rank_at", "scalar_of", "rsqrt", "scratch", "store_int64", "synchronize", "upper_bound",
    }  # fmt: skip
    assert set(primitives.__all__) - helpers <= set(CASES)
    templates = {build.template.name for case in CASES for build in distinct(case)}
    assert templates == {file.stem for file in _device.Path(_device.__file__).parent.glob("device/*.cuh")} - {
        "prelude"
    }
