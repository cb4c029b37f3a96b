// errors: []
// One thread per list.
#include "common.cuh"

__global__ void adjust(u64* word, u64 base, i64 n, i64* toptr, const i64* starts) {
  if (errorflag_skip(word, base)) return;
  const i64 k = thread_number();
  if (k >= n) return;
  const i64 position = toptr[k];
  if (position >= 0) toptr[k] = position - starts[k];
}
