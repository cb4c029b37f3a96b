"""A device-resident error word for CUDA kernels, checked lazily.

Kernels report into one 64-bit word per device and stream; the host looks at it when it waits for
the device anyway (`synchronize`, `read`). The earliest failing call and in it the lowest element is
reported, whatever the scheduling, and nothing launched after a failed call runs on its output.
"""

from ._channel import (
    NO_ERROR,
    PER_THREAD_STREAM,
    Channel,
    channel,
    check,
    drain,
    graph,
    host_channel,
    pending_calls,
    read,
    read_items,
    synchronize,
)
from ._errors import Call, DeviceValueError, call, current_call, eager, is_eager
from ._header import header, header_path

__all__ = [
    "NO_ERROR",
    "PER_THREAD_STREAM",
    "Call",
    "Channel",
    "DeviceValueError",
    "call",
    "channel",
    "check",
    "current_call",
    "drain",
    "eager",
    "graph",
    "header",
    "header_path",
    "host_channel",
    "is_eager",
    "pending_calls",
    "read",
    "read_items",
    "synchronize",
]
