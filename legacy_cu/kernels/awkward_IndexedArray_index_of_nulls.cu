// errors: []
// Flags of Nones inside the lists, whose running count the host side makes; then one thread per list.
#include "common.cuh"

template <typename C>
__global__ void flag_nulls(u64* word, u64 base, i64 n, i64* counts, const C* fromindex,
                           const i64* offsets, i64 outlength) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  counts[i] = offsets[0] <= i && i < offsets[outlength] && (i64)fromindex[i] < 0;
}

__global__ void store(u64* word, u64 base, i64 n, i64* toindex, const i64* counts,
                      const i64* offsets, const i64* starts) {
  if (errorflag_skip(word, base)) return;
  const i64 list = thread_number();
  if (list >= n) return;
  const i64 start = starts[list], stop = offsets[list + 1];
  i64 i = offsets[list];
  i64 before = i > 0 ? counts[i - 1] : 0;
  for (; i < stop; i++) {
    const i64 after = counts[i];
    if (after != before) toindex[before] = i - start;
    before = after;
  }
}
