"""The device executor: numba-cuda compiles the ops, NVRTC the template, nvJitLink makes one cubin."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import errorflag

from . import _cache
from ._compilers import CompilerError, architectures, explain
from ._host import SCALARS, TEXTS, compile_error, numba_name
from ._op import Op, OpError
from ._run import LOADED
from ._template import Template

KIND = "cubin"
SYMBOL = "op{}"
_C_NAMES = {
    "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
    "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int",
    "uint64": "unsigned long long", "float32": "float", "float64": "double",
    "complex64": "float2", "complex128": "double2",
}  # fmt: skip

_lock = threading.Lock()
_lanes: dict[tuple[int, int], Any] = {}
_device_of: Any = None  # with several devices, how to ask for the current one


def c_name(dtype: Any) -> str:
    """The C type of an element; booleans are bytes, 0 or 1."""
    return _C_NAMES[numba_name(dtype)]


class DeviceKernel:
    """The compiled kernels of a template, ready to launch on any device of their architecture.

    Every parameter has 8 bytes, so that one `struct` packs them all, which is what keeps a launch with
    many of them from costing more than one with few.
    """

    def __init__(
        self,
        template: Template,
        variant: Mapping[str, Any],
        errors: tuple[str, ...],
        groups: Sequence[Sequence[str]],
        cubin: bytes,
    ) -> None:
        from cuda.core import ObjectCode

        self.errors = errors
        self._module = ObjectCode.from_cubin(cubin)
        self._kernels = [int(self._module.get_kernel(name).handle) for name in template.kernels]
        self._kernel = self._kernels[0]
        kinds = ["int"] * len(template.parameters) + [kind for group in groups for kind in group]
        self._format = "=Qq" + "".join("d" if kind == "float" else "q" for kind in kinds)
        self._pack = struct.Struct(self._format).pack_into
        self._free: list[_Parameters] = []
        prepare()
        self._state = template.state_position
        self._state_key = (
            (template.name, template.state_bytes(variant)) if template.state_bytes else None
        )

    @staticmethod
    def channel(device: int) -> Any:
        import cupy

        with cupy.cuda.Device(device):
            return errorflag.channel(device, cupy.cuda.get_current_stream().ptr)

    def launch(self, call: Any, length: int, grid: Any, values: list[Any], device: int) -> None:
        """Launches on the current stream of the device that holds the arrays."""
        if _device_of is not None and _device_of() != device:
            import cupy

            with cupy.cuda.Device(device):
                self.launch(call, length, grid, values, device)
            return
        stream = _current_stream().ptr
        channel = _lanes.get((device, stream)) or _lane(device, stream)
        if self._state_key is not None and values[self._state + 1]:
            self._give_state(channel, values)
        base = channel.open(call, self.errors, length)
        try:
            parameters = self._free.pop()  # of no other thread
        except IndexError:
            parameters = _Parameters(struct.calcsize(self._format))
        try:
            self._pack(parameters.buffer, 0, channel.word_pointer, base, *values)
        except struct.error:
            raise OverflowError from None  # `run` knows the names of the arguments
        try:
            if type(grid) is int:
                _launch_kernel(self._kernel, grid, 1, 1, 256, 1, 1, 0, stream, 0, parameters.packed)
            else:
                self._launch_all(grid, stream, parameters, device)
        except Exception as error:
            _enter(device, error)
            self._launch_all(grid, stream, parameters, device)
        self._free.append(parameters)

    def _launch_all(self, grid: Any, stream: int, parameters: _Parameters, device: int) -> None:
        sizes = (grid, *[0] * (len(self._kernels) - 1)) if type(grid) is int else grid
        for size, kernel in zip(sizes, self._kernels, strict=True):
            if size > 0:
                _launch_kernel(kernel, size, 1, 1, 256, 1, 1, 0, stream, 0, parameters.packed)
            elif size < 0:
                blocks = _cooperative_blocks(device)
                _launch_together(kernel, blocks, 1, 1, 256, 1, 1, 0, stream, parameters.addresses)

    def _give_state(self, channel: Any, values: list[Any]) -> None:
        """Replaces the state and capacity parameters by memory of at least that capacity."""
        wanted = values[self._state + 1]
        found = channel.scratch.get(self._state_key)
        if found is None or found[0] < wanted:
            with channel.lock:
                found = channel.scratch.get(self._state_key)
                if found is None or found[0] < wanted:
                    import cupy

                    capacity = (wanted + wanted // 2 + 1023) // 1024 * 1024
                    memory = cupy.zeros(32 + capacity * self._state_key[1], "uint8")  # type: ignore[index]
                    # The smaller ones stay: a thread may be about to launch with one, and graphs hold them.
                    found = channel.scratch[self._state_key] = (capacity, memory, found)
        values[self._state] = found[1].data.ptr
        values[self._state + 1] = found[0]


class _Parameters:
    """Memory for the parameters of one launch at a time, in the two forms that the driver takes.

    Attributes:
        buffer: where they are packed.
        packed: the address of a description of the buffer as a whole.
        addresses: the address of an array of their addresses.
    """

    __slots__ = ("_keep", "addresses", "buffer", "packed")

    def __init__(self, size: int) -> None:
        self.buffer = (ctypes.c_char * size)()
        start = ctypes.addressof(self.buffer)
        length = ctypes.c_size_t(size)
        whole = (ctypes.c_void_p * 5)(1, start, 2, ctypes.addressof(length), 0)
        each = (ctypes.c_void_p * (size // 8))(*range(start, start + size, 8))
        self.packed = ctypes.addressof(whole)
        self.addresses = ctypes.addressof(each)
        self._keep = length, whole, each


def prepare() -> None:
    """Imports what launches need, and binds the CuPy functions that every one of them calls."""
    global _current_stream, _device_of, _launch_kernel, _launch_together
    import cuda.core  # noqa: F401
    import cupy

    try:
        devices = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        devices = 0  # an array on a device will say so
    _current_stream = cupy.cuda.get_current_stream
    _launch_kernel = cupy.cuda.driver.launchKernel
    _launch_together = cupy.cuda.driver.launchCooperativeKernel
    if devices > 1:
        _device_of = cupy.cuda.runtime.getDevice


def _replaced(*_: Any) -> Any:
    raise AssertionError("replaced by prepare")


_current_stream: Any = _replaced
_launch_kernel: Any = _replaced
_launch_together: Any = _replaced


def _lane(device: int, stream: int) -> Any:
    """The channel of a stream."""
    from cuda.core import Device

    Device(device).set_current()
    channel = errorflag.channel(device, stream)
    if stream != errorflag.PER_THREAD_STREAM:  # which has a channel for every thread
        _lanes[device, stream] = channel
    return channel


def _enter(device: int, error: Exception) -> None:
    """Makes the device's context current in a thread whose first use of CUDA is a launch, which failed."""
    if "INVALID_CONTEXT" not in str(error):
        raise error
    from cuda.core import Device

    Device(device).set_current()


@cache
def _cooperative_blocks(device: int) -> int:
    """Two on every multiprocessor, for kernels whose blocks wait for each other."""
    import cupy

    return 2 * int(cupy.cuda.Device(device).attributes["MultiProcessorCount"])


@cache
def _versions() -> str:
    return _cache.installed(
        "numba-cuda", "llvmlite", "cuda-core", "cuda-bindings",
        "nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12", "nvidia-nvjitlink", "nvidia-nvjitlink-cu12",
        "nvidia-nvvm", "nvidia-cuda-nvcc-cu12",
    )  # fmt: skip


@cache
def _prelude() -> str:
    own = (Path(__file__).parent / "device" / "prelude.cuh").read_text(encoding="utf-8")
    return errorflag.header().replace("#pragma once", "") + own


@cache
def _lowering() -> bytes:
    """The Python files that the compiled code depends on, for the cache's key."""
    folder = Path(__file__).parent
    names = ("_device.py", "_host.py", "_intrinsics_device.py", "_lto.py", "_source.py")
    return b"".join((folder / name).read_bytes() for name in names)


@cache
def architecture(device: int) -> str:
    """The architecture of a CUDA device, such as ``"sm_90"``."""
    import cupy

    return f"sm_{cupy.cuda.Device(device).compute_capability}"


def compile(
    template: Template,
    variant: Mapping[str, Any],
    ops: tuple[Op, ...],
    groups: tuple[tuple[str, ...], ...],
    device: int,
) -> DeviceKernel:
    """Compiles a template for a device, or loads it from the disk cache."""
    cubin = build(template, variant, ops, groups, architecture(device))
    errors = tuple(message for op in ops for message in op.errors)
    try:
        return DeviceKernel(template, variant, errors, groups, cubin)
    except ImportError as error:
        raise explain(error) or error from error


def build(
    template: Template,
    variant: Mapping[str, Any],
    ops: Sequence[Op],
    groups: Sequence[Sequence[str]],
    arch: str,
) -> bytes:
    """The cubin of a template for an architecture; needs no GPU and no driver.

    Args:
        template: the loop.
        variant: its macros.
        ops: one op for each slot.
        groups: for each op, the kinds of its arguments after the leading ones: a dtype character
            for an array, after ``"*"`` for its first element, ``"int"``, ``"float"`` or ``"uint"``
            for a number.
        arch: such as ``"sm_90"``.

    Raises:
        OpError: if an op cannot be compiled; it names the op and the line.
        CompilerError: if there is no cubin yet and no compiler to make it.
    """
    source = template_source(template, variant, groups)
    name = entry_name(source, ops, groups, arch)
    cubin = _cache.load(KIND, name)
    if cubin is None:
        with _lock:
            cubin = _cache.load_or_build(
                KIND, name, lambda: _build(template, variant, ops, groups, arch, source)
            )
    return cubin


def entry_name(source: str, ops: Sequence[Op], groups: Sequence[Sequence[str]], arch: str) -> str:
    """The name of a cubin in the disk cache: a digest of everything that changes the code.

    Args:
        source: what `template_source` gives: the types are in it.
        ops: as of `build`, like the others.
        groups: of these, what the source does not tell: which arguments are loaded.
        arch: such as ``"sm_90"``.
    """
    parts = [part for op in ops for part in (op.fingerprint(), str(len(op.errors)))]
    loaded = "".join("*" if kind.startswith(LOADED) else "." for group in groups for kind in group)
    return _cache.digest(source, arch, _versions(), _lowering(), loaded, *parts)


def template_source(
    template: Template, variant: Mapping[str, Any], groups: Sequence[Sequence[str]]
) -> str:
    """The CUDA C++ source of a template for given argument types."""
    lines = [_prelude()]
    for name, value in variant.items():
        lines.append(f"#define {name} {value if name in TEXTS else c_name(value)}")
    element = c_name(variant["T"]) if "T" in variant else ""
    for number, (types, slot) in enumerate(zip(groups, template.slots, strict=True)):
        declared = "".join(
            f", {_c_parameter(kind, template.restrict)} a{number}_{position}"
            for position, kind in enumerate(types)
        )
        passed = "".join(f", a{number}_{position}" for position in range(len(types)))
        leading = ", ".join(
            kind.replace("T", element) if "T" in kind else "long long" for kind in slot.leading
        )
        lines.append(f"#define DECLARE{number} {declared}")
        lines.append(f"#define PASS{number} {passed}")
        symbol = SYMBOL.format(number)
        lines.append(f'extern "C" __device__ long long {symbol}({leading} DECLARE{number});')
    lines.append(template.device)
    return "\n".join(lines)


def _c_parameter(kind: str, restrict: bool) -> str:
    if kind in SCALARS:
        return {"int": "long long", "float": "double", "uint": "unsigned long long"}[kind]
    return f"{c_name(kind.lstrip(LOADED))}*{' __restrict__' if restrict else ''}"


def _build(
    template: Template,
    variant: Mapping[str, Any],
    ops: Sequence[Op],
    groups: Sequence[Sequence[str]],
    arch: str,
    source: str,
) -> bytes:
    try:
        if arch.rstrip("af") not in architectures():
            raise CompilerError(
                f"the installed CUDA compilers do not know {arch}: they know "
                f"{', '.join(architectures())}"
            )
        from cuda.core import Program, ProgramOptions

        from ._lto import compile_op

        options = ProgramOptions(
            arch=arch,
            std="c++17",
            relocatable_device_code=True,
            link_time_optimization=True,
            fma=False,
        )
        parts = [bytes(Program(source, "c++", options).compile("ltoir").code)]
        offset = 0
        for number, (op, slot, types) in enumerate(zip(ops, template.slots, groups, strict=True)):
            symbol = SYMBOL.format(number)
            try:
                element = variant.get("T")
                code = compile_op(op, slot, tuple(types), element, symbol, offset, arch)
            except Exception as error:
                where = type(error).__module__
                if where.startswith("numba") and "cudadrv" not in where:
                    raise compile_error([op], error) from error
                raise
            parts.append(code)
            offset += len(op.errors)
        return _link(parts, arch)
    except (OpError, CompilerError):
        raise
    except Exception as error:
        raise explain(error) or error from error


def _link(parts: Sequence[bytes], arch: str) -> bytes:
    """Links LTO-IR to a cubin.

    Not `cuda.core.Linker`: in cuda-core 1.2 it spells the option against contraction (a * b + c
    rounded once, which awkward's CPU kernels do not do) in a way that nvJitLink refuses.
    """
    from cuda.bindings import nvjitlink

    options = [f"-arch={arch}", "-lto", "-fma=0"]
    handle = nvjitlink.create(len(options), options)
    try:
        for number, part in enumerate(parts):
            kind = nvjitlink.InputType.LTOIR
            nvjitlink.add_data(handle, kind, part, len(part), f"part{number}")
        nvjitlink.complete(handle)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, cubin)
        return bytes(cubin)
    except nvjitlink.nvJitLinkError as error:
        log = bytearray(nvjitlink.get_error_log_size(handle))
        nvjitlink.get_error_log(handle, log)
        raise RuntimeError(f"nvJitLink: {error}: {log.decode(errors='replace')}") from error
    finally:
        nvjitlink.destroy(handle)
