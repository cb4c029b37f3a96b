// errors: ["index out of range"]
// One thread per element.
#include "common.cuh"

template <typename OUTER, typename INNER>
__global__ void simplify(u64* word, u64 base, i64 n, i64* toindex, const OUTER* outerindex,
                         const INNER* innerindex, i64 innerlength) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  const i64 j = outerindex[i];
  if (j >= innerlength) {
    toindex[i] = -1;
    errorflag_report(word, base, i, 0);
  } else {
    toindex[i] = j < 0 ? -1 : (i64)innerindex[j];
  }
}
