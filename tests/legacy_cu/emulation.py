"""The `.cu` files on the CPU: a C++ compiler takes them, and a loop stands in for the threads of a grid.

The kernels use no shared memory and no barriers, so that threads may run one after another; they are
run in ascending and in descending order, which must not make a difference.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

import errorflag
from legacy_cu import Family
from legacy_cu._source import _C_NAMES, FOLDER

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
BLOCK = 256

_CUDA = """
#include <cstddef>
#define __global__ static
#define __device__ static
#define __forceinline__ inline
struct { unsigned x; } blockIdx, blockDim, threadIdx;
static unsigned long long atomicMin(unsigned long long* at, unsigned long long value) {
  const unsigned long long old = *at;
  if (value < old) *at = value;
  return old;
}
"""

_KERNEL = re.compile(r"__global__ void (\w+)\(([^)]*)\)")


class Launcher:
    """What a family launches its kernels with, in place of the package's own."""

    def __init__(self, family: Family, types: dict[str, str], folder: Path, descending: bool) -> None:
        self.errors = family.source.errors
        self.library = _library(family, types, folder)
        self.descending = descending
        self.told = np.zeros(1, np.uint64)
        self.word = np.array([errorflag.NO_ERROR, self.told.ctypes.data], np.uint64)
        self.launches = 0

    def __call__(self, name: str, n: int, *args: Any) -> None:
        if n <= 0:
            return
        self.launches += 1
        base = self.launches << 48
        values = [ctypes.c_int64(x) for x in (self.word.ctypes.data, base, n, *map(_value, args))]
        blocks = (n + BLOCK - 1) // BLOCK
        self.library[f"run_{name}"](ctypes.c_int64(blocks), ctypes.c_int(self.descending), *values)

    def scratch(self, n: int) -> np.ndarray:
        return np.full(n, -(10**15), np.int64)

    def running_sum(self, values: np.ndarray) -> np.ndarray:
        return np.cumsum(values, dtype=np.int64)

    def error(self) -> tuple[str, int, None] | None:
        """The message and the element that were reported."""
        word = int(self.word[0])
        assert bool(self.told[0]) == (word != errorflag.NO_ERROR)
        if word == errorflag.NO_ERROR:
            return None
        return self.errors[word & 0xFF], (word >> 8) & 0xFF_FFFF_FFFF, None


def _value(arg: Any) -> int:
    if isinstance(arg, np.ndarray):
        return arg.ctypes.data
    if isinstance(arg, ctypes._Pointer):
        return ctypes.cast(arg, ctypes.c_void_p).value or 0
    return 0 if arg is None else int(arg)


def _library(family: Family, types: dict[str, str], folder: Path) -> ctypes.CDLL:
    source = family.source
    text = [_CUDA, source.text]
    text += [f"typedef {_C_NAMES[character]} {name};" for name, character in types.items()]
    expressions = source.expressions(types)
    for name, parameters in _KERNEL.findall(source.text):
        arguments = ", ".join(re.search(r"(\w+)$", part)[1] for part in parameters.split(","))
        text.append(f"""
extern "C" void run_{name}(i64 blocks, int descending, {parameters}) {{
  blockDim.x = {BLOCK};
  for (i64 t = 0; t < blocks * {BLOCK}; t++) {{
    const i64 number = descending ? blocks * {BLOCK} - 1 - t : t;
    blockIdx.x = (unsigned)(number / {BLOCK});
    threadIdx.x = (unsigned)(number % {BLOCK});
    {expressions[name]}({arguments});
  }}
}}""")
    code = "\n".join(text)
    stem = folder / hashlib.sha256(code.encode()).hexdigest()[:20]
    built = stem.with_suffix(".so")
    if not built.exists():
        stem.with_suffix(".cpp").write_text(code)
        includes = [f"-I{FOLDER}", f"-I{errorflag.header_path()}"]
        command = [COMPILER, "-std=c++17", "-O1", "-shared", "-fPIC", "-Wno-pragma-once-outside-header"]
        subprocess.run(
            [*command, *includes, str(stem.with_suffix(".cpp")), "-o", str(built)],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
    return ctypes.CDLL(str(built))
