// Elements of ragged segments spread over threads, whatever the segments' lengths. Blocks take as many
// elements as makes them share all that there can be, up to a whole tile; that is large because finding
// its first segment costs as much as writing a thousand elements.
#define TILE 4096

extern "C" __global__ void __launch_bounds__(256)
kernel(unsigned long long* word, unsigned long long base, long long segments, const OFFSET* offsets,
       long long capacity DECLARE0) {
  if (errorflag_skip(word, base)) return;
  __shared__ TileSegments<TILE> tile;
  const int64 origin = (int64)offsets[0];
  const int64 stop = min((int64)offsets[segments], origin + capacity);
  // One turn for each block, unless the host does not know how many elements there are.
  const int64 share = (capacity + gridDim.x - 1) / gridDim.x;
  const int64 span = min((int64)TILE, (share + 255) / 256 * 256);
  for (int64 begin = origin + blockIdx.x * span; begin < stop; begin += gridDim.x * span) {
    const int count = (int)min(span, stop - begin);
    tile.build(offsets, segments, begin, begin + count);
    for (int e = threadIdx.x; e < count; e += 256) {
      const int64 segment = tile.find(offsets, begin, e);
      const int64 position = begin + e;
      report(word, base, op0(segment, position, position - (int64)offsets[segment] PASS0));
    }
    __syncthreads();
  }
}
