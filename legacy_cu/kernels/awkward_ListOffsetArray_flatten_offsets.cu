// errors: []
// One thread per offset.
#include "common.cuh"

template <typename C>
__global__ void flatten(u64* word, u64 base, i64 n, i64* tooffsets, const C* outeroffsets,
                        const i64* inneroffsets) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i < n) tooffsets[i] = inneroffsets[(i64)outeroffsets[i]];
}
