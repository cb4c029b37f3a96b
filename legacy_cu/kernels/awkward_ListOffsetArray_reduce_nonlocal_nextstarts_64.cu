// errors: []
// One thread per element; the first of each parent writes.
#include "common.cuh"

__global__ void nextstarts_of(u64* word, u64 base, i64 n, i64* nextstarts, const i64* nextparents) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  const i64 parent = nextparents[i];
  if (i == 0 || nextparents[i - 1] != parent) nextstarts[parent] = i;
}
