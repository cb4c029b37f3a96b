// In front of every template: how the value that an op returns becomes a report.
typedef long long int64;
typedef unsigned long long uint64;

#define FULL 0xFFFFFFFFu

// The combinations of a scan, and where they start.
#define ADD(a, b) ((a) + (b))
#define MAX(a, b) ((a) < (b) ? (b) : (a))
#define MIN(a, b) ((b) < (a) ? (b) : (a))
#define INT64_LOWEST (-0x7FFFFFFFFFFFFFFFll - 1)
#define INT64_HIGHEST 0x7FFFFFFFFFFFFFFFll
#define UINT64_HIGHEST 0xFFFFFFFFFFFFFFFFull
#define FLOAT64_LOWEST __longlong_as_double(0xFFF0000000000000ll)
#define FLOAT64_HIGHEST __longlong_as_double(0x7FF0000000000000ll)

__device__ __forceinline__ void report(uint64* word, uint64 base, int64 packed) {
  if (packed) errorflag_report(word, base, packed >> 8, (int)(packed & 0xFF) - 1);
}

// The number of elements of the sorted array a[0..n) that are <= x, found by a whole warp: 32 probes
// at a time instead of one, so 5 rounds of latency for 33 million elements.
template <typename OFFSET>
__device__ __forceinline__ int64 warp_upper_bound(const OFFSET* a, int64 n, int64 x) {
  const int lane = threadIdx.x & 31;
  int64 low = 0, high = n;  // the answer is in [low, high]
  while (high - low > 0) {
    const int64 step = (high - low + 32) / 33;
    const int64 at = low + (lane + 1) * step - 1;
    const bool above = at >= high || (int64)a[at] > x;
    const unsigned mask = __ballot_sync(FULL, above);
    const int first = mask ? __ffs(mask) - 1 : 32;  // probes before it are <= x
    const int64 next_low = low + first * step;
    const int64 next_high = low + (first + 1) * step - 1;
    high = next_high < high ? next_high : high;
    low = next_low < high ? next_low : high;
  }
  return low;
}

// A copy of `value` from another lane, for any small trivially copyable type.
template <typename A>
__device__ __forceinline__ A shuffle_down(const A& value, int delta) {
  A result = value;
  if (sizeof(A) % 4 == 0 && alignof(A) % 4 == 0) {
    const unsigned* from = (const unsigned*)&value;
    unsigned* to = (unsigned*)&result;
#pragma unroll
    for (int k = 0; k < (int)(sizeof(A) / 4); k++) to[k] = __shfl_down_sync(FULL, from[k], delta);
  } else {
    const unsigned char* from = (const unsigned char*)&value;
    unsigned char* to = (unsigned char*)&result;
#pragma unroll
    for (int k = 0; k < (int)sizeof(A); k++)
      to[k] = (unsigned char)__shfl_down_sync(FULL, (unsigned)from[k], delta);
  }
  return result;
}
