// errors: []
// Numbers of valid and of all elements of each slice, whose running sums the host side makes; then
// one thread per offset, thus per list and one more.
#include "common.cuh"

__global__ void count(u64* word, u64 base, i64 n, i64* smallcounts, i64* largecounts,
                      const i64* slicestarts, const i64* slicestops, const i64* missing) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  const i64 start = slicestarts[i], stop = slicestops[i];
  i64 valid = 0;
  for (i64 j = start; j < stop; j++) {
    valid += missing[j] >= 0;
  }
  smallcounts[i] = valid;
  largecounts[i] = stop - start;
}

__global__ void store(u64* word, u64 base, i64 n, i64* tocarry, i64* tosmalloffsets,
                      i64* tolargeoffsets, const i64* smallcounts, const i64* largecounts,
                      const i64* slicestarts, const i64* slicestops, const i64* missing) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  const i64 first = n > 1 ? slicestarts[0] : 0;
  i64 k = i > 0 ? smallcounts[i - 1] : 0;
  tosmalloffsets[i] = first + k;
  tolargeoffsets[i] = first + (i > 0 ? largecounts[i - 1] : 0);
  if (i == n - 1) return;
  const i64 stop = slicestops[i];
  for (i64 j = slicestarts[i]; j < stop; j++) {
    if (missing[j] >= 0) tocarry[k++] = j;
  }
}
