// One thread per index.
extern "C" __global__ void __launch_bounds__(256)
kernel(unsigned long long* word, unsigned long long base, long long n DECLARE0) {
  if (errorflag_skip(word, base)) return;
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= n) return;
  report(word, base, op0(i PASS0));
}
