// errors: []
// One thread per list.
#include "common.cuh"

__global__ void pair(u64* word, u64 base, i64 n, i64* tocarry, const i64* offsets,
                     const i64* nextoffsets) {
  if (errorflag_skip(word, base)) return;
  const i64 list = thread_number();
  if (list >= n) return;
  const i64 stop = offsets[list + 1], last = nextoffsets[list + 1];
  i64 k = nextoffsets[list];
  for (i64 i = offsets[list]; i < stop; i++) {
    tocarry[i] = k < last ? k++ : -1;
  }
}
