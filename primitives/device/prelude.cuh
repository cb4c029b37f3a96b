// In front of every template: how the value that an op returns becomes a report.
typedef long long int64;
typedef unsigned long long uint64;

#define FULL 0xFFFFFFFFu

// The combinations of scans and reductions, and where they start. NaN is the largest and the smallest: in what order
// values are combined must not matter.
#define ADD(a, b) ((a) + (b))
#define MAX(a, b) ((a) < (b) || (b) != (b) ? (b) : (a))
#define MIN(a, b) ((b) < (a) || (b) != (b) ? (b) : (a))
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

// Which segment each of up to TILE consecutive elements belongs to, kept in shared memory by a block of 256, for
// one stretch of elements after the other.
//
// One bit marks every element that a segment starts at, and a table has that segment's number, counted from
// the first one of the stretch. An element's segment is that of the last mark up to it.
template <int TILE>
struct TileSegments {
  static constexpr int WORDS = TILE / 32, LANE_WORDS = WORDS / 32, MOST = 1 << 16;
  struct Word { unsigned bits; int latest; };  // the marks of 32 elements, and the last one before them
  int64 next;    // the segment that the next stretch counts from
  int64 first;   // the one that this one does
  int64 head;    // how many elements of the first segment lie before it
  int64 stop;    // where it ends
  bool searched;  // whether `next` has been searched for, and has the next element
  Word words[WORDS];
  unsigned short marked[TILE];  // the segment that starts at an element

  // Before the first stretch.
  template <typename OFFSET>
  __device__ __forceinline__ void start(const OFFSET* offsets, int64 segments, int64 begin) {
    if (threadIdx.x < 32) {
      // Clamped: offsets that are not sorted give nonsense, but nothing outside the buffers.
      const int64 bound = warp_upper_bound(offsets, segments + 1, begin);
      if (threadIdx.x == 0) {
        next = bound < 1 ? 0 : min(bound, segments) - 1;
        searched = true;
      }
      __syncwarp();
    }
  }

  // For the elements from position `begin` on, up to `end` at most, which the offsets must cover. Returns how many
  // they are: TILE, or what there is, or fewer, even none, if more than MOST segments start there, most of them empty.
  template <typename OFFSET>
  __device__ __forceinline__ int build(const OFFSET* offsets, int64 segments, int64 begin, int64 end) {
    end = min(end, begin + TILE);
    for (int w = threadIdx.x; w < WORDS; w += 256) words[w].bits = w == 0;
    if (threadIdx.x == 0) {
      first = next;
      head = marked[0] = 0;
      stop = end;
    }
    __syncthreads();
    const int64 from = first, count = min(segments - from, (int64)MOST);
    int64 t = threadIdx.x;
    for (; t < count; t += 256) {
      const int64 its_first = (int64)offsets[from + t], its_end = (int64)offsets[from + t + 1];
      if (its_first >= end) break;
      if (its_end <= its_first || its_end <= begin) continue;
      const int at = its_first <= begin ? 0 : (int)(its_first - begin);
      atomicOr(&words[at >> 5].bits, 1u << (at & 31));
      marked[at] = (unsigned short)t;
      if (at == 0) head = begin - its_first;
    }
    if (t >= MOST && from + MOST < segments) {
      const int64 others = (int64)offsets[from + MOST];
      if (others < end) stop = max(others, begin + searched);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
      const int first_word = threadIdx.x * LANE_WORDS;
      int last = 0;
#pragma unroll
      for (int w = 0; w < LANE_WORDS; w++) last = last_mark(first_word + w, last);
#pragma unroll
      for (int d = 1; d < 32; d *= 2) {
        const int other = __shfl_up_sync(FULL, last, d);
        if ((int)threadIdx.x >= d) last = max(last, other);
      }
      if (stop < end) {
        start(offsets, segments, stop);
      } else if (threadIdx.x == 31) {
        next = from + marked[last];
        searched = false;
      }
      last = __shfl_up_sync(FULL, last, 1);
      if (threadIdx.x == 0) last = 0;
#pragma unroll
      for (int w = 0; w < LANE_WORDS; w++) {
        words[first_word + w].latest = last;
        last = last_mark(first_word + w, last);
      }
    }
    __syncthreads();
    return (int)(stop - begin);
  }

  // The segment of the stretch's element e, and its position in that. A thread asks for those that differ from its own
  // number by a multiple of 32.
  __device__ __forceinline__ int64 find(int e, int64& local) const {
    const Word word = words[e >> 5];
    const int lane = threadIdx.x & 31;
    const unsigned before = word.bits & (FULL >> (31 - lane));
    const int at = before ? e + (31 - lane) - __clz(before) : word.latest;
    local = e - at + (at == 0 ? head : 0);
    return first + marked[at];
  }

 private:
  __device__ __forceinline__ int last_mark(int word, int before) const {
    return words[word].bits ? word * 32 + 31 - __clz(words[word].bits) : before;
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
