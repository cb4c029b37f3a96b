// errors: []
// One thread per list.
#include "common.cuh"

template <typename C>
__global__ void nextparents_of(u64* word, u64 base, i64 n, C* nextparents, const C* offsets,
                               i64 nextparents_length) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  const i64 first = offsets[0];
  i64 stop = (i64)offsets[i + 1] - first;
  if (stop > nextparents_length) stop = nextparents_length;
  for (i64 j = (i64)offsets[i] - first; j < stop; j++) {
    nextparents[j] = (C)i;
  }
}
