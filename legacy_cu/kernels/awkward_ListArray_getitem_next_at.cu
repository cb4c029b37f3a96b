// errors: ["index out of range"]
// One thread per list. The index is in memory where it comes from an array without dimensions.
#include "common.cuh"

template <typename C>
__global__ void next_at(u64* word, u64 base, i64 n, i64* tocarry, const C* fromstarts,
                        const C* fromstops, i64 at, const i64* at_in_memory) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  if (at_in_memory != nullptr) at = *at_in_memory;
  const i64 start = fromstarts[i], length = (i64)fromstops[i] - start;
  const i64 regular = at < 0 ? at + length : at;
  const bool inside = 0 <= regular && regular < length;
  if (!inside) errorflag_report(word, base, i, 0);
  tocarry[i] = inside ? start + regular : 0;
}
