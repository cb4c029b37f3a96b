// errors: ["index out of range"]
// One thread per index.
#include "common.cuh"

__global__ void regularize(u64* word, u64 base, i64 n, i64* toarray, const i64* fromarray, i64 size) {
  if (errorflag_skip(word, base)) return;
  const i64 j = thread_number();
  if (j >= n) return;
  const i64 at = fromarray[j];
  const i64 regular = at < 0 ? at + size : at;
  const bool inside = 0 <= regular && regular < size;
  if (!inside) errorflag_report(word, base, j, 0);
  toarray[j] = inside ? regular : 0;
}
