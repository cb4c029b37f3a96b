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
// at a time instead of one, so 5 rounds of latency for 33 million elements. The first round is around where
// x would be if a rose evenly, as far as offsets of segments of random lengths are from that: then it is 3.
template <typename OFFSET>
__device__ __forceinline__ int64 warp_upper_bound(const OFFSET* a, int64 n, int64 x) {
  const int lane = threadIdx.x & 31;
  int64 low = 0, high = n;  // the answer is in [low, high]
  if (n > 64) {
    const int64 lowest = (int64)a[0], highest = (int64)a[n - 1];
    if (x < lowest) return 0;
    if (x >= highest) return n;
    const int64 stride = (int64)(sqrtf((float)n) / 16) + 1;
    const int64 guess = (int64)((double)(x - lowest) / (double)(highest - lowest) * (double)n);
    const int64 at = guess + (lane - 15) * stride;
    const unsigned mask = __ballot_sync(FULL, at >= n || (at >= 0 && (int64)a[at] > x));
    const int first = mask ? __ffs(mask) - 1 : 32;
    if (first > 0) low = max(low, guess + (first - 16) * stride + 1);
    if (first < 32) high = min(high, guess + (first - 15) * stride);
  }
  while (high - low > 0) {
    const int64 step = (high - low + 32) / 33;
    const int64 at = low + (lane + 1) * step - 1;
    const bool above = at >= high || (int64)a[at] > x;
    const unsigned mask = __ballot_sync(FULL, above);
    const int first = mask ? __ffs(mask) - 1 : 32;  // probes before it are <= x
    if (first < 32) high = min(high, low + (first + 1) * step - 1);  // the probe that is above; else it may be `high`
    low = min(low + first * step, high);
  }
  return low;
}

// Which segment each of TILE consecutive elements belongs to, kept in shared memory by a block of 256.
//
// One bit marks every element that a segment starts at; the number of bits up to an element is then the
// ordinal of its segment among those that are not empty, and a table leads from ordinals to segments.
template <int TILE>
struct TileSegments {
  static constexpr int WORDS = TILE / 32, LANE_WORDS = WORDS / 32;
  int64 bounds[2];  // the first and the last segment of the tile
  unsigned bits[WORDS];
  int before[WORDS];  // segments that start in the words before
  unsigned short table[TILE];

  // For the elements at positions begin to end - 1, which the offsets must cover.
  template <typename OFFSET>
  __device__ __forceinline__ void build(const OFFSET* offsets, int64 segments, int64 begin, int64 end) {
    const int warp = threadIdx.x >> 5;
    if (warp < 2) {
      // Clamped: offsets that are not sorted give nonsense, but nothing outside the buffers.
      const int64 bound = warp_upper_bound(offsets, segments + 1, warp ? end - 1 : begin);
      if ((threadIdx.x & 31) == 0) bounds[warp] = bound < 1 ? 0 : min(bound, segments) - 1;
    } else {
      for (int w = threadIdx.x - 64; w < WORDS; w += 192) bits[w] = 0;
    }
    __syncthreads();
    const int64 first = bounds[0], count = bounds[1] - first + 1;
    if (count > TILE) return;
    for (int t = threadIdx.x; t < count; t += 256) {
      const int at = start_in_tile(offsets, first + t, begin);
      if (at >= 0) atomicOr(&bits[at >> 5], 1u << (at & 31));
    }
    __syncthreads();
    if (warp == 0) {
      const int first_word = threadIdx.x * LANE_WORDS;
      int own = 0;
#pragma unroll
      for (int w = 0; w < LANE_WORDS; w++) own += __popc(bits[first_word + w]);
      int sum = own;
#pragma unroll
      for (int d = 1; d < 32; d *= 2) {
        const int other = __shfl_up_sync(FULL, sum, d);
        if ((int)threadIdx.x >= d) sum += other;
      }
      sum -= own;
#pragma unroll
      for (int w = 0; w < LANE_WORDS; w++) {
        before[first_word + w] = sum;
        sum += __popc(bits[first_word + w]);
      }
    }
    __syncthreads();
    for (int t = threadIdx.x; t < count; t += 256) {
      const int at = start_in_tile(offsets, first + t, begin);
      if (at >= 0) table[before[at >> 5] + __popc(bits[at >> 5] & ((1u << (at & 31)) - 1))] = t;
    }
    __syncthreads();
  }

  // The segment of the tile's element e.
  template <typename OFFSET>
  __device__ __forceinline__ int64 find(const OFFSET* offsets, int64 begin, int e) const {
    const int64 first = bounds[0];
    if (bounds[1] - first < TILE)
      return first + table[before[e >> 5] + __popc(bits[e >> 5] & (FULL >> (31 - (e & 31)))) - 1];
    int64 low = first, high = bounds[1] + 1;  // too many segments, most of them empty
    while (high - low > 1) {
      const int64 middle = (low + high) / 2;
      if ((int64)offsets[middle] <= begin + e) low = middle; else high = middle;
    }
    return low;
  }

 private:
  // Where a segment starts in the tile (0 if it started before), -1 if it is empty.
  template <typename OFFSET>
  static __device__ __forceinline__ int start_in_tile(const OFFSET* offsets, int64 segment, int64 begin) {
    const int64 start = (int64)offsets[segment], stop = (int64)offsets[segment + 1];
    if (stop <= start) return -1;
    return start <= begin ? 0 : (int)min(start - begin, (int64)TILE - 1);
  }
};

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
