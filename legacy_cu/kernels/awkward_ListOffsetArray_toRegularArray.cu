// errors: ["offsets must be monotonically increasing", "cannot convert to RegularArray because subarray lengths are not regular"]
// One thread per list, each against the first one; one thread if there is no list.
#include "common.cuh"

enum { DECREASING, IRREGULAR };

template <typename C>
__global__ void regular_size(u64* word, u64 base, i64 n, i64* size, const C* fromoffsets, i64 lists) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  if (lists == 0) {
    *size = 0;
    return;
  }
  const i64 common = (i64)fromoffsets[1] - (i64)fromoffsets[0];
  const i64 length = (i64)fromoffsets[i + 1] - (i64)fromoffsets[i];
  if (i == 0) *size = length > 0 ? length : 0;
  if (length < 0) {
    errorflag_report(word, base, i, DECREASING);
  } else if (length != common) {
    errorflag_report(word, base, i, IRREGULAR);
  }
}
