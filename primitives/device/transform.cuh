// A thread takes one index, or TURNS of them where there are so many that starting blocks would take longer
// than their work; blocks of the grid then pass over the indexes together.
#define TURNS 4

extern "C" __global__ void __launch_bounds__(256)
kernel(unsigned long long* word, unsigned long long base, long long n DECLARE0) {
  if (errorflag_skip(word, base)) return;
  const long long step = gridDim.x * 256ll;
  long long i = blockIdx.x * 256ll + threadIdx.x;
#pragma unroll 1
  for (int turn = 0; turn < TURNS && i < n; turn++, i += step) report(word, base, op0(i PASS0));
}
