// errors: []
// One thread per list; the host side makes the running sum of the lengths.
#include "common.cuh"

template <typename TAGS, typename INDEX>
__global__ void fill(u64* word, u64 base, i64 n, TAGS* totags, INDEX* toindex, i64* tmpstarts,
                     const i64* sums, i64 tag) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  const i64 first = i > 0 ? sums[i - 1] : 0, last = sums[i];
  const i64 start = tmpstarts[i];
  for (i64 k = first; k < last; k++) {
    totags[start + (k - first)] = (TAGS)tag;
    toindex[start + (k - first)] = (INDEX)k;
  }
  tmpstarts[i] = start + (last - first);
}
