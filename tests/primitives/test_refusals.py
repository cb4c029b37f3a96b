"""What every primitive refuses before anything is launched: memory that it cannot use as it is."""

import numpy as np
import pytest

import errorflag
from primitives import (
    exclusive_scan,
    inclusive_scan,
    offsets_from,
    op,
    order_of,
    reduce,
    run_boundaries,
    scan,
    searchsorted,
    segment_ids,
    segmented_argsort,
    segmented_reduce,
    segmented_sort,
    segmented_transform,
    select,
    transform,
)


@op
def copy(i, out, x):
    out[i] = x[i]


@op
def count(i, value, x):
    value[0] = x[i]


@op
def emit(i, before, after, out):
    out[i] = before


@op
def copy_element(segment, position, local, out, x):
    out[position] = x[position]


@op
def start(acc, segment):
    acc[0] = 0


@op
def step(acc, segment, position, x):
    acc[0] += x[position]


@op
def merge(acc, other, segment):
    acc[0] += other[0]


@op
def finish(acc, segment, out):
    out[segment] = acc[0]


def reduce_segments(offsets, x, out):
    segmented_reduce(
        offsets,
        8,
        dtype="int64",
        start=(start,),
        step=(step, x),
        merge=(merge,),
        finish=(finish, out),
    )


# Of every primitive: the arrays it takes, by the name that its errors give them, and a call with them.
PRIMITIVES = {
    "transform": (("out", "x"), lambda out, x: transform(copy, 8, out, x)),
    "scan": (("x", "out"), lambda x, out: scan(8, (count, x), (emit, out))),
    "reduce": (("x", "total"), lambda x, total: reduce(8, (count, x), total)),
    "offsets_from": (("x", "offsets"), lambda x, offsets: offsets_from((count, x), 8, offsets)),
    "inclusive_scan": (("values", "out"), lambda values, out: inclusive_scan(values, out)),
    "exclusive_scan": (("values", "out"), lambda values, out: exclusive_scan(values, out)),
    "select": (("x", "out"), lambda x, out: select((count, x), 8, out)),
    "run_boundaries": (("values", "out"), lambda values, out: run_boundaries(values, out)),
    "searchsorted": (
        ("out", "sorted_values", "values"),
        lambda out, sorted_values, values: searchsorted(sorted_values, values, out),
    ),
    "segmented_transform": (
        ("offsets", "out", "x"),
        lambda offsets, out, x: segmented_transform(offsets, 8, copy_element, out, x),
    ),
    "segment_ids": (("offsets", "out"), lambda offsets, out: segment_ids(offsets, out)),
    "segmented_reduce": (("offsets", "x", "out"), reduce_segments),
    "segmented_argsort": (
        ("offsets", "out", "values"),
        lambda offsets, out, values: segmented_argsort(offsets, out, order_of(values), elements=8),
    ),
    "segmented_sort": (
        ("offsets", "values", "out"),
        lambda offsets, values, out: segmented_sort(offsets, values, out),
    ),
}
CASES = [(name, argument) for name, (arguments, _) in PRIMITIVES.items() for argument in arguments]


def arguments_of(name, xp, changed=None, change=None):
    values = {}
    for argument in PRIMITIVES[name][0]:
        # Longer than the eight elements that are asked for, so that only the change is wrong.
        array = xp.asarray(np.array([0, 3, 8]) if argument == "offsets" else np.arange(8))
        if argument in ("out", "offsets") and name != "segmented_sort":
            array = xp.zeros(12, np.int64) if argument == "out" or name == "offsets_from" else array
        values[argument] = change(array) if argument == changed else array
    return values


def strided(xp):
    def change(array):
        spread = xp.zeros(2 * len(array), array.dtype)
        spread[::2] = array
        return spread[::2]

    return change


@pytest.mark.parametrize("name", PRIMITIVES)
def test_the_call_itself_is_right(xp, name):
    PRIMITIVES[name][1](**arguments_of(name, xp))
    errorflag.synchronize()


@pytest.mark.parametrize("name, argument", CASES)
def test_not_contiguous(xp, name, argument):
    before = errorflag.pending_calls()
    with pytest.raises(ValueError, match="is not contiguous: copy it first"):
        PRIMITIVES[name][1](**arguments_of(name, xp, argument, strided(xp)))
    assert errorflag.pending_calls() <= before + (name == "segmented_sort")


@pytest.mark.parametrize("name, argument", CASES)
def test_a_list_instead_of_an_array(xp, name, argument):
    with pytest.raises(TypeError, match=r"argument '\w+' (is a list|must be an array, not a list)"):
        PRIMITIVES[name][1](**arguments_of(name, xp, argument, lambda array: array.tolist()))


@pytest.mark.gpu
@pytest.mark.parametrize("name, argument", CASES)
def test_numpy_among_cupy(name, argument):
    import cupy

    with pytest.raises(TypeError, match="all arrays of a call must be in one place"):
        PRIMITIVES[name][1](**arguments_of(name, cupy, argument, lambda array: array.get()))
    errorflag.synchronize()


@pytest.mark.gpu
@pytest.mark.parametrize("name, argument", CASES)
def test_arrays_of_two_devices(name, argument):
    import cupy

    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("needs two GPUs")

    def elsewhere(array):
        with cupy.cuda.Device(1):
            return cupy.asarray(array.get())

    with pytest.raises(TypeError, match="all arrays of a call must be in one place"):
        PRIMITIVES[name][1](**arguments_of(name, cupy, argument, elsewhere))
    errorflag.synchronize()
