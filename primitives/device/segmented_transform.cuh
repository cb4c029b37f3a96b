// One thread per element of ragged segments, four times, whatever the segments' lengths.
extern "C" __global__ void __launch_bounds__(256)
kernel(unsigned long long* word, unsigned long long base, long long segments, const OFFSET* offsets,
       long long capacity DECLARE0) {
  if (errorflag_skip(word, base)) return;
  __shared__ TileSegments tile;
  const int64 origin = (int64)offsets[0];
  const int64 stop = min((int64)offsets[segments], origin + capacity);
  const int64 begin = origin + blockIdx.x * (int64)TILE;
  if (begin >= stop) return;
  const int count = (int)min((int64)TILE, stop - begin);
  tile.build(offsets, segments, begin, begin + count);
#pragma unroll
  for (int e = threadIdx.x; e < TILE; e += 256) {
    if (e >= count) break;
    const int64 segment = tile.find(offsets, begin, e);
    const int64 position = begin + e;
    report(word, base, op0(segment, position, position - (int64)offsets[segment] PASS0));
  }
}
