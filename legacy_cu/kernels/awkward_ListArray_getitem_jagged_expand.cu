// errors: ["stops[i] < starts[i]", "cannot fit jagged slice into nested list"]
// One thread per element of the slice and list; if the slice has none, one per list.
#include "common.cuh"

enum { ORDER, FIT };

template <typename C>
__global__ void expand(u64* word, u64 base, i64 n, i64* multistarts, i64* multistops,
                       const i64* singleoffsets, i64* tocarry, const C* fromstarts,
                       const C* fromstops, i64 jaggedsize) {
  if (errorflag_skip(word, base)) return;
  const i64 k = thread_number();
  if (k >= n) return;
  const i64 i = jaggedsize > 0 ? k / jaggedsize : k;
  const i64 j = k - i * jaggedsize;
  const i64 start = fromstarts[i], length = (i64)fromstops[i] - start;
  if (length < 0) {
    errorflag_report(word, base, i, ORDER);
  } else if (length != jaggedsize) {
    errorflag_report(word, base, i, FIT);
  }
  if (jaggedsize > 0) {
    multistarts[k] = singleoffsets[j];
    multistops[k] = singleoffsets[j + 1];
    tocarry[k] = length == jaggedsize ? start + j : 0;
  }
}
