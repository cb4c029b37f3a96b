"""Errors from a CUDA kernel of your own, through errorflag's header. Needs a GPU.

A `cupy.RawKernel` takes part with two parameters, a word and a number, and two calls: it does
nothing if an earlier launch has failed, and it reports what goes wrong, where. The host looks at the
word when it waits anyway. `errorflag` alone is needed for this, not `primitives`.

    python examples/raw_kernel.py [--device] [--size ELEMENTS]
"""

import sys

import numpy as np
from common import milliseconds, no_gpu, options

import errorflag

SOURCE = r"""
#include "errorflag.cuh"

extern "C" __global__ void logarithm(unsigned long long* word, unsigned long long base,
                                     const double* x, double* out, long long n) {
  if (errorflag_skip(word, base)) return;
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (x[i] <= 0) errorflag_report(word, base, i, x[i] < 0 ? 0 : 1);
  else out[i] = log(x[i]);
}
"""
ERRORS = ("logarithm of a negative number", "logarithm of zero")  # what codes 0 and 1 stand for
CALL = errorflag.Call("logarithm")  # the name that an error gives


def main():
    why_not = no_gpu()
    if why_not:
        print(f"This example needs a GPU to run on: {why_not}.")
        return
    if "--device" not in sys.argv:
        sys.argv.append("--device")  # there is no other way for this one
    cupy, n = options(__doc__, size=5_000_000)
    kernel = cupy.RawKernel(SOURCE, "logarithm", options=(f"-I{errorflag.header_path()}",))
    stream = cupy.cuda.get_current_stream()
    channel = errorflag.channel(cupy.cuda.runtime.getDevice(), stream.ptr)
    grid, block = ((n + 255) // 256,), (256,)

    def logarithm(x, out):
        base = channel.open(CALL, ERRORS, n)
        kernel(grid, block, (np.uint64(channel.word_pointer), np.int64(base), x, out, np.int64(n)))

    def checked_logarithm(x, out):
        """The plain way to check: the host waits, in every call."""
        if bool((x <= 0).any()):
            raise ValueError("logarithm of a number that is not positive")
        cupy.log(x, out=out)

    x = cupy.linspace(1, 2, n)
    out, again, expected = cupy.zeros(n), cupy.zeros(n), cupy.empty(n)
    logarithm(x, out)
    errorflag.synchronize()
    checked_logarithm(x, expected)
    assert cupy.allclose(out, expected)
    print(f"{n:,} logarithms, equal to those of the plain way")

    x[[n - 1, n // 2]] = cupy.asarray([-1.0, 0.0])
    logarithm(x, out)
    logarithm(out, again)  # does nothing: what it would read is not complete
    try:
        errorflag.synchronize()
    except errorflag.DeviceValueError as error:
        print(f"raised by synchronize(): {error}")
        print(f"    {error.__notes__[0]}")
    assert not again.any()
    x.fill(2)

    ours = milliseconds(cupy, lambda: logarithm(x, out))
    plain = milliseconds(cupy, lambda: checked_logarithm(x, out))
    print(f"{'raw kernel with errorflag':27} {ours:9.3f} ms")
    print(f"{'plain CuPy, checked':27} {plain:9.3f} ms")


if __name__ == "__main__":
    main()
