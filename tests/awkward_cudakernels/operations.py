"""What an ``ak`` operation does: with awkward's own kernels on the CPU, and with this project's.

`problems` runs a function of arrays on both and compares values, types and errors. On the CPU it gives
kernels arrays with guard zones around them, and new arrays are full of poison: see `guarded`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import awkward as ak
import numpy as np
from awkward._kernels import NumpyKernel
from awkward._nplikes.numpy import Numpy

import awkward_cudakernels
from awkward_cudakernels._registry import HostKernel
from primitives import _device, _host

SUFFIX = re.compile(r" \(in compiled code: .*?\)(?=\n|$)")
"""What awkward adds to the errors of its compiled kernels: where in its C++ sources they are."""


POISONS = (5, 9)
"""What memory holds that nobody has written: numbers that, taken for an index, lead no farther than
into a guard zone."""
GUARD = 64
"""Elements around every array that no kernel may touch."""


reached: set[tuple[Any, ...]] = set()
"""The keys of this project's kernels that have run on the host."""


class Undefined(Exception):
    """What awkward's own kernels do depends on memory that they do not own, or have not written."""


@dataclass(frozen=True)
class Outcome:
    """The value and type of a result, or the error instead.

    ``in_kernel`` says that an error came from a kernel, ``exception`` is the error itself.
    """

    value: Any = None
    type: str | None = None
    form: Any = None
    error: str | None = None
    in_kernel: bool = False
    exception: Exception | None = None


@contextmanager
def registered(backend: str) -> Iterator[None]:
    """Inside, this project's kernels are under a backend."""
    awkward_cudakernels.register(backend)
    try:
        yield
    finally:
        awkward_cudakernels.unregister(backend)


def outcome(function: Callable[..., Any], *arrays: Any) -> Outcome:
    """What a function of arrays does on the backend that they are on."""
    try:
        return _of_result(function(*arrays))
    except Exception as error:
        text = str(error)
        return Outcome(
            error=f"{type(error).__name__}: {SUFFIX.sub('', text)}",
            in_kernel=SUFFIX.search(text) is not None,
            exception=error,
        )


def _of_result(result: Any) -> Outcome:
    if isinstance(result, (tuple, list)):
        parts = [_of_result(part) for part in result]
        return Outcome(
            [part.value for part in parts],
            ", ".join(str(part.type) for part in parts),
            [part.form for part in parts],
        )
    if isinstance(result, ak.Array):
        return Outcome(ak.to_list(result), str(result.type), result.layout.form)
    if isinstance(result, ak.Record):
        return Outcome(ak.to_list(result), str(result.type))
    if isinstance(result, np.ndarray):
        return Outcome(result.tolist(), f"numpy {result.shape} {result.dtype}")
    if isinstance(result, np.generic):
        return Outcome(result.item(), str(result.dtype))
    return Outcome(result, type(result).__name__)


def _close(a: Any, b: Any, tolerance: float) -> bool:
    """Whether values are equal: floats up to a relative tolerance, with NaN equal to NaN and the signs
    of zeros told apart."""
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(_close(x, y, tolerance) for x, y in zip(a, b))
    if isinstance(a, dict):
        return (
            isinstance(b, dict) and list(a) == list(b) and all(_close(a[key], b[key], tolerance) for key in a)
        )
    if isinstance(a, complex):
        return (
            isinstance(b, complex) and _close(a.real, b.real, tolerance) and _close(a.imag, b.imag, tolerance)
        )
    if isinstance(a, float) and tolerance and isinstance(b, float) and np.isfinite(a) and np.isfinite(b):
        return abs(a - b) <= tolerance * max(abs(a), abs(b), 1.0)
    return type(a) is type(b) and repr(a) == repr(b)


def problems(
    function: Callable[..., Any], *arrays: ak.Array, backend: str = "cpu", tolerance: float = 0.0
) -> list[str]:
    """Compares this project's kernels with awkward's own.

    Args:
        function: of arrays on one backend; returns an array, a record, a number or several of these.
        arrays: on the CPU.
        backend: ``"cpu"`` for the host executor, ``"cuda"`` for the device executor.
        tolerance: relative, for floats whose order of summation is not defined.

    Returns:
        One line for each difference; empty if there is none.

    Raises:
        Undefined: there is nothing to compare with.
    """
    expected = _expected(function, arrays)
    if backend == "cuda" and isinstance(expected.exception, KeyError):
        raise Undefined("awkward has no kernel for it")
    lines = []
    with registered(backend):
        if backend == "cuda":
            actual = _on_device(function, arrays)
        else:
            with guarded(POISONS[0]) as trespassers:
                actual = outcome(function, *arrays)
            lines += [f"{name} writes outside of its arrays" for name in trespassers]
    if expected.error is not None or actual.error is not None:
        if not (_same_on_device if backend == "cuda" else _same)(expected, actual):
            lines.append(f"error {_said(actual)}, not {_said(expected)}")
        return lines
    types = [outcome.type for outcome in (actual, expected)]
    if backend == "cuda":  # where arrays without dimensions take the place of NumPy's scalars
        types = [type.replace("numpy () ", "") for type in types]
    if types[0] != types[1]:
        lines.append(f"type {actual.type}, not {expected.type}")
    if actual.form != expected.form:
        lines.append(f"form {actual.form}, not {expected.form}")
    if not _close(expected.value, actual.value, tolerance):
        lines.append(f"value {actual.value}, not {expected.value}")
    return lines


def _same(expected: Outcome, actual: Outcome) -> bool:
    return expected.error == actual.error


def _same_on_device(expected: Outcome, actual: Outcome) -> bool:
    """Whether errors are the same but for what differs on the device: when a kernel's error surfaces, no
    slice is there to be named any more; CuPy has words of its own for the errors of array functions."""
    if expected.exception is None or actual.exception is None:
        return False
    if expected.in_kernel:
        return getattr(actual.exception, "message", str(actual.exception)) in str(expected.exception)
    if getattr(actual.exception, "message", "") == "index out of bounds":
        return isinstance(expected.exception, IndexError)  # NumPy looks for it at once
    return type(expected.exception) is type(actual.exception)


def _expected(function: Callable[..., Any], arrays: tuple[ak.Array, ...]) -> Outcome:
    """What awkward's own kernels do, if that is the same whatever is in memory."""
    outcomes = []
    for poison in POISONS:
        with guarded(poison) as trespassers:
            outcomes.append(outcome(function, *arrays))
        if trespassers:
            raise Undefined(f"{trespassers[0]} writes outside of its arrays")
    first, second = outcomes
    if (first.type, first.error) != (second.type, second.error) or not _close(first.value, second.value, 0.0):
        raise Undefined("depends on memory that nobody has written")
    return first


@contextmanager
def guarded(poison: int) -> Iterator[list[str]]:
    """Inside, kernels on the CPU, awkward's or ours, get arrays with guard zones on both sides, and new
    arrays are full of poison. The list names the kernels that have written into a guard zone."""
    trespassers: list[str] = []

    def with_guards(call: Callable[..., Any]) -> Callable[..., Any]:
        def guarded_call(self: Any, *args: Any) -> Any:
            if isinstance(self, HostKernel):
                reached.add(self.key)
            blocks: list[tuple[np.ndarray, np.ndarray]] = []
            given = [_with_guards(x, poison, blocks) if type(x) is np.ndarray else x for x in args]
            result = call(self, *given)
            for original, whole in blocks:
                inside = whole[GUARD:-GUARD]
                if not (_is(whole[:GUARD], poison) and _is(whole[-GUARD:], poison)):
                    trespassers.append(self.key[0])
                if original.tobytes() != inside.tobytes():
                    original[...] = inside
            return result

        return guarded_call

    def empty(self: Any, shape: Any, *, dtype: Any = None) -> Any:
        return _full(shape, np.dtype(dtype), poison)

    calls = NumpyKernel.__call__, HostKernel.__call__
    NumpyKernel.__call__, HostKernel.__call__ = map(with_guards, calls)  # type: ignore[method-assign]
    Numpy.empty = empty  # type: ignore[method-assign]
    try:
        yield trespassers
    finally:
        NumpyKernel.__call__, HostKernel.__call__ = calls  # type: ignore[method-assign]
        del Numpy.empty


def _full(shape: Any, dtype: np.dtype, poison: int) -> np.ndarray:
    return np.full(shape, poison, "i8" if dtype.kind in "mM" else dtype).view(dtype)


def _is(array: np.ndarray, poison: int) -> bool:
    return array.tobytes() == _full(array.shape, array.dtype, poison).tobytes()


def _with_guards(array: np.ndarray, poison: int, blocks: list[Any]) -> np.ndarray:
    """A copy of an array between guard zones; itself if it is none that kernels take."""
    if array.ndim != 1 or not array.flags.c_contiguous:
        return array
    whole = _full(len(array) + 2 * GUARD, array.dtype, poison)
    whole[GUARD:-GUARD] = array
    blocks.append((array, whole))
    return whole[GUARD:-GUARD]


def _said(found: Outcome) -> str:
    return "none" if found.error is None else repr(found.error)


def _on_device(function: Callable[..., Any], arrays: tuple[ak.Array, ...]) -> Outcome:
    moved = [ak.to_backend(array, "cuda") for array in arrays]

    def call(*arrays: Any) -> Any:
        result = function(*arrays)
        awkward_cudakernels.synchronize_cuda()
        return _to_host(result)

    try:
        return outcome(call, *moved)
    finally:
        _drop_error()


def _to_host(result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return [_to_host(part) for part in result]
    if isinstance(result, (ak.Array, ak.Record)):
        return ak.to_backend(result, "cpu")
    return result.get() if hasattr(result, "__cuda_array_interface__") else result


def _drop_error() -> None:
    """An error that is still pending must not be found by the next comparison."""
    try:
        awkward_cudakernels.synchronize_cuda()
    except ValueError:
        pass


# Launches


@contextmanager
def launches():
    """Lists what this project's primitives launch."""
    found = []

    def counting(launch):
        def counted(self, call, *args):
            found.append(call)
            return launch(self, call, *args)

        return counted

    with (
        patch.object(_host.HostKernel, "launch", counting(_host.HostKernel.launch)),
        patch.object(_device.DeviceKernel, "launch", counting(_device.DeviceKernel.launch)),
    ):
        yield found


def assert_same(function, *arrays, number=None):
    """That a function of arrays or layouts does what it does on the CPU, with so many launches."""
    arrays = [ak.Array(array) if isinstance(array, ak.contents.Content) else array for array in arrays]
    with launches() as found:
        assert problems(function, *arrays, backend="cuda") == []
    if number is not None:
        assert len(found) == number
