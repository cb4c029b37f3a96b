// errors: []
// Flags of valid elements, whose running count the host side makes; then one thread per element and
// per offset. Elements outside of the lists count as missing.
#include "common.cuh"

__global__ void flag_valid(u64* word, u64 base, i64 n, i64* counts, const signed char* mask,
                           const i64* offsets, i64 outlength, i64 validwhen) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i >= n) return;
  const bool inside = offsets[0] <= i && i < offsets[outlength];
  counts[i] = inside && (mask[i] != 0) == (validwhen != 0);
}

__global__ void store(u64* word, u64 base, i64 n, i64* nextcarry, i64* nextoffsets, i64* outindex,
                      i64 length, const i64* counts, const i64* offsets, i64 outlength) {
  if (errorflag_skip(word, base)) return;
  const i64 i = thread_number();
  if (i < length) {
    const i64 before = i > 0 ? counts[i - 1] : 0;
    const bool valid = counts[i] != before;
    outindex[i] = valid ? before : -1;
    if (valid) nextcarry[before] = i;
  }
  if (i <= outlength) {
    nextoffsets[i] = i > 0 && offsets[i] > 0 ? counts[offsets[i] - 1] : 0;
  }
}
