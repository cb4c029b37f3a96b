"""The host executor: the template's loop around the ops, compiled by numba for the CPU."""

from __future__ import annotations

import ast
import importlib.util
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import errorflag

from ._cache import cache_folder, digest, write_atomically
from ._op import Op, OpError
from ._run import LOADED
from ._source import Module
from ._template import Slot, Template

_lock = threading.Lock()

_HEADER = '''"""Generated: {title}."""
import math

from numba import (
    boolean, complex64, complex128, float32, float64, int8, int16, int32, int64, njit, uint8,
    uint16, uint32, uint64,
)

from primitives._intrinsics_host import (
    ADD, FLOAT64_HIGHEST, FLOAT64_LOWEST, INT64_HIGHEST, INT64_LOWEST, MAX, MIN, NO_ERROR,
    UINT64_HIGHEST, float_bits, host_op, like, load_int64, local, no_attempt, no_error, pack_attempt,
    pointer, store_int64, widen,
)

'''

_LOOP = '''

@njit("void({signature})", nogil=True, error_model="numpy", cache={cache})
def run({parameters}):
    word = pointer(word_address, uint64)
    attempt = pointer(attempt_address, int64)
    if word[0] != NO_ERROR:
        return
{body}
'''

TEXTS = frozenset({"ABSOLUTE", "COMBINE", "GROUP", "IDENTITY", "PACKED", "WIDTH"})
"""The entries of a variant that are text or numbers; the others are element types."""
SCALARS = {"int": "int64", "float": "float64", "uint": "uint64"}


def numba_name(dtype: Any) -> str:
    """numba's name of an element type; booleans are bytes, 0 or 1."""
    dtype = np.dtype(dtype)
    return "uint8" if dtype == np.bool_ else dtype.name


def loaded_of(op: Op, slot: Slot, kinds: Sequence[str]) -> list[str]:
    """The parameters of an op that are the first element of what is passed."""
    names = op.parameters[len(slot.leading) :]
    return [name for name, kind in zip(names, kinds, strict=True) if kind.startswith(LOADED)]


class HostKernel:
    """A compiled host loop."""

    def __init__(self, function: Any, errors: tuple[str, ...], source: str) -> None:
        self._function = function
        self.errors = errors
        self.source = source

    @staticmethod
    def channel(device: int) -> Any:
        return errorflag.host_channel()

    def launch(self, call: Any, length: int, grid: Any, values: Sequence[Any], device: int) -> None:
        channel = errorflag.host_channel()
        base = channel.open(call, self.errors, length)
        self._function(channel.word_pointer, channel.attempt_pointer, base, *values)


def source_of(
    template: Template,
    variant: Mapping[str, Any],
    ops: Sequence[Op],
    groups: Sequence[Sequence[str]],
    *,
    cached: bool,
) -> str:
    """The source of the module that holds the loop and its ops."""
    module = Module("host_op", keep_attempt=True)
    offset = 0
    for number, (op, slot, types) in enumerate(zip(ops, template.slots, groups, strict=True)):
        module.add(op, f"op{number}", slot.element, offset, loaded_of(op, slot, types))
        offset += len(op.errors)
    functions = ast.unparse(module.tree())

    signature = ["uint64", "uint64", "uint64"]
    parameters = ["word_address", "attempt_address", "base"]
    body: list[str] = []
    replaced = {
        name: str(value) if name in TEXTS else numba_name(value) for name, value in variant.items()
    }
    for name, kind in template.parameters:
        if kind.endswith("*"):
            signature.append("uint64")
            parameters.append(f"{name}_address")
            element = replaced.get(kind[:-1]) or kind[:-1]
            body.append(f"{name} = pointer({name}_address, {element})")
        else:
            signature.append(kind)
            parameters.append(name)
    text = template.host
    for number, types in enumerate(groups):
        names = []
        for position, kind in enumerate(types):
            name = f"a{number}_{position}"
            names.append(name)
            if kind == "uint":
                signature.append("int64")
                parameters.append(f"{name}_bits")
                body.append(f"{name} = uint64({name}_bits)")
            elif kind in SCALARS:
                signature.append(SCALARS[kind])
                parameters.append(name)
            else:
                signature.append("uint64")
                parameters.append(f"{name}_address")
                body.append(f"{name} = pointer({name}_address, {numba_name(kind.lstrip(LOADED))})")
        text = text.replace(f"ARGS{number}", "".join(f", {name}" for name in [*names, "attempt"]))
    for name, value in replaced.items():
        text = text.replace(f"{{{name}}}", value)
    lines = [*body, *text.strip("\n").split("\n")]
    return (
        _HEADER.format(title=f"{template.name} of {', '.join(op.name for op in ops)}")
        + functions
        + _LOOP.format(
            signature=", ".join(signature),
            parameters=", ".join(parameters),
            cache=cached,
            body="\n".join("    " + line for line in lines),
        )
    )


def compile(
    template: Template,
    variant: Mapping[str, Any],
    ops: tuple[Op, ...],
    groups: tuple[tuple[str, ...], ...],
) -> HostKernel:
    """Compiles a loop, or loads it from the disk cache.

    Raises:
        OpError: if numba cannot compile an op; it names the op and the line.
    """
    errors = ops[0].errors if len(ops) == 1 else tuple(m for op in ops for m in op.errors)
    folder = cache_folder()
    source = source_of(template, variant, ops, groups, cached=folder is not None)
    with _lock:
        try:
            if folder is None:
                function = _execute(source)
            else:
                function = _load(folder, source)
        except Exception as error:
            if type(error).__module__.startswith("numba"):
                raise compile_error(ops, error) from error
            raise
    return HostKernel(function, errors, source)


def compile_error(ops: Sequence[Op], error: Exception) -> OpError:
    """numba's complaint as one that names the op."""
    reasons = [line.strip() for line in str(error).splitlines() if line.strip()]
    lines = [line for line in reasons if not line.startswith(("File", "^", "During", "<source"))]
    names = " or ".join(op.where() for op in ops)
    return OpError(f"{names} cannot be compiled for these argument types: {' '.join(lines[:6])}")


def _execute(source: str) -> Any:
    namespace: dict[str, Any] = {"__name__": "primitives._generated"}
    exec(builtin_compile(source, "<generated op>", "exec"), namespace)
    return namespace["run"]


builtin_compile = __builtins__["compile"] if isinstance(__builtins__, dict) else __builtins__.compile


@cache
def _dependencies() -> bytes:
    """What the machine code of a generated module depends on beside its source."""
    intrinsics = (Path(__file__).parent / "_intrinsics_host.py").read_bytes()
    return f"{version('numba')} {version('llvmlite')} {version('numpy')}".encode() + intrinsics


def _load(folder: Path, source: str) -> Any:
    """Imports the module from the cache folder; numba keeps its machine code beside it."""
    name = "k" + digest(source, _dependencies())
    path = folder / "host" / f"{name}.py"
    data = source.encode()
    try:
        current = path.read_bytes()
    except OSError:
        current = b""
    if current != data and not write_atomically(path, data):
        return _execute(source.replace("cache=True", "cache=False"))
    try:
        return _import(name, path).run
    except Exception as error:
        if type(error).__module__.startswith("numba"):
            raise
        # numba's own cache files beside the module cannot be read: build them again.
        for stale in path.parent.glob(f"__pycache__/{name}.*"):
            stale.unlink(missing_ok=True)
        return _import(name, path).run


def _import(name: str, path: Path) -> ModuleType:
    full = f"primitives._generated.{name}"
    spec = importlib.util.spec_from_file_location(full, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[full] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[full]
        raise
    return module
