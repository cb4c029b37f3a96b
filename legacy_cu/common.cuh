// What every kernel here starts from: the device ABI of the error word, and the number of a thread.
#pragma once

#include "errorflag.cuh"

typedef long long i64;
typedef unsigned long long u64;

__device__ __forceinline__ i64 thread_number() {
  return (i64)blockIdx.x * blockDim.x + threadIdx.x;
}
