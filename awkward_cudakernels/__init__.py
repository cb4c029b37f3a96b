"""Awkward Array's kernels on the GPU, written on primitives whose errors stay on the device.

`register` makes ``backend="cuda"`` this backend; ``register("cpu")`` puts the same kernels, run on
the host, under ``backend="cpu"``.
"""

from errorflag import eager

from ._backend import register, registered, synchronize_cuda, unregister
from ._dispatch import legacy
from ._registry import kernel, kernel_for, registry
from ._status import status

__version__ = "0.1.0"

__all__ = [
    "eager",
    "kernel",
    "kernel_for",
    "legacy",
    "register",
    "registered",
    "registry",
    "status",
    "synchronize_cuda",
    "unregister",
]
