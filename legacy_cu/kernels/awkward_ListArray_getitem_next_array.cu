// errors: ["stops[i] < starts[i]", "stops[i] > len(content)", "index out of range"]
// One thread per list and index; if there is no index, one per list.
#include "common.cuh"

enum { ORDER, BEYOND, RANGE };

template <typename C>
__global__ void next_array(u64* word, u64 base, i64 n, i64* tocarry, i64* toadvanced,
                           const C* fromstarts, const C* fromstops, const i64* fromarray,
                           i64 lenarray, i64 lencontent) {
  if (errorflag_skip(word, base)) return;
  const i64 k = thread_number();
  if (k >= n) return;
  const i64 i = lenarray > 0 ? k / lenarray : k;
  const i64 j = k - i * lenarray;
  const i64 start = fromstarts[i], stop = fromstops[i], length = stop - start;
  i64 found = 0;
  if (length < 0) {
    errorflag_report(word, base, i, ORDER);
  } else if (length != 0 && stop > lencontent) {
    errorflag_report(word, base, i, BEYOND);
  } else if (lenarray > 0) {
    const i64 at = fromarray[j];
    const i64 regular = at < 0 ? at + length : at;
    if (0 <= regular && regular < length) {
      found = start + regular;
    } else {
      errorflag_report(word, base, i, RANGE);
    }
  }
  if (lenarray > 0) {
    tocarry[k] = found;
    toadvanced[k] = j;
  }
}
