"""Data-parallel primitives for CuPy and NumPy arrays, with errors that stay on the device.

An `op` is a plain Python function; a primitive runs it over a range, a scan or ragged segments, on
the GPU for CuPy arrays and on the CPU for NumPy arrays. No primitive waits for the device.
"""

from errorflag import DeviceValueError, synchronize

from ._cache import cache_info
from ._compilers import CompilerError
from ._intrinsics import float_bits, load_int64, popcount, rsqrt, store_int64
from ._op import DeviceFunction, Op, OpError, device_function, op
from ._reduce import reduce
from ._run import scalar_of, scratch
from ._scan import (
    bit_at,
    exclusive_scan,
    inclusive_scan,
    lower_bound,
    offsets_from,
    rank_at,
    ranked_bits,
    run_boundaries,
    scan,
    searchsorted,
    select,
    upper_bound,
)
from ._segmented import segment_ids, segmented_reduce, segmented_transform
from ._sort import order_of, segmented_argsort, segmented_sort
from ._transform import transform

__all__ = [
    "CompilerError",
    "DeviceFunction",
    "DeviceValueError",
    "Op",
    "OpError",
    "bit_at",
    "cache_info",
    "device_function",
    "exclusive_scan",
    "float_bits",
    "inclusive_scan",
    "load_int64",
    "lower_bound",
    "offsets_from",
    "op",
    "order_of",
    "popcount",
    "rank_at",
    "ranked_bits",
    "reduce",
    "rsqrt",
    "run_boundaries",
    "scalar_of",
    "scan",
    "scratch",
    "searchsorted",
    "segment_ids",
    "segmented_argsort",
    "segmented_reduce",
    "segmented_sort",
    "segmented_transform",
    "select",
    "store_int64",
    "synchronize",
    "transform",
    "upper_bound",
]
