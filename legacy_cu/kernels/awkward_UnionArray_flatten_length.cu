// errors: []
// Lengths of the lists, whose running sum the host side makes; then one thread takes the last.
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

__global__ void take_last(u64* word, u64 base, i64 n, i64* total_length, const i64* counts,
                          i64 length) {
  if (errorflag_skip(word, base)) return;
  if (thread_number() < n) *total_length = length > 0 ? counts[length - 1] : 0;
}
