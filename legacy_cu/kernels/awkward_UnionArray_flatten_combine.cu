// errors: []
// Lengths of the lists, whose running sum the host side makes; then one thread per offset, thus per
// list and one more.
#include "common.cuh"

template <typename TAGS, typename INDEX>
__global__ void count(u64* word, u64 base, i64 n, i64* counts, const TAGS* fromtags,
                      const INDEX* fromindex, const i64* const* offsetsraws) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  const i64* offsets = offsetsraws[(i64)fromtags[i]] + (i64)fromindex[i];
  counts[i] = offsets[1] - offsets[0];
}

template <typename TAGS, typename INDEX>
__global__ void store(u64* word, u64 base, i64 n, TAGS* totags, i64* toindex, i64* tooffsets,
                      const i64* counts, const TAGS* fromtags, const INDEX* fromindex,
                      const i64* const* offsetsraws) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  i64 k = i > 0 ? counts[i - 1] : 0;
  tooffsets[i] = k;
  if (i == n - 1) return;
  const TAGS tag = fromtags[i];
  const i64 last = counts[i];
  i64 j = offsetsraws[(i64)tag][(i64)fromindex[i]];
  for (; k < last; k++, j++) {
    totags[k] = tag;
    toindex[k] = j;
  }
}
