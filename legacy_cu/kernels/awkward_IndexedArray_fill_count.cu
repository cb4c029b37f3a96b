// errors: []
// One thread per element.
#include "common.cuh"

__global__ void fill_count(u64* word, u64 base, i64 n, i64* toindex, i64 toindexoffset, i64 shift) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i < n) toindex[toindexoffset + i] = i + shift;
}
