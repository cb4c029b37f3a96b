// A stable segmented sort of positions by a comparison, op0(left, right, result), of absolute positions.
//
// `kernel` has one thread per element: it counts the elements of its run (CHUNK consecutive elements of
// its segment) that go before it, which sorts every run. Lists of up to CHUNK elements are done with
// that. Longer ones are put on a list, for `merge`: a cooperative kernel that merges neighbouring runs,
// pass after pass, with a barrier over the whole grid between passes; ITEMS outputs per thread, found by
// a search along the merge path. A segment ends in `out`: it starts there or in `spare`, depending on
// how many passes it needs.
//
// The state is zero before and after every launch (pair of launches):
//     uint64 listed (number << 40 | elements), longest;  unsigned arrived, finished;  Long list[capacity]
#define CHUNK 32
#define TILE 2048
#if ABSOLUTE  // positions in `out` and `spare` count over all segments, else within their segment
#define STORED(start, local) ((start) + (local))
#define POSITION(start, stored) (stored)
#else
#define STORED(start, local) (local)
#define POSITION(start, stored) ((start) + (stored))
#endif
#define ITEMS 8

struct Long { int64 start, length, base; };
struct State { uint64 listed, longest; unsigned arrived, finished; uint64 unused; };

__device__ __forceinline__ int passes_of(int64 length) {
  int passes = 0;
  for (int64 width = CHUNK; width < length; width *= 2) passes++;
  return passes;
}

#define LESS(left, right) \
  (report(word, base, op0((left), (right), &result PASS0)), result != 0)

extern "C" __global__ void __launch_bounds__(256)
kernel(unsigned long long* word, unsigned long long base, long long segments, const OFFSET* offsets,
       long long limit, long long* out, long long* spare, State* state, long long capacity DECLARE0) {
  if (errorflag_skip(word, base)) return;
  __shared__ TileSegments<TILE> tile;
  const int64 origin = (int64)offsets[0];
  const int64 stop = min((int64)offsets[segments], (int64)limit);
  int64 begin = origin + blockIdx.x * (int64)TILE;
  const int64 end = min(begin + TILE, stop);
  if (begin >= end) return;
  tile.start(offsets, segments, begin);
  while (true) {
    const int count = tile.build(offsets, segments, begin, end);
    for (int e = threadIdx.x; e < count; e += 256) {
      int64 local;
      const int64 segment = tile.find(e, local);
      const int64 position = begin + e;
      const int64 start = position - local;
      const int64 length = min((int64)offsets[segment + 1], stop) - start;
      const int64 run = local & ~(int64)(CHUNK - 1);
      const int64 run_end = run + CHUNK < length ? run + CHUNK : length;
      T result = 0;
      int64 rank = run;
      for (int64 j = run; j < local; j++) rank += !LESS(position, start + j);
      for (int64 j = local + 1; j < run_end; j++) rank += LESS(start + j, position);
      int64* to = out;
      if (length > CHUNK) {
        if (passes_of(length) & 1) to = spare;
        if (local == 0) {
          const uint64 before = atomicAdd(&state->listed, (1ull << 40) | (uint64)length);
          const int64 at = (int64)(before >> 40);
          if (at < capacity)
            ((Long*)(state + 1))[at] = Long{start, length, (int64)(before & ((1ull << 40) - 1))};
          atomicMax(&state->longest, (uint64)length);
        }
      }
      to[start + rank] = STORED(start, local);
    }
    begin += count;
    if (begin >= end) break;
    __syncthreads();
  }
}

__device__ __forceinline__ void grid_barrier(unsigned* arrived, unsigned target) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    while (*(volatile unsigned*)arrived < target) {}
    __threadfence();
  }
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(256)
merge(unsigned long long* word, unsigned long long base, long long segments, const OFFSET* offsets,
      long long limit, long long* out, long long* spare, State* state, long long capacity DECLARE0) {
  if (errorflag_skip(word, base)) return;
  const uint64 listed = state->listed;
  if (listed == 0) return;
  const int64 count = min((int64)(listed >> 40), (int64)capacity);
  const int64 elements = (int64)(listed & ((1ull << 40) - 1));
  const int64 longest = (int64)state->longest;
  const Long* list = (const Long*)(state + 1);
  const int64 threads = gridDim.x * 256ll;
  unsigned round = 0;
  int pass = 0;
  for (int64 width = CHUNK; width < longest; width *= 2, pass++) {
    for (int64 t = blockIdx.x * 256ll + threadIdx.x; t * ITEMS < elements; t += threads) {
      int64 element = t * ITEMS;
      const int64 element_end = min(element + ITEMS, elements);
      int64 low = 0, high = count;
      while (high - low > 1) {
        const int64 middle = (low + high) / 2;
        if (list[middle].base <= element) low = middle; else high = middle;
      }
      while (element < element_end && low < count) {
        const Long segment = list[low];
        int64 d = element - segment.base;
        const int64 stop = min(element_end - segment.base, segment.length);
        element = segment.base + stop;
        low++;
        if (segment.length <= width) continue;
        const bool from_spare = (passes_of(segment.length) - pass) & 1;
        // Not through the first-level cache: other blocks wrote it in the pass before.
        const volatile int64* from = (from_spare ? spare : out) + segment.start;
        int64* to = (from_spare ? out : spare) + segment.start;
        T result = 0;
        while (d < stop) {
          const int64 pair = d / (2 * width) * (2 * width);
          const int64 middle = min(pair + width, segment.length);
          const int64 end = min(pair + 2 * width, segment.length);
          const int64 piece_end = min(stop, end);
          // How many of the d - pair elements before d come from the left run.
          int64 least = max((int64)0, (d - pair) - (end - middle)), most = min(d - pair, middle - pair);
          while (least < most) {
            const int64 half = (least + most) / 2;
            const int64 left = from[pair + half], right = from[middle + (d - pair) - half - 1];
            if (LESS(POSITION(segment.start, right), POSITION(segment.start, left))) most = half; else least = half + 1;
          }
          int64 a = pair + least, b = middle + (d - pair) - least;
          int64 left = a < middle ? from[a] : 0, right = b < end ? from[b] : 0;
          for (; d < piece_end; d++) {
            bool take_right = a >= middle;
            if (!take_right && b < end) take_right = LESS(POSITION(segment.start, right), POSITION(segment.start, left));
            if (take_right) {
              to[d] = right;
              b++;
              if (b < end) right = from[b];
            } else {
              to[d] = left;
              a++;
              if (a < middle) left = from[a];
            }
          }
        }
      }
    }
    round++;
    grid_barrier(&state->arrived, round * gridDim.x);
  }
  __syncthreads();
  if (threadIdx.x == 0 && atomicAdd(&state->finished, 1u) == gridDim.x - 1) {
    state->listed = 0;
    state->longest = 0;
    state->arrived = 0;
    state->finished = 0;
  }
}
