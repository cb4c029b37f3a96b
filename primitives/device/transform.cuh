// One thread per index.
extern "C" __global__ void __launch_bounds__(256)
kernel(unsigned long long* word, unsigned long long base, long long n DECLARE0) {
  if (errorflag_skip(word, base)) return;
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= n) return;
  report(word, base, op0(i PASS0));
}

// Instead of it where there are so many indexes that starting a block for 256 of them would take longer than
// small ops do: a thread takes TURNS of them, and the blocks pass over the indexes together.
#define TURNS 4

extern "C" __global__ void __launch_bounds__(256)
turns(unsigned long long* word, unsigned long long base, long long n DECLARE0) {
  if (errorflag_skip(word, base)) return;
  const long long step = gridDim.x * 256ll;
  long long i = blockIdx.x * 256ll + threadIdx.x;
#pragma unroll 1
  for (int turn = 0; turn < TURNS && i < n; turn++, i += step) report(word, base, op0(i PASS0));
}
