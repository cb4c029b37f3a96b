// errors: []
// One thread per element.
#include "common.cuh"

template <typename C>
__global__ void fill(u64* word, u64 base, i64 n, i64* toindex, i64 toindexoffset,
                     const C* fromindex, i64 shift) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  const i64 j = fromindex[i];
  toindex[toindexoffset + i] = j < 0 ? -1 : j + shift;
}
