// Elements of ragged segments spread over threads, whatever the segments' lengths: every block has as many
// consecutive elements as the others, and looks for its first segment only.
#define TILE 4096
#define LEAST 512  // elements that are worth a block
#define AHEAD 2    // elements of a thread that are loaded together

extern "C" __global__ void __launch_bounds__(256, 8)
kernel(unsigned long long* word, unsigned long long base, long long segments, const OFFSET* offsets,
       long long capacity DECLARE0) {
  if (errorflag_skip(word, base)) return;
  __shared__ TileSegments<TILE> tile;
  const int64 origin = (int64)offsets[0];
  const int64 stop = min((int64)offsets[segments], origin + capacity);
  const int64 share = max((int64)LEAST, ((stop - origin + gridDim.x - 1) / gridDim.x + 31) & ~31ll);
  int64 begin = origin + blockIdx.x * share;
  const int64 end = min(begin + share, stop);
  if (begin >= end) return;
  tile.start(offsets, segments, begin);
  while (true) {
    const int count = tile.build(offsets, segments, begin, end);
    int e = threadIdx.x;
#pragma unroll 1
    for (; e + (AHEAD - 1) * 256 < count; e += AHEAD * 256) {
      int64 segment[AHEAD], local[AHEAD], packed[AHEAD], any = 0;
#pragma unroll
      for (int k = 0; k < AHEAD; k++) segment[k] = tile.find(e + k * 256, local[k]);
#pragma unroll
      for (int k = 0; k < AHEAD; k++)
        any |= packed[k] = op0(segment[k], begin + e + k * 256, local[k] PASS0);
      if (any) {
#pragma unroll
        for (int k = 0; k < AHEAD; k++) report(word, base, packed[k]);
      }
    }
#pragma unroll 1
    for (; e < count; e += 256) {
      int64 local;
      const int64 segment = tile.find(e, local);
      report(word, base, op0(segment, begin + e, local PASS0));
    }
    begin += count;
    if (begin >= end) break;
    __syncthreads();
  }
}
