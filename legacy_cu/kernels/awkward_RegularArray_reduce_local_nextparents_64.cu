// errors: []
// One thread per element.
#include "common.cuh"

__global__ void nextparents_of(u64* word, u64 base, i64 n, i64* nextparents, i64 size) {
  if (errorflag_skip(word, base)) return;
  const i64 k = thread_number();
  if (k < n) nextparents[k] = k / size;
}
