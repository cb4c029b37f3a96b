"""The array layer under awkward's CUDA arrays: NumPy's meaning, and errors that surface by themselves."""

import gc
import pickle
import re
from pathlib import Path

import awkward as ak
import numpy as np
import operations
import pretended_cupy
import pytest

import awkward_cudakernels
import errorflag
from awkward_cudakernels import _known
from awkward_cudakernels._known import forget, known, memory_of, remember_ends
from awkward_cudakernels.arraylayer.elementwise import CASTS, FUNCTIONS, MIXED
from awkward_cudakernels.arraylayer.indexes import are_equal

pytestmark = pytest.mark.usefixtures("cupy")


@pytest.fixture
def layers():
    from awkward._nplikes.cupy import Cupy
    from awkward._nplikes.numpy import Numpy

    return Numpy.instance(), Cupy.instance()


INPUTS = {
    "empty": np.zeros(0),
    "one": np.array([3.5]),
    "float": np.array([1.5, -2.0, np.nan, 0.0, -0.0, np.inf]),
    "int8": np.array([-128, 0, 5, 127], np.int8),
    "uint8": np.array([0, 5, 255], np.uint8),
    "int64": np.array([-(2**62), 0, 1, 2**62]),
    "uint64": np.array([0, 1, 2**63 + 1], np.uint64),
    "int16": np.array([-(2**15), -1, 0, 2**15 - 1], np.int16),
    "uint16": np.array([0, 7, 2**16 - 1], np.uint16),
    "int32": np.array([-(2**31), -1, 0, 2**31 - 1], np.int32),
    "uint32": np.array([0, 7, 2**32 - 1], np.uint32),
    "float16": np.array([0.5, -0.0, 2.0, np.nan, 100.0], np.float16),
    "float32": np.array([0.1, 0.2, 1e30], np.float32),
    "complex64": np.array([1 + 2j, -1j, 0, np.inf], np.complex64),
    "bool": np.array([True, False, True]),
    "all false": np.zeros(300, bool),
    "long": np.arange(5000) % 7,
    "complex": np.array([1 + 2j, -1j, 0]),
    "0-d": np.array(3),
    "2-d": np.arange(12).reshape(3, 4) % 5,
    "zero-size 2-d": np.zeros((0, 3)),
    "not contiguous": np.arange(20)[::3],
    "0-d bool": np.array(True),
}


def as_numpy(value):
    if isinstance(value, tuple):
        return tuple(as_numpy(item) for item in value)
    return value.get() if hasattr(value, "__cuda_array_interface__") else value


def outcome(function):
    """Its value, or the kind of its error."""
    try:
        return as_numpy(function())
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        return type(error)


def assert_same(expected, got):
    if isinstance(expected, type):
        assert isinstance(got, type), f"{expected.__name__} was expected, not {got}"
        return
    if isinstance(expected, tuple):
        assert len(expected) == len(got)
        for e, g in zip(expected, got):
            assert_same(e, g)
        return
    expected, got = np.asarray(expected), np.asarray(got)
    assert expected.dtype == got.dtype
    assert expected.shape == got.shape
    np.testing.assert_array_equal(expected, got)


METHODS = {
    "all": lambda n, x: n.all(x),
    "any": lambda n, x: n.any(x),
    "all axis 0": lambda n, x: n.all(x, axis=0),
    "any keepdims": lambda n, x: n.any(x, axis=0, keepdims=True),
    "min": lambda n, x: n.min(x),
    "max": lambda n, x: n.max(x),
    "count_nonzero": lambda n, x: n.count_nonzero(x),
    "nonzero": lambda n, x: n.nonzero(x),
    "cumsum": lambda n, x: n.cumsum(x),
    "full": lambda n, x: n.full(3, 7, dtype=x.dtype),
    "full_like": lambda n, x: n.full_like(x, 1),
    "zeros_like": lambda n, x: n.zeros_like(x),
    "repeat 2": lambda n, x: n.repeat(x, 2),
    "reshape": lambda n, x: n.reshape(x, (-1,)),
    "logical_not": lambda n, x: n.logical_not(x),
    "add": lambda n, x: n.add(x, x),
    "array_equal self": lambda n, x: n.array_equal(x, x),
    "array_equal self nan": lambda n, x: n.array_equal(x, x, equal_nan=True),
    "array_equal other": lambda n, x: n.array_equal(x, n.zeros_like(x)),
    "where": lambda n, x: n.where(x != 0, x, n.zeros_like(x)),
    "concat": lambda n, x: n.concat([x, x]),
    "astype": lambda n, x: n.astype(x, np.complex128),
    "unique_values": lambda n, x: n.unique_values(n.reshape(x, (-1,))),
    "sort": lambda n, x: n.sort(x),
    "sort descending": lambda n, x: n.sort(x, descending=True),
    "isnan": lambda n, x: n.isnan(x),
    "real": lambda n, x: n.real(x),
    "imag": lambda n, x: n.imag(x),
    "byteswap": lambda n, x: n.byteswap(n.byteswap(x)),
    "ascontiguousarray": lambda n, x: n.ascontiguousarray(x),
    "stack": lambda n, x: n.stack([x, x]),
    "broadcast_arrays": lambda n, x: tuple(n.broadcast_arrays(x, n.asarray(3))),
    "broadcast_to": lambda n, x: n.broadcast_to(x, (2, *x.shape)),
    "can_cast": lambda n, x: n.can_cast(x.dtype, np.float32),
    "derive_slice_for_length": lambda n, x: n.derive_slice_for_length(slice(1, None), x.size),
    "divide": lambda n, x: n.divide(x, 4),
    "frombuffer": lambda n, x: n.frombuffer(b"\x01\x00\x02\x00", dtype=np.int16),
    "frombuffer some": lambda n, x: n.frombuffer(b"\x01\x00\x02\x00", dtype=np.int16, count=1),
    "index_as_shape_item": lambda n, x: n.index_as_shape_item(n.asarray(x.size)),
    "is_c_contiguous": lambda n, x: n.is_c_contiguous(x),
    "isclose": lambda n, x: n.isclose(x, x),
    "isclose nan": lambda n, x: n.isclose(x, x, equal_nan=True),
    "logical_and": lambda n, x: n.logical_and(x, x != 1),
    "logical_or": lambda n, x: n.logical_or(x, x == 1),
    "maximum": lambda n, x: n.maximum(x, n.zeros_like(x)),
    "minimum": lambda n, x: n.minimum(x, n.zeros_like(x)),
    "meshgrid": lambda n, x: tuple(n.meshgrid(n.arange(3), n.arange(2), indexing="ij")),
    "nan_to_num": lambda n, x: n.nan_to_num(x, nan=7.0),
    "ones": lambda n, x: n.ones(x.shape, dtype=x.dtype),
    "ones_like": lambda n, x: n.ones_like(x),
    "packbits": lambda n, x: n.packbits(n.reshape(x != 0, (-1,))),
    "packbits little": lambda n, x: n.packbits(n.reshape(x != 0, (-1,)), bitorder="little"),
    "unpackbits": lambda n, x: n.unpackbits(n.astype(n.arange(5) * 51, np.uint8)),
    "unpackbits some": lambda n, x: n.unpackbits(n.astype(n.arange(5) * 51, np.uint8), count=11),
    "unpackbits less": lambda n, x: n.unpackbits(n.astype(n.arange(5) * 51, np.uint8), count=-11),
    "unpackbits more": lambda n, x: n.unpackbits(
        n.astype(n.arange(5) * 51, np.uint8), count=50, bitorder="little"
    ),
    "regularize_index_for_length": lambda n, x: n.regularize_index_for_length(-1, 5),
    "searchsorted": lambda n, x: n.searchsorted(n.arange(5), n.arange(-1, 7)),
    "searchsorted right": lambda n, x: n.searchsorted(n.arange(5), n.arange(-1, 7), side="right"),
    "shape_item_as_index": lambda n, x: n.shape_item_as_index(5),
    "strides": lambda n, x: n.strides(x),
    "sum": lambda n, x: n.sum(n.reshape(x, (-1,))[:3]),
    "sum axis 0": lambda n, x: n.sum(x[:3], axis=0) if x.ndim else n.sum(x),
    "unique_all": lambda n, x: tuple(n.unique_all(n.nan_to_num(n.reshape(x, (-1,))))),
    "zeros": lambda n, x: n.zeros(x.shape, dtype=x.dtype),
    "empty": lambda n, x: (n.empty(x.shape, dtype=x.dtype).shape, n.empty(3).dtype.name),
    "arange": lambda n, x: n.arange(3, 17, 4, dtype=np.int64),
    "arange to a number": lambda n, x: n.arange(5, dtype=np.int64),
    "arange backwards": lambda n, x: n.arange(5, 0, -2, dtype=np.int64),
    "arange empty": lambda n, x: n.arange(5, 0, dtype=np.int64),
    "arange float": lambda n, x: n.arange(0.5, 3, dtype=np.float64),
    "asarray of a list": lambda n, x: n.asarray([3, 4], dtype=np.int64),
    "asarray of a number": lambda n, x: n.asarray(3),
    "asarray copy": lambda n, x: n.asarray(x, copy=True),
    "asarray other dtype": lambda n, x: n.asarray(x, dtype=np.complex128),
    "apply_ufunc add 1": lambda n, x: n.apply_ufunc(np.add, "__call__", [x, 1]),
    "apply_ufunc float scalar": lambda n, x: n.apply_ufunc(np.multiply, "__call__", [2.5, x]),
    "apply_ufunc greater": lambda n, x: n.apply_ufunc(np.greater, "__call__", [x, 0]),
    "apply_ufunc equal": lambda n, x: n.apply_ufunc(np.equal, "__call__", [x, x]),
    "apply_ufunc abs": lambda n, x: n.apply_ufunc(np.absolute, "__call__", [x]),
    "apply_ufunc negative": lambda n, x: n.apply_ufunc(np.negative, "__call__", [x]),
}


EXTREMES = {
    "b": [0, 1], "i": [0, 1, -1, 5, "min", "max"], "u": [0, 1, 5, "max"],
    "f": [0.0, -0.0, 1.0, -1.5, 0.1, 5.0, np.nan, np.inf, -np.inf, 1e-310, 3e38],
}  # fmt: skip


def extremes(char):
    """Numbers of a dtype that meet each of the others once: two arrays."""
    dtype = np.dtype(char)
    values = []
    for value in EXTREMES[dtype.kind]:
        values.append(getattr(np.iinfo(dtype), value) if isinstance(value, str) else value)
    with np.errstate(over="ignore"):
        values = np.array(values).astype(dtype)
    return np.repeat(values, len(values)), np.tile(values, len(values))


@pytest.fixture
def own(monkeypatch):
    """Counts the calls of `elementwise` that are not left to CuPy."""
    from awkward_cudakernels.arraylayer import elementwise

    launched = []
    transform = elementwise.transform
    monkeypatch.setattr(elementwise, "transform", lambda *args: (launched.append(args), transform(*args)))
    return launched


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "char"), sorted(
    (name, char) for name, function in FUNCTIONS.items() for char in function.chars - {"q", "Q"}
))  # fmt: skip
def test_a_universal_function(cupy, layers, own, name, char):
    numpy_layer, cuda_layer = layers
    function, (x, y) = getattr(np, name), extremes(char)
    cases = [[x]] if function.nin == 1 else [[x, y], *[[x, n] for n in x[:: len(x) // 3]], [y[1], x]]
    for args in cases:
        expected = numpy_layer.apply_ufunc(function, "__call__", args)
        on_device = [cuda_layer.asarray(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
        assert_same(expected, as_numpy(cuda_layer.apply_ufunc(function, "__call__", on_device)))
    assert len(own) == len(cases)


@pytest.mark.parametrize("name", sorted(MIXED))
def test_comparisons_of_signed_with_unsigned_are_exact(cupy, layers, own, name):
    numpy_layer, cuda_layer = layers
    signed = np.array([2**53 + 1, 2**53, 2**62 + 1, -1, -(2**63), 0, 5])
    unsigned = np.array([2**53, 2**53 + 1, 2**62, 2**64 - 1, 2**63, 2**63 + 5, 5], np.uint64)
    x, y = np.repeat(signed, len(unsigned)), np.tile(unsigned, len(signed))
    cases = [[x, y], [y, x]]
    for number in unsigned:
        cases += [[x, number], [number, x]]
    for number in signed:
        cases += [[y, number], [number, y]]
    for args in cases:
        expected = numpy_layer.apply_ufunc(getattr(np, name), "__call__", args)
        on_device = [cuda_layer.asarray(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
        got = cuda_layer.apply_ufunc(getattr(np, name), "__call__", on_device)
        assert_same(expected, as_numpy(got))
    assert len(own) == len(cases)


@pytest.mark.parametrize("after", "?bBhHiIlLfdFD")
@pytest.mark.parametrize("before", "?bBhHiIlLfd")
def test_a_cast(cupy, layers, own, before, after):
    numpy_layer, cuda_layer = layers
    x, _ = extremes(before)
    if before in "fd" and after not in "?fdFD":
        x = np.array([0.0, 1.5, 99.9], before)  # others are the processor's
    with np.errstate(over="ignore"):
        expected = numpy_layer.astype(x, np.dtype(after))
    own.clear()
    assert_same(expected, as_numpy(cuda_layer.astype(cuda_layer.asarray(x), np.dtype(after))))
    assert len(own) == ((before, after) in CASTS and before != after)


@pytest.mark.parametrize("char", "?bBhHiIlLfdFDe")
@pytest.mark.parametrize("shape", [0, 3, (2, 3), (2, 0), ()])
def test_a_fill(cupy, layers, char, shape):
    numpy_layer, cuda_layer = layers
    for value in (0, 1, np.float64(1.0), True, -1, 300, np.float64(99.9), np.int8(7), np.uint64(2**63)):
        expected = outcome(lambda value=value: numpy_layer.full(shape, value, dtype=np.dtype(char)))
        got = outcome(lambda value=value: cuda_layer.full(shape, value, dtype=np.dtype(char)))
        assert_same(expected, got)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300, -1.0, 300.0])
@pytest.mark.parametrize("char", "bBil")
def test_a_fill_with_what_does_not_fit_is_no_error(cupy, char, value):
    # What it gives is the processor's.
    assert len(ak.full_like(ak.to_backend(ak.Array(np.zeros(3, char)), "cuda"), value)) == 3


ROUNDED = {
    "angle": lambda n, x: n.angle(x),
    "exp": lambda n, x: n.exp(x),
    "round": lambda n, x: n.round(x, decimals=1),
    "sqrt": lambda n, x: n.sqrt(x),
}
"""Of these the last bit is CUDA's."""


@pytest.mark.parametrize("name", ["float", "float32", "int8", "uint8", "0-d", "2-d", "empty", "complex"])
@pytest.mark.parametrize("method", ROUNDED)
def test_a_method_that_rounds(cupy, layers, name, method):
    function = ROUNDED[method]
    with np.errstate(all="ignore"):
        expected = outcome(lambda: function(layers[0], INPUTS[name]))
        found = outcome(lambda: function(layers[1], cupy.asarray(INPUTS[name])))
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    if not isinstance(expected, type):
        rtol = 1e-3 if expected.dtype == np.float16 else 1e-6
        np.testing.assert_allclose(found, expected, rtol=rtol)


def test_every_method_of_the_layer_is_compared():
    from awkward._nplikes.numpy import Numpy

    methods = {name for name in dir(Numpy) if not name.startswith("_") and callable(getattr(Numpy, name))}
    about_types = {"instance", "is_own_array", "is_own_array_type", "prepare_ufunc"}
    addresses_and_text = {"array_str", "from_dlpack", "memory_ptr"}
    source = Path(__file__).read_text(encoding="utf-8")
    assert methods - set(re.findall(r"\bn\.(\w+)\(", source)) == about_types | addresses_and_text


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("method", METHODS)
def test_a_method_means_what_numpy_means(cupy, layers, name, method):
    numpy_layer, cuda_layer = layers
    x = INPUTS[name]
    on_device = cupy.asarray(x) if name != "not contiguous" else cupy.arange(20)[::3]
    function = METHODS[method]
    with np.errstate(all="ignore"):
        expected = outcome(lambda: function(numpy_layer, x))
    assert_same(expected, outcome(lambda: function(cuda_layer, on_device)))


@pytest.mark.parametrize(
    "counts",
    [[], [0], [3], [0, 0, 0], [2, 0, 3, 0], [0, 1, 0], [1] * 300, [0] * 5 + [10_000] + [0] * 5],
)
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_repeat_with_counts(cupy, layers, counts, dtype):
    counts = np.minimum(np.array(counts, np.int64), 255 if dtype == "uint8" else 10**6).astype(dtype)
    x = np.arange(len(counts)) * 1.5
    got = layers[1].repeat(cupy.asarray(x), cupy.asarray(counts))
    assert_same(np.repeat(x, counts), as_numpy(got))


@pytest.mark.parametrize("counts", [np.array([1.5, 2]), np.array([1, 2], np.uint64), np.array([True, False])], ids=str)
def test_repeat_takes_the_counts_that_numpy_takes(cupy, layers, counts):
    x = np.array([10, 20])
    expected = outcome(lambda: layers[0].repeat(x, counts))
    got = outcome(lambda: layers[1].repeat(cupy.asarray(x), cupy.asarray(counts)))
    assert_same(expected, got)


def test_a_sum_of_one_dimension_over_another_is_an_error(cupy, layers):
    for layer, x in zip(layers, (np.arange(3), cupy.arange(3))):
        with pytest.raises(ValueError):
            layer.cumsum(x, axis=1)


@pytest.mark.parametrize("size", [0, 1, 8192, 8193, 100_000])
def test_asarray_of_an_array_of_numpy(layers, size):
    x = np.arange(size) * 0.5
    got = layers[1].asarray(x)
    x[:] = -1  # the copy has been made
    assert_same(np.arange(size) * 0.5, as_numpy(got))


def test_asarray_of_a_small_array_does_not_wait(cupy, layers, request):
    if isinstance(cupy, pretended_cupy.Module):
        pytest.skip("there is no stream to wait for")
    with request.getfixturevalue("held_stream")():
        got = layers[1].asarray([3, 4])
        ak.index.Index64([0, 5], nplike=layers[1])
    assert as_numpy(got).tolist() == [3, 4]


@pytest.mark.parametrize("at", [[0], [2, -1, 0], [3], [-4], [0, 7]])
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "int8"])
@pytest.mark.parametrize(
    "array",
    [
        ak.Array([1.5, 2.5, 3.5]),
        ak.Array([[1, 2], [], [3]]),
        ak.Array(np.arange(6).reshape(3, 2)),
        ak.Array(np.zeros((3, 0))),
        ak.Array(["one", "two", "three"]),
        ak.Array([{"x": 1, "y": [2]}, {"x": 3, "y": []}, {"x": 5, "y": [6, 7]}]),
        ak.Array([1, None, 3]),
        ak.Array(np.arange(3, dtype=np.float16)),
    ],
    ids=str,
)
def test_an_index_of_the_user(array, at, dtype):
    if dtype == "uint8" and min(at) < 0:
        pytest.skip("no negative numbers")
    at = np.array(at, dtype)
    on_device = ak.to_backend(array, "cuda")
    if at.min() >= -3 and at.max() < 3:
        assert ak.to_list(on_device[ak.to_backend(ak.Array(at), "cuda")]) == ak.to_list(array[at])
        return
    with pytest.raises(ValueError, match=r"index out of bounds in compiled CUDA code \(slicing\)") as caught:
        ak.to_list(on_device[ak.to_backend(ak.Array(at), "cuda")])
    assert "slic" in "".join(caught.value.__notes__)


@pytest.mark.parametrize("where", [(slice(1, -1),), (slice(None),), (slice(None), slice(1, None))], ids=str)
@pytest.mark.parametrize(
    "layout",
    [
        ak.Array([[1, 2], [], [3, 4, 5]]),
        ak.Array([[{"x": 1}], [], [{"x": 2}, {"x": 3}]]),
        ak.Array([[1, 2], None, [3, 4, 5]]),
        ak.mask(ak.Array([[1, 2], [], [3, 4, 5]]), [True, False, True]),
        ak.Array(np.arange(6).reshape(3, 2)),
        ak.to_regular(ak.Array([[1, 2], [3, 4], [5, 6]])),
        ak.Array([[[1, 2], []], [], [[3]]]),
        ak.Array([["one"], [], ["two", "three"]]),
    ],
    ids=str,
)
def test_a_slice_has_the_form_that_awkward_foresees(layout, where):
    on_device = ak.to_backend(layout, "cuda")
    assert on_device[where].layout.form == layout[where].layout.form
    assert on_device[where].to_list() == layout[where].to_list()


@pytest.mark.parametrize("where", [(slice(1, -1),), (slice(None),)], ids=str)
def test_a_slice_of_records_has_the_form_that_awkward_foresees(where):
    records = ak.Array([{"x": 1, "y": [2]}, {"x": 3, "y": []}, {"x": 5, "y": [6, 7]}])
    found = ak.to_backend(records, "cuda")[where]
    assert found.layout.form == records[where].layout.form
    assert found.to_list() == records[where].to_list()


@pytest.mark.parametrize("function", [np.logical_and, np.logical_or, np.logical_xor])
def test_logical_functions_of_complex_numbers(function):
    first, second = ak.Array([[1j, 0], [2]]), ak.Array([[0, 0j], [1j]])
    found = function(*(ak.to_backend(array, "cuda") for array in (first, second)))
    assert found.to_list() == function(first, second).to_list()
    assert np.logical_not(ak.to_backend(first, "cuda")).to_list() == [[False, True], [False]]


@pytest.mark.parametrize("array", [ak.Array([1.5, 2.5, 3.5]), ak.Array([[1, 2], [], [3]])], ids=str)
def test_a_mask_of_another_length(array):
    on_device = ak.to_backend(array, "cuda")
    for mask in ([True, False], [True, False, True, False, False]):
        assert ak.to_list(on_device[ak.to_backend(ak.Array(mask), "cuda")]) == ak.to_list(array[mask])
    with pytest.raises(ValueError, match="index out of bounds"):
        ak.to_list(on_device[ak.to_backend(ak.Array([True, False, True, False, True]), "cuda")])


def _lists(values, offsets=None, starts=None, stops=None, dtype=np.int64):
    content = values if isinstance(values, ak.contents.Content) else ak.contents.NumpyArray(np.array(values))
    if offsets is not None:
        return ak.contents.ListOffsetArray(ak.index.Index(np.array(offsets, dtype)), content)
    starts, stops = (ak.index.Index(np.array(x, dtype)) for x in (starts, stops))
    return ak.contents.ListArray(starts, stops, content)


NUMBERS = [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5]
RECORDS = ak.contents.RecordArray(
    [ak.contents.NumpyArray(np.array(NUMBERS)), ak.contents.NumpyArray(np.arange(7))], ["x", "y"]
)
SOME = [True, False, True, True, False, False, True]
OF_OTHER_CONTENTS = [
    _lists(RECORDS, [0, 3, 3, 7]),
    _lists(_lists(NUMBERS, [0, 1, 1, 3, 4, 5, 7, 7]), [0, 3, 3, 7]),
    _lists(np.arange(14).reshape(7, 2), [0, 3, 3, 7]),
    _lists(np.array(NUMBERS, np.float16), [0, 3, 3, 7]),
    ak.Array([["a", "bc", "d"], [], ["e", "f", "", "gh"]]).layout,
    ak.Array([[1, None, 3], [], [4, 5, None, 7]]).layout,
]


@pytest.mark.parametrize("bits", [SOME, [False] * 7, [True] * 7], ids=["some", "none", "all"])
@pytest.mark.parametrize(
    "lists",
    [
        _lists(NUMBERS, [0, 3, 3, 7]),
        _lists(NUMBERS, [0, 3, 3, 7], dtype=np.int32),
        _lists(NUMBERS, [0, 3, 3, 7], dtype=np.uint32),
        _lists(NUMBERS, starts=[4, 9, 0], stops=[7, 9, 4]),  # in another order, an empty one nowhere
        _lists(NUMBERS, starts=[1, 0, 1], stops=[4, 0, 5], dtype=np.int32),  # overlapping
        _lists(NUMBERS, [0, 4, 5, 7]),  # not the mask's own lengths: what is kept may be out of range
        _lists(NUMBERS, [0, 3, 3, 6]),
        *OF_OTHER_CONTENTS,
    ],
)
def test_a_mask_of_lists(lists, bits):
    mask = _lists(bits, [0, 3, 3, 7])
    assert_the_same_slice(lists, mask)


@pytest.mark.parametrize(
    "at",
    [
        [2, 0, -1, 3, -4, 0, 0],
        [0, 0, 0, 0, 0, 0, 0],
        [0, 3, 0, 0, 0, 0, 0],  # out of range
        [0, 0, 0, 0, 0, 0, -5],
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["int64", "int32", "int8"])
@pytest.mark.parametrize(
    "lists",
    [
        _lists(NUMBERS, [0, 3, 3, 7]),
        _lists(NUMBERS, [0, 3, 3, 7], dtype=np.uint32),
        _lists(NUMBERS, starts=[4, 9, 0], stops=[7, 9, 4]),
        _lists(NUMBERS, starts=[1, 0, 1], stops=[4, 0, 5], dtype=np.int32),
        _lists(NUMBERS, starts=[1, 0, 4], stops=[4, 0, 9]),  # beyond the content
        _lists(NUMBERS, starts=[1, 0, 5], stops=[4, 0, 4]),  # backwards
        _lists(NUMBERS, starts=[-3, 0, -4], stops=[0, 0, 0]),  # which counts from the content's end
        *OF_OTHER_CONTENTS,
    ],
)
def test_indexes_into_lists(lists, at, dtype):
    for offsets in ([0, 3, 3, 7], [0, 0, 0, 4], [0, 0, 0, 0]):
        assert_the_same_slice(lists, _lists(np.array(at, dtype), offsets))


OF_NUMBERS = [
    _lists(NUMBERS, [0, 3, 4, 7]),
    _lists(NUMBERS, [1, 3, 4, 6]),  # not from the start
    _lists(NUMBERS, [0, 3, 3, 7], dtype=np.int32),  # one is empty
    _lists(NUMBERS, [0, 2, 5, 7], dtype=np.uint32),
    _lists(NUMBERS, starts=[4, 9, 0], stops=[7, 9, 4]),
    _lists(NUMBERS, starts=[1, 5, 1], stops=[4, 6, 5], dtype=np.int32),
    _lists(NUMBERS, starts=[-3, 1, -4], stops=[-1, 3, -1]),
    _lists(NUMBERS[:0], [0, 0, 0, 0]),
    _lists(NUMBERS, [0]),
]


@pytest.mark.parametrize(
    "item",
    [
        0, 1, -1, -2, 3, slice(None, 2), slice(1, None), slice(None, None, -1), slice(-2, None), slice(1, 1),
        slice(None, -1), slice(5, 1, -2), slice(None, None, 3), slice(9, None), np.int64(1), slice(None),
        slice(None, 2**63 - 2), slice(2**63 - 2, None, -1), slice(-(2**63), None), slice(None, None, 2**62),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("lists", [*OF_NUMBERS, *OF_OTHER_CONTENTS])
def test_an_item_of_every_list(lists, item):
    def function(lists):
        return lists[:, item]

    assert operations.problems(function, ak.Array(lists), backend="cuda") == []


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("fields", [None, ["one", "other"]], ids=str)
@pytest.mark.parametrize("lists", [*OF_NUMBERS, *OF_OTHER_CONTENTS])
def test_pairs(lists, fields, replacement):
    def function(lists):
        return ak.combinations(lists, 2, axis=1, replacement=replacement, fields=fields, with_name="Pair")

    assert operations.problems(function, ak.Array(lists), backend="cuda") == []


INDEXED = _lists(
    ak.contents.IndexedArray(ak.index.Index64(np.array([3, 1, 2, 0, 6, 5, 4])), RECORDS), [0, 3, 3, 7]
)


FEW = [
    _lists(RECORDS, [0, 1, 2, 3]),  # one in each: what is beside them is not carried
    _lists(NUMBERS, [2, 3, 4, 5], dtype=np.int32),
    _lists(RECORDS, [1, 3, 3, 4]),  # as many, but not one in each
    _lists(RECORDS, [2, 2, 3, 3], dtype=np.uint32),
    _lists(RECORDS, [0, 1, 1, 1]),
    _lists(RECORDS, [5, 5, 5, 5]),
]


@pytest.mark.parametrize("right", [*OF_NUMBERS[:4], INDEXED, *FEW, *OF_OTHER_CONTENTS], ids=lambda x: "right")
@pytest.mark.parametrize("left", [*OF_NUMBERS, INDEXED, *FEW, *OF_OTHER_CONTENTS], ids=lambda x: "left")
def test_products(left, right):
    for function in (
        lambda a, b: ak.cartesian([a, b], axis=1),
        lambda a, b: ak.cartesian({"x": a, "y": b}, axis=1, with_name="Pair"),
        lambda a, b: ak.cartesian([a, b], axis=1, parameters={"some": "thing"}),
        lambda a, b: ak.cartesian([a, b], axis=1, nested=True),
        lambda a, b: ak.cartesian([a, b, a], axis=1),
    ):
        assert operations.problems(function, ak.Array(left), ak.Array(right), backend="cuda") == []


BIG = np.arange(10, dtype=np.uint64) + np.uint64(2**60 + 1)
OF_BIG = {
    "elements": lambda a, lists, rows: a[[1, 2, -1]],
    "a mask": lambda a, lists, rows: a[a % 2 == 0],
    "rows": lambda a, lists, rows: rows[[2, 0, -1]],
    "the first": lambda a, lists, rows: lists[:, 0],
    "a slice": lambda a, lists, rows: lists[:, :2],
    "a mask of lists": lambda a, lists, rows: lists[lists > 2**60 + 3],
    "the largest": lambda a, lists, rows: lists[ak.argmax(lists, axis=1, keepdims=True)],
    "where": lambda a, lists, rows: ak.where(a > 2**60 + 4, a, a + np.uint64(1)),
    "concatenate": lambda a, lists, rows: ak.concatenate([lists, lists], axis=1),
    "combinations": lambda a, lists, rows: ak.combinations(lists, 2, axis=1),
    "cartesian": lambda a, lists, rows: ak.cartesian([lists, lists], axis=1),
    "broadcast": lambda a, lists, rows: ak.broadcast_arrays(a[:3], lists)[0],
    "drop_none": lambda a, lists, rows: ak.drop_none(ak.mask(lists, lists > 2**60 + 3)),
    "fill_none": lambda a, lists, rows: ak.fill_none(ak.mask(lists, lists > 2**60 + 3), np.uint64(2**61 + 1)),
    "two dimensions": lambda a, lists, rows: ak.to_regular(lists[:, :2], axis=1)[[2, 0]],
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(OF_BIG))
def test_numbers_of_64_bits_are_exact(name):
    lists = ak.Array(_lists(BIG, [0, 3, 5, 10]))
    rows = ak.Array(BIG.reshape(5, 2))
    assert operations.problems(OF_BIG[name], ak.Array(BIG), lists, rows, backend="cuda") == []


def test_bounds_that_are_no_integers():
    with pytest.raises(TypeError):
        ak.to_backend(ak.Array([[1, 2, 3], []]), "cuda")[:, 1.5:]


def test_a_step_of_none():
    with pytest.raises(ValueError, match="step cannot be zero"):
        ak.to_backend(ak.Array([[1, 2, 3], []]), "cuda")[:, ::0]


def test_indexes_into_lists_of_a_content_that_has_nothing():
    lists = ak.to_backend(ak.Array(_lists(NUMBERS[:0], starts=[-3, 0], stops=[0, 0])), "cuda")
    at = ak.to_backend(ak.Array([[0, 1], []]), "cuda")
    with pytest.raises(ValueError, match="index out of range"):
        lists[at].to_list()


@pytest.mark.parametrize("offsets", [[0, 0], [0, 5], [0, 2, 2, 2], [0]], ids=str)
def test_a_mask_that_shares_its_offsets(offsets):
    index = ak.index.Index64(np.array(offsets))
    lists = ak.contents.ListOffsetArray(index, ak.contents.NumpyArray(np.array(NUMBERS)))
    mask = ak.contents.ListOffsetArray(index, ak.contents.NumpyArray(np.array(SOME)))
    on_device = ak.to_backend(lists, "cuda", highlevel=False)
    shared = ak.contents.ListOffsetArray(
        on_device.offsets, ak.to_backend(mask, "cuda", highlevel=False).content
    )
    found = ak.Array(on_device)[ak.Array(shared)]
    assert found.layout.form == ak.Array(lists)[ak.Array(mask)].layout.form
    assert found.to_list() == ak.Array(lists)[ak.Array(mask)].to_list()


@pytest.mark.parametrize(
    "mask",
    [
        _lists(SOME, [1, 4, 4, 7]),  # not from the start
        _lists(SOME, starts=[0, 3, 3], stops=[3, 3, 7]),
        _lists(SOME, [0, 3, 7]),  # one list less
        _lists([True, False, True], [0, 3, 3, 7]),  # shorter than its offsets say
        ak.Array([[True, None, True], [], [False, True, True, None]]).layout,
        ak.Array([[True, False], None, [False, True, True]]).layout,
    ],
)
def test_other_masks_of_lists(mask):
    for lists in (_lists(NUMBERS, [0, 3, 3, 7]), _lists(NUMBERS, starts=[4, 0, 0], stops=[7, 0, 4])):
        assert_the_same_slice(lists, mask)


def assert_the_same_slice(lists, mask):
    def function(lists, mask):
        return lists[mask]

    assert operations.problems(function, ak.Array(lists), ak.Array(mask), backend="cuda") == []


def test_an_index_of_two_dimensions():
    on_device = ak.to_backend(ak.Array([1.5, 2.5, 3.5]), "cuda")
    at = ak.to_backend(ak.Array(np.array([[0, 2], [-1, 1]])), "cuda")
    assert ak.to_list(on_device[at]) == [[1.5, 3.5], [3.5, 2.5]]
    with pytest.raises(ValueError, match="index out of bounds"):
        ak.to_list(on_device[ak.to_backend(ak.Array(np.array([[0, 2], [3, 1]])), "cuda")])


def test_an_error_of_the_host_gives_way_to_the_kernel_s():
    empty = ak.to_backend(ak.Array([[], [], []]), "cuda")
    with pytest.raises(ValueError, match="index out of range in compiled CUDA code"):
        ak.to_list(empty[:, 0])


def test_repeat_refuses_negative_counts(cupy, layers):
    with pytest.raises(ValueError, match="repeats may not contain negative values"):
        layers[1].repeat(cupy.arange(3), cupy.asarray([1, -1, 2]))


def test_broadcasting_with_an_empty_last_list():
    a = ak.to_backend(ak.Array([10, 20, 30, 40]), "cuda")
    b = ak.to_backend(ak.Array([[1, 2, 3], [], [4, 5], []]), "cuda")
    assert (a + b).to_list() == [[11, 12, 13], [], [34, 35], []]


SURFACES = {
    "to_list": lambda x: x.to_list(),
    "str": str,
    "repr": repr,
    "to_numpy": lambda x: ak.to_numpy(x),
    "to_backend": lambda x: ak.to_backend(x, "cpu"),
    "show": lambda x: x.show(stream=None),
    "sum": lambda x: ak.sum(x),
    "iteration": lambda x: list(x),
    "to_json": lambda x: ak.to_json(x),
    "to_cupy": lambda x: ak.to_cupy(x),
    "synchronize_cuda": lambda x: awkward_cudakernels.synchronize_cuda(),
    "awkward's synchronize_cuda": lambda x: ak._connect.cuda.synchronize_cuda(),
}


@pytest.mark.parametrize("surface", SURFACES)
def test_an_error_surfaces_where_the_host_waits(surface):
    good = ak.to_backend(ak.Array([[1, 2], [3]]), "cuda")
    bad = ak.to_backend(ak.Array([[1, 2, 3], []]), "cuda")
    before = good[:, 0]
    lost = bad[:, 0]
    with pytest.raises(ValueError) as caught:
        SURFACES[surface](lost)
    text = str(caught.value)
    assert text.startswith("index out of range in compiled CUDA code (awkward_")
    assert "slicing" in "".join(caught.value.__notes__)
    # Nothing computed before is lost, and the stream works on.
    assert before.to_list() == [1, 3]
    assert good[:, 0].to_list() == [1, 3]


def test_an_error_names_the_operation():
    array = ak.to_backend(ak.Array([[1, 2, 3], [4, 5]]), "cuda")
    regular = ak.to_regular  # reads its size at once: the error appears in the operation itself
    with pytest.raises(ValueError) as caught:
        regular(array, axis=1)
    assert "ak.to_regular" in "".join(caught.value.__notes__)


def test_eager_raises_in_the_operation():
    bad = ak.to_backend(ak.Array([[1, 2, 3], []]), "cuda")
    with awkward_cudakernels.eager(), pytest.raises(ValueError, match="index out of range"):
        bad[:, 0]


LAYOUTS = {
    "list": lambda starts, stops: ak.contents.ListArray(
        ak.index.Index64(starts), ak.index.Index64(stops), ak.contents.NumpyArray(np.arange(10))
    ),
    "indexed": lambda starts, stops: ak.contents.IndexedArray(
        ak.index.Index64(starts), ak.contents.NumpyArray(np.arange(10))
    ),
}


@pytest.mark.parametrize(
    "layout, valid",
    [
        (LAYOUTS["list"](np.array([0, 5]), np.array([3, 10])), True),
        (LAYOUTS["list"](np.array([0, 5]), np.array([3, 11])), False),
        (LAYOUTS["list"](np.array([4, 5]), np.array([3, 9])), False),
        (LAYOUTS["list"](np.array([-1, 5]), np.array([3, 9])), False),
        (LAYOUTS["indexed"](np.array([0, 9]), None), True),
        (LAYOUTS["indexed"](np.array([0, 10]), None), False),
        (LAYOUTS["indexed"](np.array([0, -1]), None), False),
    ],
)
def test_validity(layout, valid):
    array = ak.to_backend(ak.Array(layout), "cuda")
    assert ak.is_valid(array) is valid
    assert (ak.validity_error(array) == "") is valid
    errorflag.synchronize()


def test_ends_of_all_indexes_of_an_array_are_forgotten():
    class Index:
        def __init__(self, data):
            self._data = data

    data = np.array([0, 5])
    first, second = Index(data), Index(data)
    remember_ends(first, 0, 5)
    remember_ends(second, 0, 5)
    remember_ends(first, 0, 5)
    del first
    assert len(known[memory_of(data)]) == 1
    third = Index(data)
    remember_ends(third, 0, 5)
    forget(data)
    assert not hasattr(second, "_ends") and not hasattr(third, "_ends")
    assert memory_of(data) not in known
    remember_ends(second, 1, 2)
    del second
    assert memory_of(data) not in known
    part = Index(data[1:])
    remember_ends(part, 5, 5)
    forget(data[:1])  # which is of the same memory
    assert not hasattr(part, "_ends")


def test_a_view_that_is_written_is_noticed():
    offsets = ak.index.Index64(np.array([0, 2, 4, 6]))
    layout = ak.contents.ListOffsetArray(offsets, ak.contents.NumpyArray(np.arange(6.0)))
    array = ak.to_backend(ak.Array(layout), "cuda")
    part = array[:2]
    assert ak.sum(part, axis=1).to_list() == [1.0, 5.0]
    array.layout.offsets[2] = 3
    assert ak.flatten(part).to_list() == [0, 1, 2]


def test_offsets_that_were_equal_and_are_written_by_a_view():
    content = ak.contents.NumpyArray(np.arange(4.0))
    one, other = (
        ak.to_backend(ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(np.array([0, 2, 4])), content)), "cuda")
        for _ in range(2)
    )
    assert (one + other).to_list() == [[0, 2], [4, 6]]
    ak.index.Index64(one.layout.offsets.data[:])[1] = 1
    with pytest.raises(ValueError, match="cannot broadcast nested list"):
        ak.to_list(one + other)


def test_that_indexes_are_equal_is_known_until_one_is_written(cupy):
    def offsets():
        return ak.to_backend(ak.Array([[1.0, 2.0], [], [3.0]]), "cuda").layout.offsets

    one, other, third = offsets(), offsets(), offsets()
    nplike = one.nplike
    asked = []

    def array_equal(x, y, _original=nplike.array_equal):
        asked.append(x)
        return _original(x, y)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(nplike), "array_equal", lambda self, x, y: array_equal(x, y))
        for pair in ((one, other), (other, one), (one, one), (third, one), (one, other)):
            assert are_equal(*pair, nplike)
        assert len(asked) == 2  # one and other, third and one
        other[1] = 1
        assert not are_equal(one, other, nplike)
        assert not are_equal(other, one, nplike)
        assert are_equal(one, third, nplike)
        assert len(asked) == 4
        other[1] = 2
        assert are_equal(one, other, nplike)
        assert are_equal(other, one, nplike)
        assert len(asked) == 5
        backend = ak.to_backend(ak.Array([1.0]), "cuda").layout.backend
        backend["awkward_localindex", np.int64](one.data, 4)
        assert not are_equal(one, other, nplike)
        assert not are_equal(third, one, nplike)
        assert len(asked) == 7
        assert are_equal(third, other, nplike)
    assert list(_known._equals[other]) == [third]
    del third
    gc.collect()
    assert len(known[memory_of(other.data)]) == 1
    assert not list(_known._equals[other])


def test_an_index_error_that_a_failed_kernel_led_to_gives_way_to_its_error():
    """awkward prints the slice in its own error, swallows what that raises, and nobody hears of the kernel's."""
    array = ak.to_backend(ak.Array([[1.0, 2.0, 3.0], [], [4.0, 5.0], [6.0]]), "cuda")
    slices = ak.to_backend(ak.Array([[5], [0], [0], [0]]), "cuda")
    text = "^cannot fit jagged slice into nested list in compiled CUDA code"
    with pytest.raises(ValueError, match=text) as found:
        array[:, slices]
    assert isinstance(found.value, errorflag.DeviceValueError)
    assert ak.to_list(array[:, 1:]) == [[2.0, 3.0], [], [5.0], []]
    empty = ak.to_layout(ak.to_backend(ak.Array([[], []]), "cuda"))
    with pytest.raises(IndexError, match="^index out of range in compiled CUDA code") as found:
        empty[ak.to_layout(ak.to_backend(ak.Array([[0], []]), "cuda"))]
    assert isinstance(pickle.loads(pickle.dumps(found.value)), (ValueError, IndexError))
    assert not errorflag.drain()
