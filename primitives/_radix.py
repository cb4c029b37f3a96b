"""Long segments of numbers: CUB's radix sort, through the objects of `cuda.compute`.

Merging is O(n log n) passes over the device; for segments of hundreds of elements and more a radix sort
of (key, position) by key, and then, stably, by segment, needs a fixed number. What it costs is host time
(a hundred microseconds) and a build of some seconds, once per machine: it is kept in the disk cache.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np

from . import _cache, _run
from ._intrinsics import float_bits
from ._op import op
from ._run import scratch
from ._scan import upper_bound
from ._transform import transform

LEAST_ELEMENTS = 1 << 17
LEAST_MEAN = 64
"""From where on the radix sort is faster than merging; measured on an H200 with `bench --only rates`."""

KIND = "cccl"
_UNSIGNED, _SIGNED, _FLOATING = range(3)
_KINDS = {"b": _UNSIGNED, "u": _UNSIGNED, "i": _SIGNED, "f": _FLOATING}
_SIGN = -(2**63)


def pays(values: Any, elements: int, segments: int) -> bool:
    """Whether to sort by radix: a device array of numbers in long segments, and cuda.compute is there."""
    return (
        elements >= LEAST_ELEMENTS
        and elements >= LEAST_MEAN * segments
        and not isinstance(values, np.ndarray)
        and values.dtype.kind in _KINDS
        and ready(values.data.device_id)
    )


@op
def _order_key(i, keys, positions, values, kind, half, mask):
    # An unsigned integer that sorts as the value does; NaN is 0 in both orders, the zeros are equal.
    positions[i] = i
    if kind == 2:
        bits = float_bits(values[i])
        if values[i] == 0:
            bits = 0
        key = ~bits if bits < 0 else bits ^ -9223372036854775808
        keys[i] = 0 if values[i] != values[i] else key ^ mask
    elif kind == 1:
        keys[i] = (np.int64(values[i]) ^ half if half < 0 else np.int64(values[i]) + half) ^ mask
    else:
        keys[i] = np.int64(values[i]) ^ mask


@op
def _segment_key(i, keys, positions, offsets, segments):
    keys[i] = upper_bound(offsets, 0, segments + 1, positions[i])


@op
def _store_order(i, out, keys, positions, offsets, segments, absolute):
    segment = np.int64(keys[i]) - 1
    if 0 <= segment < segments:
        out[i] = positions[i] if absolute else positions[i] - offsets[segment]


def radix_argsort(
    offsets: Any,
    out: Any,
    values: Any,
    *,
    ascending: bool,
    absolute: bool,
    elements: int,
    segments: int,
) -> None:
    """`segmented_argsort` of numbers, for arguments that it has checked.

    Three launches and two calls of CUB; 32 bytes of scratch memory per element, and CUB's own.
    """
    kind = _KINDS[values.dtype.kind]
    bits = 64 if kind == _FLOATING else 8 * values.dtype.itemsize
    half = _SIGN if bits == 64 else 1 << (bits - 1)
    mask = 0 if ascending else (-1 if bits == 64 else (1 << bits) - 1)
    keys, keys_out = (scratch(out, elements, np.uint64) for _ in range(2))
    positions, positions_out = (scratch(out, elements, np.int64) for _ in range(2))
    transform(_order_key, elements, keys, positions, values, kind, half, mask)
    _sort_pairs(keys, keys_out, positions, positions_out, elements, bits)
    transform(_segment_key, elements, keys, positions_out, offsets, segments)
    _sort_pairs(keys, keys_out, positions_out, positions, elements, (segments + 1).bit_length())
    transform(_store_order, elements, out, keys_out, positions, offsets, segments, absolute)


class _Stream:
    """A CUDA stream, in the protocol that `cuda.compute` asks for."""

    def __init__(self, pointer: int) -> None:
        self._pointer = pointer

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._pointer


_lock = threading.Lock()
_sorters: dict[str, Any] = {}
_missing = False


def available() -> bool:
    """Whether `cuda.compute` is there and finds the libraries that it is linked with."""
    global _missing
    if not _missing and not _sorters:
        try:
            from cuda.compute import deserialize, make_radix_sort, serialize  # noqa: F401
        except ImportError:
            _missing = True
    return not _missing


def ready(device: int) -> bool:
    """Whether a device has its sorting object, or it can be built; what cannot is tried, and said, once."""
    global _missing
    from ._device import architecture

    if architecture(device) in _sorters:
        return True
    if not available():
        return False
    from cupy.cuda.memory import OutOfMemoryError

    try:
        prepare(device)
    except OutOfMemoryError:  # says nothing about what is installed
        raise
    except Exception as error:
        _missing = True
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        warnings.warn(
            "long segments are merged, which takes longer, because cuda.compute cannot build its radix sort: "
            f"install cuda-cccl and CUDA libraries for one version of CUDA ({reason})",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


def _sorter(keys: Any, keys_out: Any, positions: Any, positions_out: Any) -> Any:
    """The sorting object for the device of the arrays: from this process, the disk cache, or built."""
    from cuda import compute

    from ._device import architecture

    arch = architecture(keys.data.device_id)
    found = _sorters.get(arch)
    if found is not None:
        return found

    def build() -> Any:
        return compute.make_radix_sort(
            d_in_keys=keys,
            d_out_keys=keys_out,
            d_in_values=positions,
            d_out_values=positions_out,
            order=compute.SortOrder.ASCENDING,
        )

    name = entry_name(arch)
    blob = _cache.load_or_build(KIND, name, lambda: compute.serialize(build()))
    try:
        found = compute.deserialize(blob)
    except Exception:  # written by a version that this one cannot read: build it again
        found = build()
        _cache.store(KIND, name, compute.serialize(found))
    _sorters[arch] = found
    return found


def entry_name(arch: str) -> str:
    """The name of the sorting object of an architecture in the disk cache."""
    versions = _cache.installed("cuda-cccl")
    return _cache.digest("radix sort of uint64 with int64", arch, versions)


def prepare(device: int) -> None:
    """Builds the sorting object for a device, unless the disk cache has it."""
    import cupy

    with cupy.cuda.Device(device), _lock:
        keys, positions = cupy.empty(1, np.uint64), cupy.empty(1, np.int64)
        _sorter(keys, cupy.empty_like(keys), positions, cupy.empty_like(positions))


def _sort_pairs(
    keys: Any, keys_out: Any, positions: Any, positions_out: Any, n: int, bits: int
) -> None:
    if _run._recorder is not None:
        return
    import cupy

    stream = _Stream(cupy.cuda.get_current_stream().ptr)
    with _lock:  # the object keeps its arguments between the two calls
        sort = _sorter(keys, keys_out, positions, positions_out)
        arguments = {
            "d_in_keys": keys,
            "d_out_keys": keys_out,
            "d_in_values": positions,
            "d_out_values": positions_out,
            "num_items": n,
            "begin_bit": 0,
            "end_bit": bits,
            "stream": stream,
        }
        nbytes = sort(temp_storage=None, **arguments)
        sort(temp_storage=cupy.empty(nbytes, np.uint8), **arguments)
