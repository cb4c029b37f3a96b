// errors: ["start[i] > stop[i]", "start[i] < 0", "stop[i] > len(content)"]
// One thread per list.
#include "common.cuh"

enum { ORDER, NEGATIVE, BEYOND };

template <typename C>
__global__ void validity(u64* word, u64 base, i64 n, const C* starts, const C* stops,
                         i64 lencontent) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  const i64 start = starts[i], stop = stops[i];
  if (start == stop) return;
  if (start > stop) {
    errorflag_report(word, base, i, ORDER);
  } else if (start < 0) {
    errorflag_report(word, base, i, NEGATIVE);
  } else if (stop > lencontent) {
    errorflag_report(word, base, i, BEYOND);
  }
}
