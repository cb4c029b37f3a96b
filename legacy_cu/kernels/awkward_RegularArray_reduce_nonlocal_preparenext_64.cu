// errors: []
// One thread per list of lists and column, and one more for the first offset.
#include "common.cuh"

__global__ void prepare(u64* word, u64 base, i64 n, i64* nextcarry, i64* nextoffsets,
                        const i64* offsets, i64 size) {
  if (errorflag_skip(word, base)) return;
  const i64 group = thread_number();
  if (group == 0) nextoffsets[0] = 0;
  if (group >= n - 1) return;
  const i64 list = group / size, column = group - list * size;
  const i64 start = offsets[list], rows = offsets[list + 1] - start;
  const i64 first = (start - offsets[0]) * size + column * rows;
  for (i64 row = 0; row < rows; row++) {
    nextcarry[first + row] = (start + row) * size + column;
  }
  nextoffsets[group + 1] = first + rows;
}
