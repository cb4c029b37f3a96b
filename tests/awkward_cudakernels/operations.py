"""What an ``ak`` operation does: with awkward's own kernels on the CPU, and with this project's.

`problems` runs a function of arrays twice and compares values, types and errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import awkward as ak
import numpy as np

import awkward_cudakernels

SUFFIX = re.compile(r" \(in compiled code: .*?\)(?=\n|$)")
"""What awkward adds to the errors of its compiled kernels: where in its C++ sources they are."""


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
    """
    expected = outcome(function, *arrays)
    with registered(backend):
        if backend == "cuda":
            actual = _on_device(function, arrays)
        else:
            actual = outcome(function, *arrays)
    if expected.error is not None or actual.error is not None:
        if backend == "cuda" and expected.in_kernel and actual.exception is not None:
            same = getattr(actual.exception, "message", actual.error) in expected.error
        else:
            same = expected.error == actual.error
        return [] if same else [f"error {_said(actual)}, not {_said(expected)}"]
    lines = []
    if actual.type != expected.type:
        lines.append(f"type {actual.type}, not {expected.type}")
    if backend == "cpu" and actual.form != expected.form:
        lines.append(f"form {actual.form}, not {expected.form}")
    if not _close(expected.value, actual.value, tolerance):
        lines.append(f"value {actual.value}, not {expected.value}")
    return lines


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
    return result.get()[()] if hasattr(result, "__cuda_array_interface__") else result


def _drop_error() -> None:
    """An error that is still pending must not be found by the next comparison."""
    try:
        awkward_cudakernels.synchronize_cuda()
    except ValueError:
        pass
