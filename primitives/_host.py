"""The host executor: the template's loop around the ops, compiled by numba for the CPU."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
import threading
from builtins import compile as builtin_compile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import errorflag

from . import _cache
from ._op import Op, OpError
from ._run import LOADED
from ._source import Module
from ._template import Slot, Template

KIND = "host"

_lock = threading.Lock()

_HEADER = '''"""Generated: {title}."""
import math

from numba import (
    boolean, complex64, complex128, float32, float64, int8, int16, int32, int64, njit, uint8,
    uint16, uint32, uint64,
)

from primitives._intrinsics_host import (
    ADD, FLOAT64_HIGHEST, FLOAT64_LOWEST, INT64_HIGHEST, INT64_LOWEST, MAX, MIN, NO_ERROR,
    UINT64_HIGHEST, float_bits, host_op, load_int64, local, pointer, popcount, rsqrt, store_int64,
)
from primitives._intrinsics_host import (
    floor_divide as _primitives_floor_divide, like as _primitives_like, modulo as _primitives_modulo,
    no_attempt as _primitives_no_attempt, no_error as _primitives_no_error,
    pack_attempt as _primitives_pack_attempt, widen as _primitives_widen,
)

'''

_LOOP = """

@njit("void({signature})", nogil=True, error_model="numpy", cache={cache})
def run({parameters}):
    word = pointer(word_address, uint64)
    attempt = pointer(attempt_address, int64)
    if word[0] != NO_ERROR:
        return
{body}
"""

TEXTS = frozenset({"ABSOLUTE", "BITS", "COMBINE", "FLAGS", "GROUP", "IDENTITY", "PACKED", "WIDTH"})
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

    def __init__(self, function: Any, errors: tuple[str, ...]) -> None:
        self._function = function
        self.errors = errors

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
    errors = tuple(message for op in ops for message in op.errors)
    folder = _cache.cache_folder()

    def source() -> str:
        return source_of(template, variant, ops, groups, cached=folder is not None)

    with _lock:
        try:
            if folder is None:
                function = _execute(source())
                _cache.built[KIND] += 1
            else:
                name = entry_name(template, variant, ops, groups)
                function = _load(name) or _build(folder / KIND, name, source)
        except Exception as error:
            if type(error).__module__.startswith("numba"):
                raise compile_error(ops, error) from error
            raise
    return HostKernel(function, errors)


def size_in_cache(
    template: Template,
    variant: Mapping[str, Any],
    ops: Sequence[Op],
    groups: Sequence[Sequence[str]],
) -> int | None:
    """Bytes of a loop in the disk cache; None if it is not there."""
    files = _files_of(entry_name(template, variant, ops, groups))
    return sum(file.stat().st_size for file in files) if files else None


def entry_name(
    template: Template,
    variant: Mapping[str, Any],
    ops: Sequence[Op],
    groups: Sequence[Sequence[str]],
) -> str:
    """The name of a loop in the disk cache: a digest of everything that changes the code."""
    elements = [(n, value if n in TEXTS else numba_name(value)) for n, value in variant.items()]
    kinds = [
        [kind if kind in SCALARS else kind[:-1] + numba_name(kind[-1]) for kind in group]
        for group in groups
    ]
    types = repr((template.parameters, template.slots, elements, kinds))
    parts = [part for op in ops for part in (op.fingerprint(), str(len(op.errors)))]
    return _cache.digest(template.name, template.host, types, _dependencies(), *parts)


def compile_error(ops: Sequence[Op], error: Exception) -> OpError:
    """numba's complaint as one that names the op."""
    reasons = [line.strip() for line in str(error).splitlines() if line.strip()]
    lines = [line for line in reasons if not line.startswith(("File", "^", "During", "<source"))]
    names = " or ".join(op.where() for op in ops)
    return OpError(f"{names} cannot be compiled for these argument types: {' '.join(lines[:6])}")


@cache
def _dependencies() -> bytes:
    """What the machine code depends on beside template and ops: versions, this package, the CPU."""
    from llvmlite import binding

    folder = Path(__file__).parent
    sources = [(folder / n).read_bytes() for n in ("_host.py", "_intrinsics_host.py", "_source.py")]
    names = (
        _cache.installed("numba", "llvmlite", "numpy"),
        sys.implementation.cache_tag,
        os.environ.get("NUMBA_CPU_NAME") or binding.get_host_cpu_name(),
        os.environ.get("NUMBA_CPU_FEATURES") or binding.get_host_cpu_features().flatten(),
        os.environ.get("NUMBA_OPT", ""),
    )
    return "\n".join(names).encode() + b"".join(sources)


# In the disk cache, a loop is a module (numba keeps nothing of what has no file) and numba's own
# files beside it. The entry names them all with their digests: numba does not look at what it reads.
# The module is the first of them.


def _files_of(name: str) -> list[Path]:
    """The files of a loop, its module first; empty if it is not in the disk cache."""
    folder = _cache.cache_folder()
    content = _cache.load(KIND, name)
    if folder is None or content is None:
        return []
    entry = json.loads(content)
    files = [folder / KIND / file for file in entry["files"]]
    try:
        for file, sha256 in zip(files, entry["files"].values(), strict=True):
            if _sha256(file) != sha256:
                return []
        if files[0].stat().st_mtime_ns != entry["time"]:  # a copied folder; numba goes by it
            os.utime(files[0], ns=(entry["time"], entry["time"]))
    except OSError:
        return []
    return files


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _load(name: str) -> Any:
    """The loop from the disk cache; None if it is not there."""
    files = _files_of(name)
    if not files:
        return None
    try:
        return _import(files[0], files[0].read_text(encoding="utf-8")).run
    except Exception:  # what was just there is gone, or this numba cannot read it after all
        return None


def _build(folder: Path, name: str, source: Callable[[], str]) -> Any:
    """Compiles the loop into the disk cache, unless another process does so meanwhile."""
    with _cache.building(KIND, name):
        function = _load(name)
        if function is not None:
            return function
        _cache.built[KIND] += 1
        path = folder / f"k{name}.py"
        for stale in _stale_files(folder, path.stem):
            stale.unlink(missing_ok=True)
        text = source()
        if _cache.write_atomically(path, text.encode()):
            try:
                function = _import(path, text).run
                files = [path, *_numba_files(Path(function.stats.cache_path), path.stem)]
                entry = {
                    "time": path.stat().st_mtime_ns,
                    "files": {os.path.relpath(file, folder): _sha256(file) for file in files},
                }
                _cache.store(KIND, name, json.dumps(entry).encode())
                return function
            except OSError:  # the disk is full, or numba may not write
                pass
        return _execute(text.replace("cache=True", "cache=False"))


def _numba_files(folder: Path, stem: str) -> Iterator[Path]:
    return folder.glob(f"{stem}.*.nb[ci]")


def _stale_files(folder: Path, stem: str) -> Iterator[Path]:
    """Numba's files of a module, in the two places where it may keep them."""
    from numba import config

    yield from _numba_files(folder / "__pycache__", stem)
    if config.CACHE_DIR:
        yield from Path(config.CACHE_DIR).glob(f"*/{stem}.*.nb[ci]")


def _execute(source: str) -> Any:
    namespace: dict[str, Any] = {"__name__": "primitives._generated"}
    exec(builtin_compile(source, "<generated op>", "exec"), namespace)
    return namespace["run"]


def _import(path: Path, source: str) -> ModuleType:
    """Runs the source of a module. Not by `importlib`: its own cache is one more file to go wrong."""
    module = ModuleType(f"primitives._generated.{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:
        exec(builtin_compile(source, str(path), "exec"), module.__dict__)
    except BaseException:
        del sys.modules[module.__name__]
        raise
    return module
