"""What awkward passes to kernels besides plain arrays and numbers, by operations that do so."""

import pickle
from functools import partial

import awkward as ak
import numpy as np
import pytest
from awkward._backends.cupy import CupyBackend
from awkward._backends.numpy import NumpyBackend
from operations import problems, registered

import awkward_cudakernels
import errorflag
from awkward_cudakernels.kernels.listarray import largest_binomial
from primitives import op, transform

LISTS = ak.Array([[1, 2, 3], [4, 5], [6, 7, 8, 9]])
REGULAR = ak.to_regular(ak.Array([[1, 2], [3, 4], [5, 6]]))

BACKENDS = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
backends = pytest.mark.parametrize("backend", BACKENDS)


@pytest.fixture
def cpu():
    with registered("cpu"):
        yield


def same(function, *arrays, backend="cpu", **options):
    assert problems(function, *arrays, backend=backend, **options) == []


# Numbers that are arrays without dimensions


@backends
@pytest.mark.parametrize("array", [LISTS, REGULAR], ids=["lists", "regular"])
@pytest.mark.parametrize("at", [0, -1, -2, 5, -5])
@pytest.mark.parametrize("kind", [int, np.int64, np.int8, np.uint64, np.array])
def test_an_index_of_every_kind(backend, array, at, kind):
    if at < 0 and kind is np.uint64:
        at = 1
    if backend == "cuda" and kind is np.array:
        pytest.skip("an array of NumPy is on another backend: ak.to_backend is for that")
    same(lambda a: a[:, kind(at)], array, backend=backend)


@backends
def test_an_index_of_no_lists(backend):
    same(lambda a: a[:, 1], REGULAR[:0], backend=backend)
    same(lambda a: a[:, 2], REGULAR[:0], backend=backend)
    same(lambda a: a[:, 2], LISTS[:0], backend=backend)


@pytest.mark.gpu
@pytest.mark.parametrize("array", [LISTS, REGULAR], ids=["lists", "regular"])
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_an_index_in_device_memory(array, dtype):
    import cupy

    with registered("cuda"):
        at = cupy.asarray(np.array(1, dtype))
        assert ak.to_list(ak.to_backend(array, "cuda")[:, at]) == ak.to_list(array[:, 1])
        with pytest.raises(ValueError, match="index out of range in compiled CUDA code"):
            ak.to_list(ak.to_backend(array, "cuda")[:, cupy.asarray(np.array(100, dtype))])


def test_sizes_may_be_numpy_integers(cpu):
    out = np.zeros(3, np.int64)
    kernel = awkward_cudakernels.kernel_for(("awkward_localindex", np.int64), "host")
    kernel(out, np.int32(3))
    assert out.tolist() == [0, 1, 2]
    kernel(out, np.array(2))
    with pytest.raises(ValueError, match="'length' of awkward_localindex must not be negative"):
        kernel(out, np.array(-1))


# Arrays of other dtypes than the kernel's


@pytest.mark.parametrize("dtype", ["datetime64[s]", "datetime64[D]", "timedelta64[ns]"])
@pytest.mark.parametrize(
    "function", [ak.sort, ak.argsort, ak.min, ak.max, ak.argmin, ak.argmax, ak.run_lengths]
)
def test_times(dtype, function):
    times = ak.unflatten(np.array([3, 1, 1, -5, 0, 2**40, 7, 7], "int64").view(dtype), [3, 0, 4, 1])
    assert str(times.type) == f"4 * var * {dtype}"
    same(function, times)
    same(lambda a: function(a, axis=-1), times)


@backends
@pytest.mark.parametrize("function", [ak.sum, ak.prod, ak.any, ak.all, ak.count_nonzero, ak.min, ak.argmax])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_numbers(backend, function, dtype):
    numbers = ak.unflatten(np.array([1 + 2j, 1 - 2j, 0, 3j, -1, 0], dtype), [2, 0, 1, 3])
    same(lambda a: function(a, axis=1), numbers, backend=backend)


@pytest.mark.parametrize("dtype", [np.longlong, np.ulonglong, np.intp])
def test_integers_of_another_name(dtype):
    values = np.array([3, 1, 2], dtype)
    same(lambda a: ak.sum(a, axis=1), ak.unflatten(values, [2, 1]))
    same(lambda a: ak.sort(a, axis=1), ak.unflatten(values, [2, 1]))


# Arrays that are not there yet, or not of the obvious length


def test_virtual_arrays():
    form, length, container = ak.to_buffers(ak.Array([[1.5, 2.5, None], [], [3.5], [4.5]]))

    def lazily(function):
        virtual = {key: (lambda value=value: value) for key, value in container.items()}
        return function(ak.from_buffers(form, length, virtual))

    for function in (
        lambda a: a[:, :1],
        lambda a: ak.sum(a, axis=-1),
        lambda a: ak.drop_none(a),
        lambda a: ak.pad_none(a, 2, axis=1),
        lambda a: a[[2, 0]],
        lambda a: ak.combinations(a, 2),
        lambda a: ak.is_valid(a),
    ):
        same(partial(lazily, function))


@backends
def test_buffers_that_are_longer_than_what_they_hold(backend):
    content = ak.contents.NumpyArray(np.arange(100.0))
    for layout in (
        ak.contents.ListOffsetArray(ak.index.Index64([7, 9, 9, 12]), content),
        ak.contents.ListArray(ak.index.Index32([50, 3, 3]), ak.index.Index32([52, 3, 9, 9, 9]), content),
        ak.contents.RegularArray(content, 7),
        ak.contents.ByteMaskedArray(ak.index.Index8([1, 0, 1]), content, valid_when=True),
        ak.contents.BitMaskedArray(ak.index.IndexU8([5, 3]), content, True, 9, True),
        ak.contents.UnionArray(
            ak.index.Index8([0, 1, 0]),
            ak.index.Index64([90, 0, 2, 5]),
            [content, ak.contents.ListOffsetArray(ak.index.Index64([1, 3, 4]), content)],
        ),
    ):
        array = ak.Array(layout)
        same(lambda a: ak.to_packed(a), array, backend=backend)
        same(lambda a: a[1:], array, backend=backend)
        same(lambda a: ak.concatenate([a, a]), array, backend=backend)
        same(lambda a: ak.fill_none(ak.pad_none(a, 5, axis=0), -1.0), array, backend=backend)


# Pointers to arrays


@backends
def test_pointers_to_the_offsets_of_a_union(backend):
    union = ak.concatenate([ak.Array([[1, 2], [], [3]]), ak.Array([["a"], ["bc", "d"]])])
    same(lambda a: ak.flatten(a, axis=1), union[[4, 0, 1, 3, 2, 0]], backend=backend)


@backends
@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("replacement", [False, True])
def test_pointers_to_the_indexes_of_combinations(backend, n, replacement):
    for array in (LISTS, REGULAR):
        same(lambda a: ak.combinations(a, n, replacement=replacement, axis=1), array, backend=backend)


@op
def digit_of_rank(i, out, ranks):
    out[i] = largest_binomial(ranks[i], 2, 0)


@pytest.mark.parametrize("xp", ["numpy", pytest.param("cupy", marks=pytest.mark.gpu)])
def test_pairs_of_so_many_elements_as_memory_has_room_for(xp):
    module = pytest.importorskip(xp)
    m = np.r_[np.arange(2, 5000), 2 ** np.arange(13, 22), np.random.default_rng(20266).integers(2, 2**21, 20_000)]
    first = m * (m - 1) // 2  # the first rank of which it is the digit, and the last one
    ranks = np.concatenate([first, first + m - 1])
    out = module.empty(len(ranks), np.int64)
    transform(digit_of_rank, len(ranks), out, module.asarray(ranks))
    assert np.array_equal(np.asarray(out.tolist()), np.concatenate([m, m]))


# Many lists, and long ones


def many(dtype):
    rng = np.random.default_rng(20260)
    counts = rng.poisson(3, 20_000)
    counts[[7, 12_345]] = 30_000, 5_000
    values = rng.integers(-1000, 1000, counts.sum())
    return ak.unflatten((values if dtype == "int64" else values / 8).astype(dtype), counts)


MANY = {
    "sum": lambda a: ak.sum(a, axis=-1),
    "sum of all": lambda a: ak.sum(a, axis=None),
    "sum across lists": lambda a: ak.sum(a[:, :50], axis=0),
    "max": lambda a: ak.max(a, axis=-1),
    "argmin": lambda a: ak.argmin(a, axis=-1, keepdims=True),
    "argmax across lists": lambda a: ak.argmax(a[:, :50], axis=0),
    "std": lambda a: ak.std(a, axis=-1),
    "sort": lambda a: ak.sort(a, axis=-1),
    "argsort": lambda a: ak.argsort(a, axis=-1, ascending=False),
    "sort across lists": lambda a: ak.sort(a[:200, :5], axis=0),
    "integer": lambda a: a[ak.num(a) > 1][:, 1],
    "range": lambda a: a[:, 5:0:-2],
    "mask": lambda a: a[a > 0],
    "masked": lambda a: ak.drop_none(ak.mask(a, a > 0)),
    "leading": lambda a: a[ak.argmax(a, axis=-1, keepdims=True)],
    "combinations": lambda a: ak.combinations(a[:, :8], 3),
    "cartesian": lambda a: ak.cartesian([a[:, :4], a[:, :3]]),
    "pad and fill": lambda a: ak.fill_none(ak.pad_none(a[:, :9], 4, clip=True), 0),
    "concatenate": lambda a: ak.concatenate([a, a[::-1]], axis=1),
    "flatten and unflatten": lambda a: ak.unflatten(ak.flatten(a), ak.num(a)),
    "broadcast": lambda a: a + ak.firsts(a),
    "run lengths": lambda a: ak.run_lengths(ak.sort(a // 64)),
    "carry": lambda a: ak.to_packed(a[ak.local_index(a, axis=0) % 3 == 0]),
}


@backends
@pytest.mark.parametrize("dtype", ["int64", "float32"])
@pytest.mark.parametrize("name", MANY)
def test_many_lists(backend, dtype, name):
    same(MANY[name], many(dtype), backend=backend, tolerance=1e-6)


# Errors


def test_errors_name_the_value_that_was_looked_up(cpu):
    with pytest.raises(IndexError, match="index out of range while attempting to get index 2"):
        REGULAR[:, 2]
    with pytest.raises(IndexError, match="index out of range while attempting to get index -3"):
        LISTS[:, -3]


def test_an_error_from_outside_is_not_the_next_operation_s(cpu):
    @op(errors=("from outside",))
    def fail(i, out):
        return 1

    transform(fail, 1, np.zeros(1))
    with pytest.raises(errorflag.DeviceValueError, match=r"from outside in compiled CUDA code \(fail\)"):
        ak.sum(LISTS, axis=1)
    assert ak.sum(LISTS, axis=1).to_list() == [6, 9, 30]


def test_an_operation_inside_a_call_leaves_the_call_as_it_is(cpu):
    with errorflag.call("outer") as outer:
        ak.sum(LISTS, axis=1)
        assert errorflag.current_call() is outer


# Registration


CLASSES = {"cpu": NumpyBackend, "cuda": CupyBackend}


@backends
def test_arrays_made_before_and_after_registering_go_together(backend):
    before = ak.to_backend(ak.Array([[1, 2], [3]]), backend)
    with registered(backend):
        after = ak.to_backend(ak.Array([[10], [20, 30]]), backend)
        both = ak.concatenate([before, after], axis=1)
        assert ak.to_list(both) == [[1, 2, 10], [3, 20, 30]]
        assert ak.to_list(ak.sum(before, axis=1)) == [3, 3]
        ak.zip({"x": before[:, 0], "y": after[:, 0]})
    assert {x.layout.backend for x in (before, after, both)} == {CLASSES[backend].instance()}
    assert ak.to_list(after) == [[10], [20, 30]]


@backends
def test_registering_is_undone_without_a_trace(backend):
    instance = CLASSES[backend].instance()
    state, kind = dict(vars(instance)), type(instance)
    with registered(backend):
        assert backend in awkward_cudakernels.registered()
        assert isinstance(instance, CLASSES[backend])
        assert type(instance) is not kind
        assert CLASSES[backend].instance() is instance
    assert type(instance) is kind
    assert vars(instance) == state
    assert awkward_cudakernels.registered() == ()
    if backend == "cpu":  # on the device awkward would compile all of its kernels to answer
        assert type(instance["awkward_localindex", np.int64]).__module__ == "awkward._kernels"


@backends
def test_backends_and_arrays_are_pickled(backend):
    stock = pickle.dumps(CLASSES[backend].instance())
    with registered(backend):
        instance = CLASSES[backend].instance()
        ours = pickle.dumps(instance)
        assert b"awkward_cudakernels" not in ours
        assert pickle.loads(ours) is pickle.loads(stock) is instance
    assert pickle.loads(ours) is pickle.loads(stock) is instance


def test_layouts_are_pickled(cpu):
    data = pickle.dumps((LISTS, LISTS.layout))
    array, layout = pickle.loads(data)
    assert array.to_list() == LISTS.to_list()
    assert layout.backend is NumpyBackend.instance()


@pytest.mark.gpus(2)
def test_on_the_second_device():
    import cupy

    from awkward_cudakernels.bench import operations
    from awkward_cudakernels.bench.sample import Sample

    with registered("cuda"), cupy.cuda.Device(1):
        samples = [Sample(300, backend) for backend in ("cpu", "cuda")]
        for operation in operations.OPERATIONS:
            expected, found = (
                operation.function(*[sample.get(name) for name in operation.inputs]) for sample in samples
            )
            assert operations.difference(operations.on_host(found), expected) is None, operation.name
    assert cupy.cuda.runtime.getDevice() == 0
