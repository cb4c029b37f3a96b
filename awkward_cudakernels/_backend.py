"""Putting the kernels under awkward's ``backend="cuda"`` or ``backend="cpu"``, and taking them out."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from functools import cache
from typing import Any

import awkward._connect.cuda as awkward_cuda
from awkward._backends.cupy import CupyBackend
from awkward._backends.numpy import NumpyBackend
from awkward._nplikes.cupy import Cupy

import errorflag
from primitives import _compilers

from . import _dispatch, arraylayer, signatures
from ._registry import DeviceKernel, HostKernel, ValidityKernel, registry


def _own_kernel(backend: Any, key: Any) -> Any:
    """A backend's kernel for a key that is new to it; None for a family that is awkward's own."""
    if key in signatures.unlike_installed():
        return None
    specialization = signatures.specializations().get(key)
    function = None if specialization is None else registry().get(specialization.family)
    if function is None:
        return None
    found = backend._own[key] = backend._kernel(function, specialization)
    return found


class CudaBackend(CupyBackend):
    """``backend="cuda"`` on the device executor."""

    _own: dict[Any, DeviceKernel]
    nplike: Any = None  # awkward's is a property, which it asks for thousands of times; `register` sets it

    @staticmethod
    def _kernel(function: Any, specialization: signatures.Specialization) -> DeviceKernel:
        validity = specialization.family.endswith("_validity")
        return (ValidityKernel if validity else DeviceKernel)(function, specialization)

    def __getitem__(self, key: Any) -> Any:
        return self._own.get(key) or _own_kernel(self, key) or super().__getitem__(key)

    def __reduce__(self) -> Any:
        return CupyBackend.instance, ()  # whatever that is in the process that reads it


class HostBackend(NumpyBackend):
    """``backend="cpu"`` on the host executor."""

    _kernel = HostKernel
    _own: dict[Any, HostKernel]

    def __getitem__(self, key: Any) -> Any:
        return self._own.get(key) or _own_kernel(self, key) or super().__getitem__(key)

    def __reduce__(self) -> Any:
        return NumpyBackend.instance, ()  # whatever that is in the process that reads it


_backends: dict[str, tuple[type, type]] = {
    "cuda": (CudaBackend, CupyBackend),
    "cpu": (HostBackend, NumpyBackend),
}
_registered: dict[str, ExitStack] = {}
"""What undoes each registration. awkward's one instance of a backend, which every array refers to, stays
the same object and changes its class: arrays made before take part."""
_awkward_synchronize = awkward_cuda.synchronize_cuda


def register(backend: str = "cuda") -> None:
    """Makes an awkward backend run these kernels; safe to call again.

    Warns once if the installed awkward has kernels that are not in this package's table, or have other
    signatures there: those stay awkward's own.

    Args:
        backend: ``"cuda"`` (the device executor), or ``"cpu"`` (the same kernels on the host).

    Raises:
        ModuleNotFoundError: ``"cuda"`` without CuPy; the message says what to install.
        RuntimeError: ``"cuda"`` without a GPU, or without NVIDIA's driver.
        ValueError: ``AWKWARD_CUDAKERNELS_LEGACY`` names what is no raw kernel.
    """
    if backend not in _backends:
        raise ValueError(f"backend must be 'cuda' or 'cpu', not {backend!r}")
    if backend in _registered:
        return
    ours, theirs = _backends[backend]
    if backend == "cuda":
        try:
            import cupy
        except ImportError as error:
            advice = _compilers.install(_compilers.extra())
            raise ModuleNotFoundError(f"CuPy is not installed: {advice}") from error
        try:
            devices = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError:
            devices = 0
        if not devices:
            raise RuntimeError(
                "there is no GPU that CuPy can use: `awkward-cudakernels doctor` says what is missing; "
                'register("cpu") works on every machine'
            )
        _dispatch.in_force()  # raises if its environment variable is wrong
        from primitives import _device  # what launches need, so that the first one finds it

        _device.prepare()
    _warn_of_unlike_kernels()
    registry()
    instance: Any = theirs.instance()  # type: ignore[attr-defined]
    instance._own = {}
    instance.__class__ = ours
    if backend == "cuda":
        CudaBackend.nplike = Cupy.instance()
    undo = ExitStack()
    undo.callback(delattr, instance, "_own")
    undo.callback(setattr, instance, "__class__", theirs)
    if backend == "cuda":
        undo.enter_context(arraylayer.installed())
        awkward_cuda.synchronize_cuda = synchronize_cuda
        undo.callback(setattr, awkward_cuda, "synchronize_cuda", _awkward_synchronize)
    _registered[backend] = undo


@cache
def _warn_of_unlike_kernels() -> None:
    """Once: which of the installed awkward's kernels and functions stay its own, for they are not those that this
    package knows."""
    unlike = signatures.unlike_installed()
    if unlike:
        first = next(iter(unlike.values()))[0]
        warnings.warn(
            f"{len(unlike)} of the installed awkward's kernels are not in this package's table, or not like "
            f"that, and stay awkward's own; the first: {first} (awkward-cudakernels doctor lists all)",
            stacklevel=3,
        )
    functions = arraylayer.unlike_installed()
    if functions:
        warnings.warn(
            f"{len(functions)} of the installed awkward's functions are not those that the array layer for CUDA "
            f"replaces, and stay awkward's own, which may be slow or wait; the first: {functions[0]} "
            "(awkward-cudakernels doctor lists all)",
            stacklevel=3,
        )


def unregister(backend: str | None = None) -> None:
    """Puts awkward's own backend back.

    Args:
        backend: ``"cuda"`` or ``"cpu"``; by default whichever is registered.

    Raises:
        ValueError: it is neither.
    """
    for name in [backend] if backend is not None else list(_registered):
        if name not in _backends:
            raise ValueError(f"backend must be 'cuda' or 'cpu', not {name!r}")
        if name in _registered:
            _registered.pop(name).close()


def registered() -> tuple[str, ...]:
    """The names of the backends that run these kernels now."""
    return tuple(sorted(_registered))


def synchronize_cuda(stream: Any = None) -> None:
    """Waits for a CUDA stream and raises the error of the earliest failed kernel on it, if any.

    Args:
        stream: a CuPy stream; by default the current one.

    Raises:
        errorflag.DeviceValueError: a `ValueError` with awkward's text and a note that names the
            operation that caused it.
    """
    errorflag.synchronize(stream)
    if awkward_cuda.cuda_streamptr_to_contexts:  # families that fell back to awkward's own
        import cupy

        found = cupy.cuda.get_current_stream() if stream is None else stream
        if found.ptr in awkward_cuda.cuda_streamptr_to_contexts:
            _awkward_synchronize(found)
