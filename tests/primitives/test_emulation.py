"""Blocks of the device's `segmented_transform` on the CPU: a thread for each of theirs, with barriers between them."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import primitives

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
DEVICE = Path(primitives.__file__).parent / "device"

CUDA = r"""
#include <algorithm>
#include <barrier>
#include <cmath>
#include <deque>
#include <thread>
#include <vector>
using std::max; using std::min;
#define __device__
#define __global__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)
static thread_local struct { int x; } threadIdx;
static struct { int x; } blockIdx, gridDim;

// A warp: what its lanes give to one another.
struct Warp { std::barrier<> meet{32}; long long given[32]; };
static std::deque<Warp> warps(8);
static std::barrier<> block(256);
static void __syncthreads() { block.arrive_and_wait(); }
static Warp& own() { return warps[threadIdx.x / 32]; }
static void __syncwarp() { own().meet.arrive_and_wait(); }
template <typename F> static long long exchange(long long value, F look) {
  Warp& warp = own();
  warp.given[threadIdx.x % 32] = value;
  warp.meet.arrive_and_wait();
  const long long found = look(warp.given, threadIdx.x % 32);
  warp.meet.arrive_and_wait();
  return found;
}
static unsigned __ballot_sync(unsigned, bool set) {
  return (unsigned)exchange(set, [](const long long* given, int) {
    long long mask = 0;
    for (int lane = 0; lane < 32; lane++) mask |= given[lane] << lane;
    return mask;
  });
}
static int __shfl_up_sync(unsigned, int value, int d) {
  return (int)exchange(value, [d](const long long* given, int lane) { return given[lane < d ? lane : lane - d]; });
}
template <typename A> static A __shfl_down_sync(unsigned, A value, int) { return value; }  // is not called
static int __ffs(unsigned mask) { return __builtin_ffs(mask); }
static int __clz(unsigned mask) { return mask ? __builtin_clz(mask) : 32; }
static void atomicOr(unsigned* at, unsigned bits) { __atomic_fetch_or(at, bits, __ATOMIC_SEQ_CST); }
static bool errorflag_skip(const unsigned long long*, unsigned long long) { return false; }
static void errorflag_report(unsigned long long*, unsigned long long, long long, int) {}
"""

KERNEL = r"""
#define OFFSET long long
#define DECLARE0 , long long* segments_of, long long* locals_of
#define PASS0 , segments_of, locals_of
static long long op0(long long segment, long long position, long long local DECLARE0) {
  segments_of[position] = segment;
  locals_of[position] = local;
  return 0;
}
"""

RUN = r"""
extern "C" void run(int blocks, long long segments, const long long* offsets, long long capacity DECLARE0) {
  gridDim.x = blocks;
  for (int b = 0; b < blocks; b++) {
    blockIdx.x = b;
    std::vector<std::thread> threads;
    for (int t = 0; t < 256; t++)
      threads.emplace_back([=] { threadIdx.x = t; kernel(nullptr, 0, segments, offsets, capacity PASS0); });
    for (auto& thread : threads) thread.join();
  }
}
"""

TILE, MOST = 1024, 300
"""Elements of a tile and segments of a table in this test: small, so that few elements are many of them."""


def template(name: str, *, replace: str, by: str) -> str:
    text = (DEVICE / name).read_text()
    assert text.count(replace) == 1
    return text.replace(replace, by)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory):
    """The template with small tiles and tables."""
    if COMPILER is None:
        pytest.skip("needs a C++ compiler")
    folder = tmp_path_factory.mktemp("emulation")
    parts = [
        CUDA,
        template("prelude.cuh", replace="MOST = 1 << 16", by=f"MOST = {MOST}"),
        KERNEL,
        template("segmented_transform.cuh", replace="TILE 4096", by=f"TILE {TILE}"),
        RUN,
    ]
    (folder / "kernel.cpp").write_text("\n".join(parts))
    command = [COMPILER, "-std=c++20", "-O1", "-w", "-shared", "-fPIC", "-pthread", "kernel.cpp", "-o", "kernel.so"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if "file not found" in built.stderr or "No such file" in built.stderr:
        pytest.skip("needs a C++20 compiler")
    assert not built.returncode, built.stderr
    return ctypes.CDLL(str(folder / "kernel.so")).run


def check(kernel, lengths, first: int = 0, blocks: int = 1) -> None:
    """Every element is in its segment, at its place."""
    offsets = first + np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    n = int(offsets[-1])
    segments, locals_ = np.full(n, -7), np.full(n, -7)
    arrays = [ctypes.c_void_p(array.ctypes.data) for array in (offsets, segments, locals_)]
    kernel(blocks, ctypes.c_int64(len(lengths)), arrays[0], ctypes.c_int64(n), *arrays[1:])
    expected = np.repeat(np.arange(len(lengths)), lengths)
    assert (segments[:first] == -7).all() and (locals_[:first] == -7).all()
    assert np.array_equal(segments[first:], expected)
    assert np.array_equal(locals_[first:], np.arange(first, n) - offsets[expected])


@pytest.mark.parametrize("empty", [MOST - 2, MOST - 1, MOST, MOST + 1, 3 * MOST])
@pytest.mark.parametrize("before", [1, TILE - 1, TILE, TILE + 1])
def test_more_empty_segments_than_a_table_has(kernel, before, empty):
    """Behind the end of a tile, too: then the segment that the next one counts from has no element of it."""
    check(kernel, [before, *[0] * empty, 500, *[0] * empty, 1, TILE])


@pytest.mark.parametrize("seed", range(12))
def test_segments_of_all_kinds(kernel, seed):
    rng = np.random.default_rng(seed)
    lengths: list[int] = []
    for _ in range(rng.integers(1, 8)):
        kind = rng.integers(5)
        if kind == 0:
            lengths += [0] * int(rng.integers(4 * MOST))
        elif kind == 1:
            lengths += rng.poisson(2, 500).tolist()
        elif kind == 2:
            lengths.append(int(rng.integers(3 * TILE)))
        elif kind == 3:  # up to the end of a tile
            lengths.append(-sum(lengths) % TILE)
        else:
            lengths += (rng.integers(0, 5, 900) * (rng.random(900) < 0.01)).tolist()
    check(kernel, lengths, first=int(rng.integers(3)), blocks=int(rng.integers(1, 4)))
