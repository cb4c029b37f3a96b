// errors: []
// One thread per list.
#include "common.cuh"

template <typename C>
__global__ void spread(u64* word, u64 base, i64 n, i64* toadvanced, const i64* fromadvanced,
                       const C* fromoffsets) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  const i64 value = fromadvanced[i], stop = fromoffsets[i + 1];
  for (i64 j = fromoffsets[i]; j < stop; j++) {
    toadvanced[j] = value;
  }
}
