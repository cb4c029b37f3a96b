// errorflag: the device ABI. One 64-bit word per (device, stream), all ones when there is no error,
// lowered with an unsigned atomic minimum:
//
//     bits 63..48  invocation   which pending launch, in launch order
//     bits 47..8   element      index within that launch
//     bits  7..0   code         which message of that kernel, 0-based
//
// Behind it, in word[1], lies the address of a number in page-locked memory of the host, which is set when the word
// has been lowered: a host that has waited looks at the word only then. So the word must be a channel's, and nothing
// but errorflag_report lowers it.
//
// A kernel takes `unsigned long long* word` (the channel's word_pointer) and `unsigned long long base` (its
// invocation, in place) as parameters, returns at once if errorflag_skip(word, base), and calls errorflag_report on
// error.
#pragma once

#define ERRORFLAG_NO_ERROR 0xFFFFFFFFFFFFFFFFull

// True if an earlier launch has failed. Errors of this very launch do not count: every block of one
// launch takes the same decision, so blocks may wait for each other. That is also why the load may
// be an ordinary, cached one: when every warp of a large launch asks the second-level cache for this
// one word, that alone halves the speed of the kernel.
__device__ __forceinline__ bool errorflag_skip(const unsigned long long* word, unsigned long long base) {
  const unsigned long long seen = *word;
  return seen != ERRORFLAG_NO_ERROR && (seen >> 48) != (base >> 48);
}

// Reports message `code` (0-based) at `element`. The lowest report of a launch wins.
__device__ __forceinline__ void errorflag_report(unsigned long long* word, unsigned long long base,
                                                 long long element, int code) {
  atomicMin(word, base | ((unsigned long long)element << 8) | (unsigned long long)code);
  *(volatile unsigned long long*)word[1] = 1;
}
