// errors: ["jagged slice's stops[i] < starts[i]", "jagged slice's offsets extend beyond its content", "stops[i] < starts[i]", "stops[i] > len(content)", "index out of range"]
// Lengths of the slices, whose running sum the host side makes; then one thread per offset, thus per
// list and one more. That launch makes all checks, so that errors of lists and of elements meet in
// order.
#include "common.cuh"

enum { SLICE_ORDER, SLICE_BEYOND, ORDER, BEYOND, RANGE };

__global__ void count(u64* word, u64 base, i64 n, i64* counts, const i64* slicestarts,
                      const i64* slicestops, i64 sliceinnerlen) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  const i64 start = slicestarts[i], stop = slicestops[i];
  counts[i] = start < stop && stop <= sliceinnerlen ? stop - start : 0;
}

template <typename C>
__global__ void apply(u64* word, u64 base, i64 n, i64* tooffsets, i64* tocarry, i64 capacity,
                      const i64* counts, const i64* slicestarts, const i64* slicestops,
                      const i64* sliceindex, i64 sliceinnerlen, const C* fromstarts,
                      const C* fromstops, i64 contentlen) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  i64 k = i > 0 ? counts[i - 1] : 0;
  tooffsets[i] = k;
  if (i == n - 1) return;
  const i64 slicestart = slicestarts[i], slicestop = slicestops[i];
  if (slicestart == slicestop) return;
  if (slicestop < slicestart) return errorflag_report(word, base, i, SLICE_ORDER);
  if (slicestop > sliceinnerlen) return errorflag_report(word, base, i, SLICE_BEYOND);
  const i64 start = fromstarts[i], length = (i64)fromstops[i] - start;
  const bool beyond = length != 0 && (i64)fromstops[i] > contentlen;
  const int error = length < 0 ? ORDER : beyond ? BEYOND : RANGE;
  for (i64 j = slicestart; j < slicestop; j++, k++) {
    const i64 at = sliceindex[j];
    const i64 regular = at < 0 ? at + length : at;
    const bool good = 0 <= regular && regular < length && !beyond;
    if (!good) errorflag_report(word, base, i, error);
    if (k < capacity) tocarry[k] = good ? start + regular : 0;
  }
}
