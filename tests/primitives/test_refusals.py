"""What every primitive refuses before anything is launched: what it cannot use as it is."""

import linecache
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import errorflag
import primitives
from primitives import (
    OpError,
    device_function,
    exclusive_scan,
    inclusive_scan,
    offsets_from,
    op,
    order_of,
    ranked_bits,
    reduce,
    run_boundaries,
    scalar_of,
    scan,
    scratch,
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


# Sizes, dtypes, results and ops that are none: refused by name, too


@op
def write(i, out):
    out[i] = 7


@op
def at_position(segment, position, local, out):
    out[position] = segment


def reduced(elements=8, **options):
    options = {
        "dtype": "int64",
        "start": (start,),
        "step": (step, X),
        "merge": (merge,),
        "finish": (finish, out(2)),
    } | options
    segmented_reduce(OFFSETS, elements, **options)


OFFSETS = np.array([0, 3, 8])
X = np.arange(8)


def out(n=8, dtype=np.int64):
    return np.zeros(n, dtype)


WITH_A_SIZE = {
    "transform n": lambda n: transform(write, n, out()),
    "scan n": lambda n: scan(n, (count, X), (emit, out())),
    "reduce n": lambda n: reduce(n, (count, X), out(1)),
    "offsets_from n": lambda n: offsets_from((count, X), n, out(9)),
    "select n": lambda n: select((count, X), n, out()),
    "ranked_bits n": lambda n: ranked_bits((count, X), n, out()),
    "segmented_transform elements": lambda n: segmented_transform(OFFSETS, n, at_position, out()),
    "segmented_transform segments": lambda n: segmented_transform(OFFSETS, 8, at_position, out(), segments=n),
    "segmented_reduce elements": reduced,
    "segmented_reduce segments": lambda n: reduced(segments=n),
    "segmented_argsort elements": lambda n: segmented_argsort(OFFSETS, out(), order_of(X), elements=n),
    "segmented_sort elements": lambda n: segmented_sort(OFFSETS, X, out(), elements=n),
    "scratch n": lambda n: scratch(X, n, np.int64),
}


@pytest.mark.parametrize("call", WITH_A_SIZE)
@pytest.mark.parametrize("size", [3.0, "3", np.array([3]), 2.5, -1, 2**70, [2]], ids=repr)
def test_sizes(call, size):
    if isinstance(size, np.ndarray) and size.ndim == 0:
        pytest.skip("an integer")
    before = errorflag.pending_calls()
    with pytest.raises((TypeError, ValueError), match=f"'{call.split()[1]}'"):
        WITH_A_SIZE[call](size)
    assert errorflag.pending_calls() == before


@pytest.mark.parametrize("call", [call for call in WITH_A_SIZE if call != "scratch n"])
def test_sizes_of_numpy(call):
    WITH_A_SIZE[call](np.int32(2))


@pytest.mark.parametrize("width", [1.0, 0, 9, "1", None, -1])
def test_widths(width):
    with pytest.raises(ValueError if isinstance(width, int) else TypeError, match="'width' must"):
        reduced(width=width)


@pytest.mark.parametrize(
    "dtype", ["U3", "float16", object, ">i8", "datetime64[s]", None, "nonsense", [("a", int)]]
)
def test_what_accumulators_cannot_be(dtype):
    with pytest.raises(TypeError, match="'dtype'"):
        reduced(dtype=dtype)


@pytest.mark.parametrize("dtype", ["bits", "float64", "uint64", "x", None])
def test_offsets_are_counts_or_flags(dtype):
    for n in (0, 3):
        with pytest.raises(ValueError, match="'dtype' must be 'count' or 'flag'"):
            offsets_from((count, X), n, out(9), dtype=dtype)


def test_values_that_are_too_short():
    with pytest.raises(ValueError, match="'values' has 3 elements; it must have at least 8"):
        segmented_sort(OFFSETS, X[:3], out(), elements=8)
    with pytest.raises(ValueError, match="'values' has 3 elements; it must have at least 8"):
        segmented_argsort(OFFSETS, out(), order_of(X[:3]))


READ_ONLY = {
    "inclusive_scan out": lambda x: inclusive_scan(X, x),
    "scan total": lambda x: scan(8, (count, X), (emit, out()), total=x),
    "reduce total": lambda x: reduce(8, (count, X), x),
    "offsets_from offsets": lambda x: offsets_from((count, X), 7, x),
    "select out": lambda x: select((count, X), 8, x),
    "ranked_bits words": lambda x: ranked_bits((count, X), 8, x),
    "run_boundaries starts": lambda x: run_boundaries(X, x),
    "searchsorted out": lambda x: searchsorted(X, X, x),
    "segment_ids out": lambda x: segment_ids(OFFSETS, x),
    "segmented_argsort out": lambda x: segmented_argsort(OFFSETS, x, order_of(X)),
    "segmented_sort out": lambda x: segmented_sort(OFFSETS, X, x),
}


@pytest.mark.parametrize("call", READ_ONLY)
def test_results_that_cannot_be_written(call):
    x = out()
    x.flags.writeable = False
    with pytest.raises(ValueError, match=f"'{call.split()[1]}' is read-only"):
        READ_ONLY[call](x)
    assert not x.any()
    with pytest.raises(TypeError, match=f"'{call.split()[1]}'"):
        READ_ONLY[call](None if "total" not in call else 5)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 2**64])
def test_numbers_beyond_64_bits(value):
    @op
    def store(i, out, value):
        out[i] = value

    with pytest.raises(ValueError, match=f"'value' is {value}, which does not fit"):
        transform(store, 8, out(), value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: transform(None, 3), "transform needs an @op, not None"),
        (lambda: transform(write.function, 3, out()), "transform needs an @op, not <function"),
        (lambda: segmented_transform(OFFSETS, 8, 5, out()), "segmented_transform needs an @op, not 5"),
        (
            lambda: scan(8, count, (emit, out())),
            "scan needs a tuple of an @op and its arguments, not <op count",
        ),
        (lambda: scan(8, (), (emit, out())), r"scan needs an @op, not \(\)"),
        (lambda: reduced(start=start), "segmented_reduce needs a tuple"),
        (lambda: segmented_argsort(OFFSETS, out(), write), "'less' must be a tuple"),
        (lambda: segmented_argsort(OFFSETS, out(), ()), "'less' must be a tuple"),
        (lambda: scalar_of([3]), "scalar_of needs an array of one element, not a list"),
        (lambda: scalar_of(3), "scalar_of needs an array of one element, not a int"),
        (lambda: errorflag.read_items([1, 2], [0]), "reads arrays of CuPy and NumPy, not a list"),
        (lambda: errorflag.read(3), "reads arrays of CuPy and NumPy, not a int"),
    ],
)
def test_ops_and_what_belongs_to_them(call, message):
    if "errorflag" in message or "CuPy" in message:
        pytest.importorskip("cupy")
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize("positions", [[8], [-1], [0, 9]])
def test_positions_that_are_not_in_the_array(positions):
    with pytest.raises(IndexError, match="'positions'"):
        errorflag.read_items(X, positions)


@pytest.mark.gpu
def test_what_is_read_of_a_device():
    import cupy

    x = cupy.arange(1000)
    for positions in ([1000], [-1]):
        with pytest.raises(IndexError, match="'positions'"):
            errorflag.read_items(x, positions)
    with pytest.raises(ValueError, match="at most 256"):
        errorflag.read_items(x, range(257))
    assert errorflag.read_items(x, range(256)) == list(range(256))
    for view in (x[::2], x[:6].reshape(2, 3).T):
        with pytest.raises(ValueError, match="contiguous"):
            errorflag.read(view)
        with pytest.raises(ValueError, match="contiguous"):
            errorflag.read_items(view, [0])
    with pytest.raises(TypeError, match="reads arrays"):
        errorflag.read(x, np.zeros(3))
    assert errorflag.read(x)[0].tolist() == list(range(1000))


# Ops that cannot be compiled


@device_function
def again(x):
    return again(x - 1) if x > 0 else 0


@op
def uses_again(i, out):
    out[i] = again(i)


def test_recursion():
    for _ in range(2):
        with pytest.raises(OpError, match="'again' calls itself"):
            transform(uses_again, 8, out())


def test_a_variable_without_a_value():
    def make():
        @op
        def early(i, out):
            out[i] = later

        with pytest.raises(OpError, match="uses 'later', which is not defined yet"):
            transform(early, 8, out())
        later = 3
        return early, later

    early, _ = make()
    x = out()
    transform(early, 8, x)
    assert x.tolist() == [3] * 8


def test_lambdas():
    with pytest.raises(OpError, match="must be a function written with def"):
        transform(op(lambda i, out: None), 8, out())


def test_codes_without_messages():
    @op
    def fails(i, x):
        return x[i]

    with pytest.raises(OpError, match="returns a code, but the op has no errors"):
        transform(fails, 8, out())


def test_annotations_and_divisions_in_place():
    @op
    def divide(i, out, x, y):
        if x[i] > 0:
            quotient: int
        quotient = x[i]
        quotient //= y[i]
        out[i] = x[i]
        out[i] %= y[i]
        out[i] += 100 * quotient

    x, y = np.array([7, -7, 2**40 + 5, 0]), np.array([2, 2, -3, 5])
    z = out(4)
    transform(divide, 4, z, x, y)
    assert z.tolist() == (x % y + 100 * (x // y)).tolist()


@pytest.mark.parametrize("element", [-1, 2**40, 2**40 + 5, 3])
def test_elements_beyond_the_word(element):
    @op(errors=("a", "b"))
    def fails(i, x, element):
        if x[i] == 3:
            return 2, 0, element

    with pytest.raises(primitives.DeviceValueError, match="^b in compiled") as caught:
        transform(fails, 8, X, element)
        primitives.synchronize()
    assert caught.value.index == element % 2**40
    x = out()
    transform(write, 8, x)
    primitives.synchronize()
    assert x.tolist() == [7] * 8


@pytest.mark.parametrize("code", [3, 254, 255, 256, 300])
def test_codes_that_have_no_message(code):
    @op(errors=("a", "b"))
    def fails(i, x, code):
        if x[i] == 3:
            return code

    with pytest.raises(primitives.DeviceValueError):
        transform(fails, 8, X, code)
        primitives.synchronize()
    x = out()
    transform(write, 8, x)
    primitives.synchronize()
    assert x.tolist() == [7] * 8


SOURCE = """
import numpy as np
from primitives import op, transform

@op
def write(i, out):
    out[i] = {}
"""


def test_a_file_that_is_edited_under_a_running_process(tmp_path):
    path = tmp_path / "edited.py"
    path.write_text(SOURCE.format(1))
    program = textwrap.dedent("""
        import sys
        import numpy as np
        import edited
        from primitives import OpError, transform

        if len(sys.argv) > 1:
            open("edited.py", "w").write(sys.argv[1])
        out = np.zeros(1, np.int64)
        try:
            transform(edited.write, 1, out)
        except OpError as error:
            print(error)
        print(out[0])
    """)
    (tmp_path / "program.py").write_text(program)
    environment = os.environ | {
        "AWKWARD_CUDAKERNELS_CACHE": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, "program.py", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "its source has changed since it was imported" in run(SOURCE.format(2))
    assert run() == "2\n"
    path.write_text(SOURCE.format(1))
    assert run() == "1\n"
    assert run("\n\n" + SOURCE.format(3)) == "1\n"  # compiled before: nobody looks at the file
    linecache.checkcache()
