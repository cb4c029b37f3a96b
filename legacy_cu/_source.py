"""The `.cu` files: what each declares, and NVRTC. Needs no GPU and no driver."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path

import errorflag

FOLDER = Path(__file__).parent

# By NumPy's dtype characters: "l" and "q", "L" and "Q" are the same types under two names.
_C_NAMES = {
    "b": "signed char", "h": "short", "i": "int", "l": "long long", "q": "long long",
    "B": "unsigned char", "H": "unsigned short", "I": "unsigned int",
    "L": "unsigned long long", "Q": "unsigned long long",
}  # fmt: skip

_ERRORS = re.compile(r"\A// errors: (\[.*\])$", re.MULTILINE)
_KERNEL = re.compile(r"(?:template <([^>]*)>\s*)?__global__ void (\w+)\(")


class Source:
    """One `.cu` file.

    Attributes:
        name: the family, which is also the name of the file.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.path = FOLDER / "kernels" / f"{name}.cu"

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def errors(self) -> tuple[str, ...]:
        """The messages of the error codes 0, 1, ..., which the file's first line declares."""
        found = _ERRORS.search(self.text)
        if found is None:
            raise ValueError(f"{self.path} must begin with a line '// errors: [...]'")
        return tuple(json.loads(found[1]))

    @cached_property
    def kernels(self) -> dict[str, tuple[str, ...]]:
        """The kernels of the file, with the names of their template parameters."""
        return {
            name: tuple(part.split()[-1] for part in parameters.split(",") if part)
            for parameters, name in _KERNEL.findall(self.text)
        }

    def expressions(self, types: Mapping[str, str]) -> dict[str, str]:
        """For every kernel, the C++ expression that names it.

        Args:
            types: dtype characters by template parameter.
        """
        result = {}
        for name, parameters in self.kernels.items():
            arguments = ", ".join(_C_NAMES[types[parameter]] for parameter in parameters)
            result[name] = f"{name}<{arguments}>" if parameters else name
        return result

    def digest(self, types: Mapping[str, str], arch: str) -> str:
        """The name of a compiled file in a cache: a digest of all that it depends on."""
        result = hashlib.sha256()
        for part in (self.text, _headers(), repr(self.expressions(types)), arch, _versions()):
            result.update(hashlib.sha256(part.encode()).digest())
        return result.hexdigest()[:40]

    def compile(self, types: Mapping[str, str], arch: str) -> bytes:
        """The kernels' names in the code, as a line of JSON, and then the code, a cubin.

        Args:
            types: dtype characters by template parameter.
            arch: such as ``"sm_90"``.
        """
        from cuda.core import Program, ProgramOptions

        folders = [str(FOLDER), str(errorflag.header_path())]
        options = ProgramOptions(arch=arch, std="c++17", include_path=folders)
        expressions = self.expressions(types)
        program = Program(self.text, "c++", options)
        compiled = program.compile("cubin", name_expressions=tuple(expressions.values()))
        mangled = {
            name: _text(compiled.symbol_mapping[expression]) for name, expression in expressions.items()
        }
        return json.dumps(mangled).encode() + b"\n" + bytes(compiled.code)


def unpack(compiled: bytes) -> tuple[dict[str, str], bytes]:
    """The two parts of what `Source.compile` returns."""
    names, _, cubin = compiled.partition(b"\n")
    return json.loads(names), cubin


def _text(symbol: str | bytes) -> str:
    return symbol.decode() if isinstance(symbol, bytes) else symbol


@cache
def _headers() -> str:
    return errorflag.header() + (FOLDER / "common.cuh").read_text(encoding="utf-8")


@cache
def _versions() -> str:
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for name in ("cuda-core", "cuda-bindings"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} missing")
    return ", ".join(found)
