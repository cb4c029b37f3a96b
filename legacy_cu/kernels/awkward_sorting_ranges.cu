// errors: []
// Flags of where parents change, whose running count the host side makes; then one thread per parent.
#include "common.cuh"

__global__ void flag_changes(u64* word, u64 base, i64 n, i64* counts, const i64* parents) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i < n) counts[i] = i > 0 && parents[i] != parents[i - 1];
}

__global__ void store(u64* word, u64 base, i64 n, i64* toindex, i64 tolength, const i64* counts,
                      i64 parentslength) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  if (i == 0) {
    toindex[0] = 0;
    toindex[tolength - 1] = parentslength;
  } else if (counts[i] != counts[i - 1]) {
    toindex[counts[i]] = i;
  }
}
