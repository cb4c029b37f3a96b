import numpy as np
import pytest

from primitives import (
    DeviceValueError,
    OpError,
    device_function,
    op,
    rsqrt,
    scalar_of,
    synchronize,
    transform,
)

SIZES = [0, 1, 255, 256, 257, 1_048_577, 8_388_607, 8_388_609]
DTYPES = "?bBhHiIlLfdFD"


@op
def copy(i, out, x):
    out[i] = x[i]


@op
def affine(i, out, x, factor, shift):
    out[i] = x[i] * factor + shift


@op(errors=("negative", "too large"))
def guarded(i, out, x, limit):
    if x[i] < 0:
        out[i] = 0
        return 1, x[i]
    if x[i] > limit:
        out[i] = 0
        return 2, x[i]
    out[i] = x[i]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_every_dtype_and_nothing_more(xp, to_numpy, n, dtype):
    values = np.random.default_rng(1).integers(0, 2 if dtype == "?" else 100, n).astype(dtype)
    out = xp.full(n + 3, 7, dtype)
    transform(copy, n, out, xp.asarray(values))
    assert np.array_equal(to_numpy(out)[:n], values)
    assert np.array_equal(to_numpy(out)[n:], np.full(3, 7, dtype))


@pytest.mark.parametrize("dtype", "bBhHiIlfd")
def test_narrow_integers_are_wide_in_ops(xp, to_numpy, dtype):
    @op
    def difference(i, out, x):
        out[i] = x[0] - x[1]

    out = xp.zeros(1, np.int64)
    transform(difference, 1, out, xp.asarray(np.array([1, 2], dtype)))
    assert to_numpy(out)[0] == -1


def test_reciprocal_square_roots(xp, to_numpy):
    @op
    def reciprocal_root(i, out, x):
        out[i] = rsqrt(x[i])

    values = np.r_[1.0, 2.0, 9.0, np.random.default_rng(3).random(1000) * 1e12, 2.0**62]
    out = xp.zeros(len(values), np.float32)
    transform(reciprocal_root, len(values), out, xp.asarray(values))
    assert np.allclose(to_numpy(out), values**-0.5, rtol=2.0**-21, atol=0)
    assert rsqrt(values[1]) == np.float32(1) / np.sqrt(np.float32(2))


@pytest.mark.parametrize("n", [257, 9_000_001])
def test_in_place(xp, to_numpy, n):
    values = np.random.default_rng(n).random(n)
    x = xp.asarray(values.copy())
    transform(affine, n, x, x, 2, 1)
    assert np.array_equal(to_numpy(x), values * 2 + 1)


def test_stores_wrap_as_in_c(xp, to_numpy):
    out = xp.zeros(4, np.int8)
    transform(copy, 4, out, xp.asarray(np.array([127, 128, 300, -129])))
    assert to_numpy(out).tolist() == [127, -128, 44, 127]


def test_augmented_assignment_keeps_uint64_exact(xp, to_numpy):
    @op
    def add(i, total, x):
        total[i] += x[i]

    total = xp.asarray(np.array([2**63 + 1], np.uint64))
    transform(add, 1, total, xp.asarray(np.array([2], np.uint8)))
    assert int(to_numpy(total)[0]) == 2**63 + 3


def test_scalars(xp, to_numpy):
    out = xp.zeros(3)
    transform(affine, 3, out, xp.arange(3.0), 2, np.float32(0.5))
    assert to_numpy(out).tolist() == [0.5, 2.5, 4.5]
    flags = xp.zeros(3, np.int64)
    transform(affine, 3, flags, xp.arange(3), True, np.bool_(False))
    assert to_numpy(flags).tolist() == [0, 1, 2]


def test_typed_uint64_scalar(xp, to_numpy):
    @op
    def fill(i, out, value):
        out[i] = value

    out = xp.zeros(2, np.uint64)
    transform(fill, 2, out, np.uint64(2**64 - 1))
    assert to_numpy(out).tolist() == [2**64 - 1] * 2


def test_functions_constants_and_math(xp, to_numpy):
    import math

    base = 10.0

    @device_function
    def square(x):
        return x * x

    @device_function
    def shifted(x):
        return square(x) + base

    @op
    def compute(i, out, x):
        for _ in range(2):
            out[i] = shifted(x[i]) + math.sqrt(x[i]) + math.pi - np.pi

    out = xp.zeros(4)
    transform(compute, 4, out, xp.asarray(np.array([0.0, 1.0, 4.0, 9.0])))
    assert np.allclose(to_numpy(out), [10, 12, 28, 94])


@op
def divide(i, quotient, remainder, x, y):
    quotient[i] = x[i] // y[i]
    remainder[i] = x[i] % y[i]


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint64", "uint32", "float64"])
def test_division_is_python_s(xp, to_numpy, dtype):
    dtype = np.dtype(dtype)
    numbers = [1, 2, 3, 7, 100, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40 + 1, 2**62, 2**63 + 5]
    if dtype.kind == "f":
        numbers = [0.5, 1, 2, 2.5, 3, 7, 100]
    numbers += [-n for n in numbers] + [0]
    if dtype.kind in "iu":
        numbers = [n for n in numbers if np.iinfo(dtype).min <= n <= np.iinfo(dtype).max]
    x = np.repeat(np.array(numbers, dtype), len(numbers))
    y = np.tile(np.array(numbers, dtype), len(numbers))
    x, y = x[y != 0], y[y != 0]
    quotient, remainder = xp.empty(len(x), dtype), xp.empty(len(x), dtype)
    transform(divide, len(x), quotient, remainder, xp.asarray(x), xp.asarray(y))
    if dtype.kind == "f":
        expected = [a // b for a, b in zip(x.tolist(), y.tolist())]
        assert np.array_equal(to_numpy(quotient), expected)
        assert np.array_equal(to_numpy(remainder), [a % b for a, b in zip(x.tolist(), y.tolist())])
        return
    for a, b, q, r in zip(*(z.tolist() for z in (x, y, to_numpy(quotient), to_numpy(remainder)))):
        if (a, b) != (np.iinfo(dtype).min, -1):  # which has no quotient
            assert (q, r) == (a // b, a % b), (a, b)


def test_division_by_constants_and_of_them(xp, to_numpy):
    @op
    def by_constants(i, out, x):
        out[i] = x[i] // 7 + 100 * (x[i] % 7) + (1000 // (x[i] * x[i] + 1)) * 10_000

    x = np.array([0, 5, -5, 50, 2**31])
    out = xp.zeros(5, np.int64)
    transform(by_constants, 5, out, xp.asarray(x))
    assert to_numpy(out).tolist() == [
        n // 7 + 100 * (n % 7) + 1000 // (n * n + 1) * 10_000 for n in x.tolist()
    ]


def test_names_of_ops_do_not_hide_what_they_are_compiled_to(xp, to_numpy):
    @op
    def rest(i, out, x, modulo, like, widen):
        floor_divide = x[i] // modulo
        out[i] += x[i] % modulo + 10 * floor_divide
        pack = like + widen
        out[i] += pack

    out = xp.zeros(2, np.int64)
    transform(rest, 2, out, xp.asarray(np.array([7, -7])), 4, 100, 1000)
    assert to_numpy(out).tolist() == [7 % 4 + 10 * (7 // 4) + 1100, -7 % 4 + 10 * (-7 // 4) + 1100]


def test_reports_the_lowest_element(xp):
    x = np.ones(100_000)
    x[[99_999, 40_001, 70_000]] = -1, 3, -1
    x, out = xp.asarray(x), xp.empty(100_000)
    for _ in range(20):
        transform(guarded, 100_000, out, x, 2)
        with pytest.raises(DeviceValueError) as caught:
            synchronize()
        assert str(caught.value) == "too large in compiled CUDA code (guarded)"
        assert (caught.value.message, caught.value.kernel) == ("too large", "guarded")
        assert (caught.value.index, caught.value.invocation) == (40_001, 0)


def test_reports_the_lowest_of_many(xp):
    x = np.zeros(9_000_000, np.int64)
    x[[8_999_999, 5_700_001, 5_700_000, 2_900_000]] = -1
    x = xp.asarray(x)
    with pytest.raises(DeviceValueError, match="negative") as caught:
        transform(guarded, 9_000_000, x, x, 9)
        synchronize()
    assert caught.value.index == 2_900_000


def test_reports_another_element_if_told(xp):
    @op(errors=("odd",))
    def check(i, x):
        if x[i] % 2 == 1:
            return 1, x[i], i // 10

    transform(check, 100, xp.asarray(np.arange(100) == 57))
    with pytest.raises(DeviceValueError) as caught:
        synchronize()
    assert caught.value.index == 5


def test_codes_that_are_computed(xp):
    @device_function
    def code_of(value):
        return 0 if value == 0 else 1 if value == 1 else 2

    @op(errors=("one", "two"))
    def check(i, x):
        return code_of(x[i])

    transform(check, 3, xp.asarray(np.array([0, 0, 0])))
    synchronize()
    transform(check, 3, xp.asarray(np.array([0, 2, 1])))
    with pytest.raises(DeviceValueError, match="^two in"):
        synchronize()


def test_no_array_is_longer_than_needed_but_any_may_be(xp, to_numpy):
    out = xp.zeros(10)
    transform(copy, 4, out[2:], xp.arange(20.0))
    assert to_numpy(out).tolist() == [0, 0, 0, 1, 2, 3, 0, 0, 0, 0]


class TestRefusals:
    def test_negative_length(self, xp):
        with pytest.raises(ValueError, match="'n' must not be negative, it is -1"):
            transform(copy, -1, xp.zeros(1), xp.zeros(1))

    def test_length_of_another_type(self, xp):
        with pytest.raises(TypeError, match="'n' must be an integer"):
            transform(copy, -0.5, xp.zeros(1), xp.zeros(1))

    def test_not_contiguous(self, xp):
        with pytest.raises(ValueError, match="argument 'x' is not contiguous"):
            transform(copy, 2, xp.zeros(2), xp.zeros(4)[::2])

    def test_list(self, xp):
        with pytest.raises(TypeError, match="argument 'x' is a list, which is neither"):
            transform(copy, 2, xp.zeros(2), [1, 2])

    def test_dtype(self, xp):
        with pytest.raises(TypeError, match="argument 'x' has dtype float16"):
            transform(copy, 2, xp.zeros(2), xp.zeros(2, np.float16))

    def test_no_array(self):
        with pytest.raises(TypeError, match="at least one array"):
            transform(affine, 2, 1, 2, 3, 4)

    def test_wrong_number_of_arguments(self, xp):
        with pytest.raises(TypeError, match="takes 2 arguments after i; 1 given"):
            transform(copy, 2, xp.zeros(2))

    def test_a_plain_function(self, xp):
        with pytest.raises(TypeError, match="needs an @op"):
            transform(lambda i, out: None, 2, xp.zeros(2))

    @pytest.mark.gpu
    def test_mixed_places(self):
        import cupy

        with pytest.raises(TypeError, match="all arrays of a call must be in one place"):
            transform(copy, 2, cupy.zeros(2), np.zeros(2))


class TestOpErrors:
    """An op that cannot run on the device says where and why, before anything is launched."""

    def test_closure_over_an_array(self):
        table = np.arange(3)

        @op
        def bad(i, out):
            out[i] = table[i]

        with pytest.raises(OpError, match="closes over 'table', a ndarray: pass it as an argument"):
            transform(bad, 1, np.zeros(1))

    def test_undecorated_function(self):
        with pytest.raises(OpError, match="calls 'len_argument': decorate that function"):
            transform(calls_plain_function, 1, np.zeros(1))

    def test_undefined_name(self):
        @op
        def bad(i, out):
            out[i] = nowhere  # noqa: F821

        with pytest.raises(OpError, match="uses 'nowhere', which is not defined"):
            transform(bad, 1, np.zeros(1))

    def test_statement_of_the_host(self):
        @op
        def bad(i, out):
            pair = [i, i]
            out[i] = pair[0]

        with pytest.raises(OpError, match=r"test_transform.py:\d+: op 'bad': List does not exist"):
            transform(bad, 1, np.zeros(1))

    def test_types_that_do_not_fit(self):
        @op
        def bad(i, out):
            out[i] = i + (1, 2)

        with pytest.raises(OpError, match="op 'bad' cannot be compiled for these argument types"):
            transform(bad, 1, np.zeros(1))

    def test_code_without_message(self):
        @op(errors=("one",))
        def bad(i, out):
            return 2

        with pytest.raises(OpError, match="returns the code 2, but the op has 1 errors"):
            transform(bad, 1, np.zeros(1))

    def test_messages_given_as_a_string(self):
        with pytest.raises(TypeError, match="must be a tuple of messages"):
            op(errors="one")(lambda i: None)

    def test_numpy_function(self):
        @op
        def bad(i, out):
            out[i] = np.sin(i)

        with pytest.raises(OpError, match="np.sin does not exist on the device"):
            transform(bad, 1, np.zeros(1))


def len_argument(x):
    return x


@op
def calls_plain_function(i, out):
    out[i] = len_argument(i)


def test_ops_are_plain_functions_too():
    out = [0, 0]
    copy(1, out, [3, 4])
    assert out == [0, 4]


@pytest.mark.gpu
def test_foreign_device_arrays_go_in_without_a_copy():
    import cupy

    class Foreign:
        def __init__(self, array):
            self.array = array

        @property
        def __cuda_array_interface__(self):
            return self.array.__cuda_array_interface__

    out = cupy.zeros(3)
    transform(copy, 3, Foreign(out), Foreign(cupy.arange(3.0)))
    assert out.get().tolist() == [0, 1, 2]


@pytest.mark.parametrize("dtype", "?bBhHiIlLfd")
@pytest.mark.parametrize("shape", [(), (1,)])
def test_a_number_in_memory_is_a_number_to_the_op(xp, to_numpy, dtype, shape):
    x = np.arange(5)
    out = xp.zeros(5, np.float64)
    factor = xp.asarray(np.full(shape, 1, dtype))
    transform(affine, 5, out, xp.asarray(x), scalar_of(factor), 10)
    assert to_numpy(out).tolist() == (x + 10).tolist()
    transform(affine, 5, out, xp.asarray(x), 3, scalar_of(factor))
    assert to_numpy(out).tolist() == (3 * x + 1).tolist()


def test_a_number_in_memory_is_read_when_the_op_runs(xp, to_numpy):
    total = xp.zeros(1, np.int64)
    transform(copy, 1, total, xp.asarray([42]))
    out = xp.zeros(3, np.int64)
    with pytest.raises(DeviceValueError, match="too large"):
        transform(guarded, 3, out, xp.asarray([1, 2, 43]), scalar_of(total))
        synchronize()
    with pytest.raises(ValueError, match="one element; this one has 3"):
        scalar_of(out)
