"""Arrays of other libraries: they go in without a copy, and CuPy's stream and allocator are used."""

import numpy as np
import pytest

import errorflag
from primitives import (
    inclusive_scan,
    offsets_from,
    op,
    order_of,
    reduce,
    scratch,
    segment_ids,
    segmented_argsort,
    segmented_sort,
    select,
    synchronize,
    transform,
)
from primitives._radix import LEAST_ELEMENTS

gpu = pytest.mark.gpu


@op(errors=("negative",))
def twice(i, out, x):
    out[i] = 2 * x[i]
    if x[i] < 0:
        return 1


@op
def value_of(i, value, x):
    value[0] = x[i]


def use(make, read):
    """Every way in: ops' arguments, arrays that a primitive looks at, outputs, errors."""
    x, out = make(np.arange(10, dtype=np.int64)), make(np.zeros(10, np.int64))
    transform(twice, 10, out, x)
    assert read(out).tolist() == list(range(0, 20, 2))
    inclusive_scan(x, out)
    assert read(out).tolist() == np.cumsum(np.arange(10)).tolist()
    total, offsets = make(np.zeros(1, np.int64)), make(np.zeros(11, np.int64))
    reduce(10, (value_of, x), total)
    offsets_from((value_of, x), 10, offsets)
    assert (read(total)[0], read(offsets)[-1]) == (45, 45)
    ids = make(np.zeros(45, np.int64))
    segment_ids(offsets, ids)
    assert read(ids).tolist() == np.repeat(np.arange(10), np.arange(10)).tolist()
    order = make(np.zeros(45, np.int64))
    segmented_argsort(offsets, order, order_of(ids, ascending=False))
    many, sorted_ = make(np.arange(LEAST_ELEMENTS)), make(np.zeros(LEAST_ELEMENTS, np.int64))
    segmented_sort(make(np.array([0, LEAST_ELEMENTS])), many, sorted_, ascending=False)
    assert read(sorted_).tolist() == list(range(LEAST_ELEMENTS))[::-1]
    assert scratch(out, 3, np.int32).shape == (3,)
    select((value_of, make((np.arange(10) % 2).astype(np.int64))), 10, out, values=x, total=total)
    assert read(out)[:5].tolist() == [1, 3, 5, 7, 9]
    with pytest.raises(errorflag.DeviceValueError, match="negative"):
        transform(twice, 10, out, make(np.full(10, -1)))
        synchronize()


@gpu
def test_tensors_of_pytorch():
    torch = pytest.importorskip("torch")
    use(lambda x: torch.from_numpy(x).cuda(), lambda x: x.cpu().numpy())


@gpu
def test_device_arrays_of_numba():
    cuda = pytest.importorskip("numba.cuda")
    use(cuda.to_device, lambda x: x.copy_to_host())


class Foreign:
    """What only has DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Telling(Foreign):
    """What tells its dtype and shape, too, as arrays of Numba do, and still is neither NumPy's nor CuPy's."""

    @property
    def dtype(self):
        return self.array.dtype

    @property
    def shape(self):
        return self.array.shape


@pytest.mark.parametrize("kind", [Foreign, Telling])
def test_what_has_dlpack(kind):
    use(kind, lambda x: x.array)


@gpu
@pytest.mark.parametrize("kind", [Foreign, Telling])
def test_what_has_dlpack_on_the_device(kind):
    import cupy

    use(lambda x: kind(cupy.asarray(x)), lambda x: x.array.get())


@gpu
def test_memory_comes_from_the_allocator_that_is_set():
    import cupy

    asked = []
    pool = cupy.cuda.MemoryPool()

    def malloc(size):
        asked.append(size)
        return pool.malloc(size)

    with cupy.cuda.using_allocator(malloc):
        scratch(cupy.zeros(1), 1000, np.int64)
    assert any(size >= 8000 for size in asked)


@gpu
def test_memory_of_rmm():
    import cupy

    pytest.importorskip("rmm")
    from rmm.allocators.cupy import rmm_cupy_allocator

    with cupy.cuda.using_allocator(rmm_cupy_allocator):
        use(cupy.asarray, cupy.asnumpy)


@gpu
@pytest.mark.parametrize("kind", ["MemoryAsyncPool", "ManagedMemory"])
def test_memory_of_other_kinds(kind):
    import cupy

    if kind == "MemoryAsyncPool":
        allocator = cupy.cuda.MemoryAsyncPool().malloc
    else:
        allocator = cupy.cuda.MemoryPool(cupy.cuda.malloc_managed).malloc
    with cupy.cuda.using_allocator(allocator):
        use(cupy.asarray, cupy.asnumpy)


@gpu
def test_the_stream_of_pytorch_made_cupys_current_one():
    torch = pytest.importorskip("torch")
    import cupy

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream), cupy.cuda.ExternalStream(stream.cuda_stream):
        x = torch.arange(1000, device="cuda")
        out = torch.empty_like(x)
        for _ in range(50):
            transform(twice, 1000, out, x)
            x = out + 1
        assert int(out[0]) == sum(2**k for k in range(1, 50))
