// errors: []
// One thread per list.
#include "common.cuh"

__global__ void rearrange(u64* word, u64 base, i64 n, i64* toptr, const i64* fromshifts, i64 length,
                          const i64* fromoffsets, const i64* fromparents, const i64* fromstarts) {
  if (errorflag_skip(word, base)) return;
  const i64 list = thread_number();
  if (list >= n) return;
  const i64 first = fromoffsets[0], offset = fromoffsets[list];
  const i64 stop = fromoffsets[list + 1] - first;
  for (i64 k = offset - first; k < stop; k++) {
    i64 position = toptr[k] + offset;
    if (k < length) position += fromshifts[position] - fromstarts[fromparents[k]];
    toptr[k] = position;
  }
}
