// errors: []
// One thread per parent, and one more: each writes the offsets of the lists that start with it.
#include "common.cuh"

__global__ void outoffsets_of(u64* word, u64 base, i64 n, i64* outoffsets, const i64* parents,
                              i64 lenparents, i64 outlength) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  const i64 last = i < lenparents ? parents[i] : outlength;
  for (i64 k = i > 0 ? parents[i - 1] + 1 : 0; k <= last; k++) {
    outoffsets[k] = i;
  }
}
