// A single-pass exclusive scan with decoupled look-back. op0 gives each index its value, op1 receives
// the index with the scan before and after it.
//
// Tiles take their numbers from a ticket, so that a tile only waits for tiles that have started. The
// state is zero before and after every launch: the last tile to finish clears it. It holds
//     unsigned ticket, finished; (16 bytes)  T sums[capacity], prefixes[capacity];  unsigned flags[capacity]
#define ITEMS 8
#define WARPS 8
#define TILE (WARPS * 32 * ITEMS)

__device__ __forceinline__ T combine(T a, T b) { return COMBINE(a, b); }

extern "C" __global__ void __launch_bounds__(256)
kernel(unsigned long long* word, unsigned long long base, long long n, T* total, unsigned* state,
       long long capacity DECLARE0 DECLARE1) {
  if (errorflag_skip(word, base)) return;
  __shared__ unsigned shared_tile;
  __shared__ T warp_sums[WARPS];
  __shared__ T shared_prefix;
  __shared__ bool shared_last;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

  volatile T* sums = (volatile T*)(state + 4);
  volatile T* prefixes = sums + capacity;
  volatile unsigned* flags = (volatile unsigned*)(prefixes + capacity);

  if (threadIdx.x == 0) shared_tile = atomicAdd(state, 1u);
  __syncthreads();
  const int64 tile = shared_tile;

  // Each warp scans 32 * ITEMS consecutive indexes, 32 at a time.
  const int64 first = tile * TILE + warp * 32 * ITEMS + lane;
  T before[ITEMS], value[ITEMS];
  T running = (T)(IDENTITY);
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    const int64 i = first + k * 32;
    T own = (T)(IDENTITY);
    if (i < n) report(word, base, op0(i, &own PASS0));
    T inclusive = own;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const T other = __shfl_up_sync(FULL, inclusive, d);
      if (lane >= d) inclusive = combine(other, inclusive);
    }
    T exclusive = __shfl_up_sync(FULL, inclusive, 1);
    if (lane == 0) exclusive = (T)(IDENTITY);
    before[k] = combine(running, exclusive);
    value[k] = own;
    running = combine(running, __shfl_sync(FULL, inclusive, 31));
  }
  if (lane == 0) warp_sums[warp] = running;
  __syncthreads();

  if (warp == 0) {
    T sum = (T)(IDENTITY);
#pragma unroll
    for (int w = 0; w < WARPS; w++) sum = combine(sum, warp_sums[w]);
    T prefix = (T)(IDENTITY);
    if (tile > 0) {
      if (lane == 0) {
        sums[tile] = sum;
        __threadfence();
        flags[tile] = 1;
      }
      for (int64 look = tile - 1;; look -= 32) {
        const int64 at = look - lane;
        unsigned flag = 2;
        if (at >= 0)
          while ((flag = flags[at]) == 0) {}
        __threadfence();
        T seen = (T)(IDENTITY);
        if (at >= 0) seen = flag == 2 ? prefixes[at] : sums[at];
        const unsigned complete = __ballot_sync(FULL, flag == 2);
        const int nearest = complete ? __ffs(complete) - 1 : 31;
        if (lane > nearest) seen = (T)(IDENTITY);
#pragma unroll
        for (int d = 16; d > 0; d /= 2) {
          const T older = __shfl_down_sync(FULL, seen, d);
          if (lane + d < 32) seen = combine(older, seen);
        }
        prefix = combine(__shfl_sync(FULL, seen, 0), prefix);
        if (complete) break;
      }
    }
    if (lane == 0) {
      const T inclusive = combine(prefix, sum);
      prefixes[tile] = inclusive;
      __threadfence();
      flags[tile] = 2;
      shared_prefix = prefix;
      if (total && tile == gridDim.x - 1) *total = inclusive;
    }
  }
  __syncthreads();

  T start = shared_prefix;
  for (int w = 0; w < warp; w++) start = combine(start, warp_sums[w]);
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    const int64 i = first + k * 32;
    if (i < n) {
      const T from = combine(start, before[k]);
      report(word, base, op1(i, from, combine(from, value[k]) PASS1));
    }
  }

  if (threadIdx.x == 0) {
    __threadfence();
    shared_last = atomicAdd(state + 1, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (shared_last) {
    for (unsigned t = threadIdx.x; t < gridDim.x; t += 256) flags[t] = 0;
    if (threadIdx.x < 2) state[threadIdx.x] = 0;
  }
}
