// errors: []
// Flags of where parents change, whose running count the host side makes; then one thread takes the
// last.
#include "common.cuh"

__global__ void flag_changes(u64* word, u64 base, i64 n, i64* counts, const i64* parents) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i < n) counts[i] = i > 0 && parents[i] != parents[i - 1];
}

__global__ void take_last(u64* word, u64 base, i64 n, i64* tolength, const i64* counts,
                          i64 parentslength) {
  if (errorflag_skip(word, base)) return;
  if (thread_number() < n) *tolength = (parentslength > 0 ? counts[parentslength - 1] : 0) + 2;
}
