// One thread per index.
extern "C" __global__ void __launch_bounds__(256)
kernel(unsigned long long* word, unsigned long long base, long long n DECLARE0) {
  if (errorflag_skip(word, base)) return;
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= n) return;
  report(word, base, op0(i PASS0));
}

// Instead of it where there are so many indexes that starting a block for 256 of them would take longer than
// small ops do: a thread takes TURNS of them, and the blocks pass over the indexes together. What they load is
// under way together, as the ops' arrays are restricted; errors are looked at after them.
#define TURNS 4

extern "C" __global__ void __launch_bounds__(256)
turns(unsigned long long* word, unsigned long long base, long long n DECLARE0) {
  if (errorflag_skip(word, base)) return;
  const long long step = gridDim.x * 256ll;
  long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i + (TURNS - 1) * step < n) {
    long long packed[TURNS], any = 0;
#pragma unroll
    for (int turn = 0; turn < TURNS; turn++) any |= packed[turn] = op0(i + turn * step PASS0);
    if (any) {
#pragma unroll
      for (int turn = 0; turn < TURNS; turn++) report(word, base, packed[turn]);
    }
    return;
  }
#pragma unroll 1
  for (int turn = 0; turn < TURNS && i < n; turn++, i += step) report(word, base, op0(i PASS0));
}
