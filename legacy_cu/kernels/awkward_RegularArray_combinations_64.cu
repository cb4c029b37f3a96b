// errors: []
// One thread per list, which writes its combinations in order. What it wrote last is all it needs to
// know for the next one: the last index that can grow grows, and those after it start over.
#include "common.cuh"

__global__ void combine(u64* word, u64 base, i64 lists, i64* const* tocarry, i64 n, i64 replacement,
                        i64 size, i64 count) {
  if (errorflag_skip(word, base)) return;
  const i64 list = thread_number();
  if (list >= lists || count == 0) return;
  const i64 start = list * size, stop = start + size, step = replacement ? 0 : 1;
  const i64 first = list * count, last = first + count;
  for (i64 k = 0; k < n; k++) {
    tocarry[k][first] = start + k * step;
  }
  for (i64 position = first + 1; position < last; position++) {
    i64 grows = n - 1;
    while (tocarry[grows][position - 1] + 1 >= stop - (n - 1 - grows) * step) {
      grows--;
    }
    for (i64 k = 0; k < grows; k++) {
      tocarry[k][position] = tocarry[k][position - 1];
    }
    i64 index = tocarry[grows][position - 1] + 1;
    for (i64 k = grows; k < n; k++, index += step) {
      tocarry[k][position] = index;
    }
  }
}
