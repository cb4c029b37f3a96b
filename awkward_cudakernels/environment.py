"""What this machine has: the CPU, the NVIDIA driver and its devices.

The driver is asked directly, through its C interface, so that the answers do not depend on which CUDA
packages are installed.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from primitives import _compilers

__all__ = ["Device", "Driver", "cpu_name", "driver", "versions", "why_no_cuda"]


@dataclass(frozen=True)
class Device:
    """A CUDA device as its driver describes it; memory in bytes."""

    name: str
    compute_capability: tuple[int, int]
    memory: int

    def __str__(self) -> str:
        major, minor = self.compute_capability
        return f"{self.name}, compute capability {major}.{minor}, {self.memory / 2**30:.0f} GiB"


@dataclass(frozen=True)
class Driver:
    """An NVIDIA driver: the newest CUDA version that it supports, and its devices."""

    cuda: tuple[int, int]
    devices: tuple[Device, ...]


def driver() -> Driver | None:
    """The driver of this machine, or None if there is none."""
    found = _compilers.driver()
    if found is None:
        return None
    cuda, version = found
    if cuda.cuInit(0):  # a driver without a device says so here
        return Driver(version, ())
    count = ctypes.c_int()
    cuda.cuDeviceGetCount(ctypes.byref(count))
    return Driver(version, tuple(_device(cuda, number) for number in range(count.value)))


def _device(cuda: ctypes.CDLL, number: int) -> Device:
    handle = ctypes.c_int()
    cuda.cuDeviceGet(ctypes.byref(handle), number)
    name = ctypes.create_string_buffer(256)
    cuda.cuDeviceGetName(name, len(name), handle)
    memory = ctypes.c_size_t()
    cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), handle)

    def attribute(which: int) -> int:
        value = ctypes.c_int()
        cuda.cuDeviceGetAttribute(ctypes.byref(value), which, handle)
        return value.value

    # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
    return Device(name.value.decode(errors="replace"), (attribute(75), attribute(76)), memory.value)


def why_no_cuda() -> str | None:
    """Why the kernels cannot run on a GPU here, in a clause; None if they can."""
    found = driver()
    if found is None:
        return "this machine has no NVIDIA driver"
    if not found.devices:
        return "the NVIDIA driver finds no GPU on this machine"
    try:
        import cupy
    except ImportError:
        return f"CuPy is not installed ({_compilers.install(_compilers.extra())})"
    try:
        if not cupy.cuda.runtime.getDeviceCount():
            return "CuPy finds no GPU on this machine"
    except cupy.cuda.runtime.CUDARuntimeError as err:
        return f"CuPy cannot use the GPU ({err})"
    return None


def cpu_name() -> str:
    """The processor's model, or the architecture where the system does not tell."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def versions(distributions: Iterable[str]) -> dict[str, str]:
    """The installed versions of those of the distributions that are installed."""
    found = {}
    for name in distributions:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
