// errors: ["stops[i] < starts[i]", "stops[i] > len(content)", "index out of range"]
// One thread per list.
#include "common.cuh"

enum { ORDER, BEYOND, RANGE };

template <typename C>
__global__ void next_array_advanced(u64* word, u64 base, i64 n, i64* tocarry, i64* toadvanced,
                                    const C* fromstarts, const C* fromstops, const i64* fromarray,
                                    const i64* fromadvanced, i64 lencontent) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  const i64 start = fromstarts[i], stop = fromstops[i], length = stop - start;
  i64 found = 0;
  if (length < 0) {
    errorflag_report(word, base, i, ORDER);
  } else if (length != 0 && stop > lencontent) {
    errorflag_report(word, base, i, BEYOND);
  } else {
    const i64 at = fromarray[fromadvanced[i]];
    const i64 regular = at < 0 ? at + length : at;
    if (0 <= regular && regular < length) {
      found = start + regular;
    } else {
      errorflag_report(word, base, i, RANGE);
    }
  }
  tocarry[i] = found;
  toadvanced[i] = i;
}
