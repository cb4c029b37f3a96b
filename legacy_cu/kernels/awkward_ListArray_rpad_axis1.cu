// errors: []
// Lengths of the padded lists, whose running sum the host side makes; then one thread per list.
#include "common.cuh"

template <typename C>
__global__ void count(u64* word, u64 base, i64 n, i64* counts, const C* fromstarts,
                      const C* fromstops, i64 target) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  const i64 length = (i64)fromstops[i] - (i64)fromstarts[i];
  counts[i] = length > target ? length : target;
}

template <typename C>
__global__ void store(u64* word, u64 base, i64 n, i64* toindex, C* tostarts, C* tostops,
                      const i64* counts, const C* fromstarts, const C* fromstops) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  const i64 first = i > 0 ? counts[i - 1] : 0, last = counts[i];
  const i64 start = fromstarts[i], length = (i64)fromstops[i] - start;
  for (i64 k = first; k < last; k++) {
    toindex[k] = k - first < length ? start + (k - first) : -1;
  }
  tostarts[i] = (C)first;
  tostops[i] = (C)last;
}
