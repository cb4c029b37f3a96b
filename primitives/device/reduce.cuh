// A reduction of what op0 gives each index. Blocks go over tiles in turns, whatever their number, and the
// last one to finish combines their results in the order of the blocks: so sums of floats are the same
// every time.
//
// The state is zero before and after every launch:  unsigned finished; (32 bytes)  T partial[capacity]
#define ITEMS 8
#define TILE (256 * ITEMS)

__device__ __forceinline__ T combine(T a, T b) { return COMBINE(a, b); }

// The combination over the block's threads, known to thread 0.
__device__ __forceinline__ T over_block(T value, T* warp_values) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2) value = combine(value, __shfl_down_sync(FULL, value, d));
  if ((threadIdx.x & 31) == 0) warp_values[threadIdx.x >> 5] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
#pragma unroll
    for (int w = 1; w < 8; w++) value = combine(value, warp_values[w]);
  }
  return value;
}

extern "C" __global__ void __launch_bounds__(256)
kernel(unsigned long long* word, unsigned long long base, long long n, T* total, unsigned* state,
       long long capacity DECLARE0) {
  if (errorflag_skip(word, base)) return;
  __shared__ T warp_values[8];
  __shared__ bool shared_last;
  volatile T* partial = (volatile T*)(state + 8);

  T sum = (T)(IDENTITY);
  int64 error = 0;
  for (int64 tile = blockIdx.x * (int64)TILE; tile < n; tile += gridDim.x * (int64)TILE) {
    // All values before any error: their loads are then under way together.
    const int64 i = tile + threadIdx.x;
    bool again = tile + TILE > n;
    T own[ITEMS];
    if (!again) {
#pragma unroll
      for (int k = 0; k < ITEMS; k++) {
        own[k] = (T)(IDENTITY);
        again |= op0(i + k * 256, own + k PASS0) != 0;
      }
#pragma unroll
      for (int k = 0; k < ITEMS; k++) sum = combine(sum, own[k]);
    }
    if (again) {  // the last ones, and where there is an error
#pragma unroll 1
      for (int k = 0; k < ITEMS && i + k * 256 < n && !error; k++) {
        own[0] = (T)(IDENTITY);
        error = op0(i + k * 256, own PASS0);
        sum = combine(sum, own[0]);
      }
    }
  }
  report(word, base, error);

  sum = over_block(sum, warp_values);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    shared_last = atomicAdd(state, 1u) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!shared_last) return;
  sum = (T)(IDENTITY);
  for (int b = threadIdx.x; b < gridDim.x; b += 256) sum = combine(sum, partial[b]);
  sum = over_block(sum, warp_values);
  if (threadIdx.x == 0) {
    *total = sum;
    *state = 0;
  }
}
