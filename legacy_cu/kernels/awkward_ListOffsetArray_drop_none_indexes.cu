// errors: ["offsets[i] > len(content)"]
// Flags of Nones, whose running count the host side makes; then one thread per offset.
#include "common.cuh"

template <typename C>
__global__ void flag_nones(u64* word, u64 base, i64 n, i64* counts, const C* noneindexes) {
  if (errorflag_skip(word, base)) return;
  const i64 j = thread_number();
  if (j < n) counts[j] = noneindexes[j] < 0;
}

template <typename C>
__global__ void store(u64* word, u64 base, i64 n, C* tooffsets, const i64* counts,
                      const C* fromoffsets, i64 length_indexes) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  const i64 offset = fromoffsets[i];
  if (offset > length_indexes) {
    tooffsets[i] = 0;
    if (i == n - 1) errorflag_report(word, base, i, 0);
  } else {
    tooffsets[i] = (C)(offset - (offset > 0 ? counts[offset - 1] : 0));
  }
}
