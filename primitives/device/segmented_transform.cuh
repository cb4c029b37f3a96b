// One thread per element of ragged segments, whatever their lengths. Each block takes TILE consecutive
// elements, finds the segments of its first and last one with a warp each, and keeps the offsets
// between them in shared memory for its threads' own searches.
#define ITEMS 4
#define TILE (256 * ITEMS)

extern "C" __global__ void __launch_bounds__(256)
kernel(unsigned long long* word, unsigned long long base, long long segments, const OFFSET* offsets,
       long long capacity DECLARE0) {
  if (errorflag_skip(word, base)) return;
  __shared__ int64 shared_bounds[2];
  __shared__ int shared_offsets[TILE + 2];
  const int64 origin = (int64)offsets[0];
  int64 length = (int64)offsets[segments] - origin;
  if (length > capacity) length = capacity;
  const int64 begin = blockIdx.x * (int64)TILE;
  if (begin >= length) return;
  const int64 end = begin + TILE < length ? begin + TILE : length;
  const int warp = threadIdx.x >> 5;
  if (warp < 2) {
    const int64 bound = warp_upper_bound(offsets, segments + 1, origin + (warp ? end - 1 : begin));
    // Clamped: offsets that are not sorted give nonsense, but nothing outside the buffers.
    if ((threadIdx.x & 31) == 0) shared_bounds[warp] = bound < 1 ? 0 : min(bound, segments) - 1;
  }
  __syncthreads();
  const int64 first = shared_bounds[0];
  const int64 count = shared_bounds[1] - first + 1;
  const bool fits = count <= TILE;
  if (fits) {
    // Relative to the tile; what starts before it is clamped, it is only compared.
    for (int t = threadIdx.x; t < count; t += 256) {
      const int64 relative = (int64)offsets[first + t] - origin - begin;
      shared_offsets[t] = relative < 0 ? 0 : (int)relative;
    }
    __syncthreads();
  }
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    const int64 element = begin + k * 256 + threadIdx.x;
    if (element >= end) break;
    int64 low = 0, high = count;  // the last segment that starts at or before the element
    if (fits) {
      const int relative = (int)(element - begin);
      int l = 0, h = (int)count;
      while (h - l > 1) {
        const int middle = (l + h) / 2;
        if (shared_offsets[middle] <= relative) l = middle; else h = middle;
      }
      low = l;
    } else {
      while (high - low > 1) {
        const int64 middle = (low + high) / 2;
        if ((int64)offsets[first + middle] <= origin + element) low = middle; else high = middle;
      }
    }
    const int64 segment = first + low;
    const int64 position = origin + element;
    report(word, base, op0(segment, position, position - (int64)offsets[segment] PASS0));
  }
}
