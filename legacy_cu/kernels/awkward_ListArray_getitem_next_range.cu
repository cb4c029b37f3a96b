// errors: []
// Lengths of the sliced lists, whose running sum the host side makes; then one thread per
// offset, thus per list and one more.
#include "common.cuh"

// A missing start or stop.
#define SLICE_NONE 0x7FFFFFFFFFFFFFFFll

struct Range {
  i64 first, last;  // the last is excluded
};

__device__ __forceinline__ i64 clamp(i64 x, i64 low, i64 high) {
  return x < low ? low : x > high ? high : x;
}

// What a slice takes of a list, as Python has it.
__device__ __forceinline__ Range range_of(i64 length, i64 start, i64 stop, i64 step) {
  const i64 low = step > 0 ? 0 : -1, high = low + length;
  if (start == SLICE_NONE) start = step > 0 ? low : high;
  else start = clamp(start < 0 ? start + length : start, low, high);
  if (stop == SLICE_NONE) stop = step > 0 ? high : low;
  else stop = clamp(stop < 0 ? stop + length : stop, low, high);
  return {start, stop};
}

template <typename C>
__global__ void count(u64* word, u64 base, i64 n, i64* counts, const C* fromstarts,
                      const C* fromstops, i64 start, i64 stop, i64 step) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  const Range range = range_of((i64)fromstops[i] - (i64)fromstarts[i], start, stop, step);
  const i64 distance = step > 0 ? range.last - range.first : range.first - range.last;
  const i64 stride = step > 0 ? step : -step;
  counts[i] = distance > 0 ? (distance - 1) / stride + 1 : 0;
}

template <typename C>
__global__ void store(u64* word, u64 base, i64 n, C* tooffsets, i64* tocarry, const i64* counts,
                      const C* fromstarts, const C* fromstops, i64 start, i64 stop, i64 step) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  i64 k = i > 0 ? counts[i - 1] : 0;
  tooffsets[i] = (C)k;
  if (i == n - 1) return;
  const i64 first = fromstarts[i], last = counts[i];
  i64 j = first + range_of((i64)fromstops[i] - first, start, stop, step).first;
  for (; k < last; k++, j += step) {
    tocarry[k] = j;
  }
}
