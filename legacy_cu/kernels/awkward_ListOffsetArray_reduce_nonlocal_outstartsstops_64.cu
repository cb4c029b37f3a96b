// errors: []
// One thread per bin, which looks for its last filled column from the end.
#include "common.cuh"

__global__ void startsstops(u64* word, u64 base, i64 n, i64* outstarts, i64* outstops,
                            const i64* distincts, i64 maxcount) {
  if (errorflag_skip(word, base)) return;
  const i64 bin = thread_number();
  if (bin >= n) return;
  const i64 start = bin * maxcount;
  i64 stop = start + maxcount;
  while (stop > start && distincts[stop - 1] == -1) {
    stop--;
  }
  outstarts[bin] = start;
  outstops[bin] = stop;
}
