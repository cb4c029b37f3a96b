// A single-pass exclusive scan with decoupled look-back. op0 gives each index its value, op1 receives
// the index with the scan before and after it.
//
// A tile waits for those before it only, which have started: devices start blocks in the order of their numbers, as
// CUB's scans rely on, too. The state is zero before and after every launch: the last tile that has looked at others
// clears it. It holds
//     unsigned finished; (32 bytes)  then the tiles' status
// PACKED: one word per tile, the value shifted left by two with the status below, for values that fit in
// 62 bits; a value and its status are then one load. Otherwise T sums[capacity], prefixes[capacity] and
// unsigned flags[capacity], kept in order by fences.
//
// FLAGS: a value that is not 0 is 1. A warp's values at 32 indexes are then the bits of one word, of which a
// block can keep many: it takes up to ROUNDS times as many indexes, as the grid says.
// BITS: of flags, op1 receives 16 at once: their number divided by 16, the scan before them, and themselves as bits.
#define ITEMS (FLAGS ? 16 : 20)
#define BLOCKS (FLAGS ? 6 : 3)
#define WARPS 8
#define SCAN_TILE (WARPS * 32 * ITEMS)
#define ROUNDS (FLAGS ? 8 : 1)
// One element of every ITEMS + 1 is left out, so that lanes which read ITEMS apart meet different banks.
#define PADDED(i) ((i) + (i) / ITEMS)
#define WARP_ROOM PADDED(32 * ITEMS)
// Words of predecessors that a lane loads together, where a word tells all.
#define LOOKS (PACKED ? 8 : 1)
#define PARTIAL 1u   // the sum of the tile is known
#define COMPLETE 2u  // the combination of all tiles up to it is known

__device__ __forceinline__ T combine(T a, T b) { return COMBINE(a, b); }

struct Status {
  unsigned* state;
  int64 capacity;

#if PACKED
  __device__ __forceinline__ volatile int64* word(int64 tile) const { return (volatile int64*)(state + 8) + tile; }
  __device__ __forceinline__ void publish(int64 tile, unsigned flag, T value) const {
    *word(tile) = ((int64)value << 2) | flag;
  }
  typedef int64 Seen;
  __device__ __forceinline__ Seen look(int64 tile) const { return *word(tile); }
  __device__ __forceinline__ T wait(int64 tile, Seen seen, unsigned& flag) const {
    while ((seen & 3) == 0) seen = *word(tile);
    flag = (unsigned)(seen & 3);
    return (T)(seen >> 2);
  }
  __device__ __forceinline__ void clear(int64 tile) const { *word(tile) = 0; }
#else
  __device__ __forceinline__ volatile T* sum(int64 tile) const { return (volatile T*)(state + 8) + tile; }
  __device__ __forceinline__ volatile T* prefix(int64 tile) const { return sum(capacity) + tile; }
  __device__ __forceinline__ volatile unsigned* flag_of(int64 tile) const {
    return (volatile unsigned*)(prefix(capacity)) + tile;
  }
  __device__ __forceinline__ void publish(int64 tile, unsigned flag, T value) const {
    *(flag == PARTIAL ? sum(tile) : prefix(tile)) = value;
    __threadfence();
    *flag_of(tile) = flag;
  }
  typedef unsigned Seen;
  __device__ __forceinline__ Seen look(int64 tile) const { return *flag_of(tile); }
  __device__ __forceinline__ T wait(int64 tile, Seen seen, unsigned& flag) const {
    while (seen == 0) seen = *flag_of(tile);
    __threadfence();
    flag = seen;
    return *(flag == PARTIAL ? sum(tile) : prefix(tile));
  }
  __device__ __forceinline__ void clear(int64 tile) const { *flag_of(tile) = 0; }
#endif
};

// What the second op gets: for a flag, from the word that it is in; for a value, from where the warp keeps sums.
#define EMIT_FLAG(k)                                                                        \
  {                                                                                         \
    const uint2 seen = words[round * ITEMS + (k)];                                          \
    const T before = of_warp + (int)(seen.y + __popc(seen.x & ((1u << lane) - 1)));         \
    report(word, base, op1(from + (k) * 32, before, before + (seen.x >> lane & 1) PASS1));  \
  }
#define EMIT(k)                                                                             \
  {                                                                                         \
    const int at = (k) * 32 + lane;                                                         \
    const T from = at > 0 ? own_values[PADDED(at - 1)] : of_warp;                           \
    report(word, base, op1(first + (k) * 32, from, own_values[PADDED(at)] PASS1));          \
  }

extern "C" __global__ void __launch_bounds__(256, BLOCKS)
kernel(unsigned long long* word, unsigned long long base, long long n, T* total, unsigned* state,
       long long capacity DECLARE0 DECLARE1) {
  if (errorflag_skip(word, base)) return;
  __shared__ T warp_sums[WARPS];
  __shared__ T shared_prefix;
#if FLAGS
  __shared__ uint2 shared_words[WARPS * ITEMS * ROUNDS];  // 32 values, and the sum of those before in the warp
#else
  __shared__ T shared_values[WARPS * WARP_ROOM];
#endif
  __shared__ bool shared_last;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const Status status{state, capacity};

  const int64 tile = blockIdx.x;

  // Each warp scans consecutive indexes, 32 * ITEMS in a round. Lanes take them in turns, 32 at a time, to load
  // and to emit. Values come first, and their errors last: so the loads of many of them are under way together.
#if FLAGS
  const int rounds = (int)((n + gridDim.x * (int64)SCAN_TILE - 1) / (gridDim.x * (int64)SCAN_TILE));
  uint2* words = shared_words + warp * ITEMS * ROUNDS;
  const int64 first = (tile * WARPS + warp) * rounds * (32 * ITEMS) + lane;
  T running = 0;
  for (int round = 0; round < rounds; round++) {
    const int64 from = first + round * (32 * ITEMS);
    unsigned set = 0;  // a bit for each of the lane's values
    bool again = from - lane + 32 * ITEMS > n;
    if (!again) {
#pragma unroll
      for (int k = 0; k < ITEMS; k++) {
        T own = 0;
        again |= op0(from + k * 32, &own PASS0) != 0;
        set |= (unsigned)(own != 0) << k;
      }
    }
    if (again) {  // the last ones, and where there is an error
      int64 error = 0;
      set = 0;
#pragma unroll 1
      for (int k = 0; k < ITEMS && from + k * 32 < n && !error; k++) {
        T own = 0;
        error = op0(from + k * 32, &own PASS0);
        set |= (unsigned)(own != 0) << k;
      }
      report(word, base, error);
    }
    __syncwarp();
    unsigned bits = 0;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
      const unsigned ballot = __ballot_sync(FULL, set >> k & 1);
      if (lane == k) bits = ballot;
    }
    int sum = __popc(bits);  // 0 from lane ITEMS on
#pragma unroll
    for (int d = 1; d < ITEMS; d *= 2) {
      const int other = __shfl_up_sync(FULL, sum, d);
      if (lane >= d) sum += other;
    }
    if (lane < ITEMS) words[round * ITEMS + lane] = make_uint2(bits, (unsigned)running + sum - __popc(bits));
    running += __shfl_sync(FULL, sum, ITEMS - 1);
  }
#else
  const int64 first = tile * SCAN_TILE + warp * 32 * ITEMS + lane;
  const bool whole = first - lane + 32 * ITEMS <= n;
  T* own_values = shared_values + warp * WARP_ROOM;
  bool again = !whole;
  if (whole) {
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
      T own = (T)(IDENTITY);
      again |= op0(first + k * 32, &own PASS0) != 0;
      own_values[PADDED(k * 32 + lane)] = own;
    }
  }
  if (again) {  // the last ones, and where there is an error
    int64 error = 0;
#pragma unroll 1
    for (int k = 0; k < ITEMS; k++) {
      T own = (T)(IDENTITY);
      if (first + k * 32 < n && !error) error = op0(first + k * 32, &own PASS0);
      own_values[PADDED(k * 32 + lane)] = own;
    }
    report(word, base, error);
  }
  __syncwarp();

  T value[ITEMS];
  T own_sum = (T)(IDENTITY);
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    value[k] = own_values[PADDED(lane * ITEMS + k)];
    own_sum = combine(own_sum, value[k]);
  }
  T running = own_sum;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const T other = __shfl_up_sync(FULL, running, d);
    if (lane >= d) running = combine(other, running);
  }
  T before = __shfl_up_sync(FULL, running, 1);
  if (lane == 0) before = (T)(IDENTITY);
  running = __shfl_sync(FULL, running, 31);
#endif
  if (lane == 0) warp_sums[warp] = running;
  __syncthreads();

  if (warp == 0) {
    T sum = (T)(IDENTITY);
#pragma unroll
    for (int w = 0; w < WARPS; w++) sum = combine(sum, warp_sums[w]);
    T prefix = (T)(IDENTITY);
    if (tile > 0) {
      if (lane == 0) status.publish(tile, PARTIAL, sum);
      T own_prefix = (T)(IDENTITY);
      unsigned complete = 0;
      for (int64 at = tile - 1 - lane; !complete; at -= 32 * LOOKS) {
        Status::Seen seen[LOOKS];
#pragma unroll
        for (int k = 0; k < LOOKS; k++) seen[k] = at >= 32 * k ? status.look(at - 32 * k) : 0;
#pragma unroll
        for (int k = 0; k < LOOKS; k++) {
          if (complete) break;
          unsigned flag = COMPLETE;  // before the first tile
          T value = (T)(IDENTITY);
          if (at >= 32 * k) value = status.wait(at - 32 * k, seen[k], flag);
          complete = __ballot_sync(FULL, flag == COMPLETE);
          if (lane < __ffs(complete) || !complete) own_prefix = combine(value, own_prefix);
        }
      }
#pragma unroll
      for (int d = 16; d > 0; d /= 2) own_prefix = combine(__shfl_xor_sync(FULL, own_prefix, d), own_prefix);
      prefix = own_prefix;
    }
    if (lane == 0) {
      const T inclusive = combine(prefix, sum);
      status.publish(tile, COMPLETE, inclusive);
      shared_prefix = prefix;
      if (total && tile == gridDim.x - 1) *total = inclusive;
    }
  }
  __syncthreads();

  // This block looks at no other any more; what comes of that is only needed at the end.
  bool last = false;
  if (threadIdx.x == 0) {
    // A release: what this block has told others is cleared after it was told. A fence would empty the cache.
    unsigned finished;
    asm volatile("atom.add.release.gpu.global.u32 %0, [%1], 1;" : "=r"(finished) : "l"(state) : "memory");
    last = finished == gridDim.x - 1;
    if (last) __threadfence();
  }

  T of_warp = shared_prefix;  // the scan before this warp's values
  for (int w = 0; w < warp; w++) of_warp = combine(of_warp, warp_sums[w]);
#if FLAGS
  for (int round = 0; round < rounds; round++) {
    const int64 from = first + round * (32 * ITEMS);
#if BITS
    const int64 sixteen = (from - lane) / 16 + lane;
    if (sixteen * 16 < n) {
      const uint2 seen = words[round * ITEMS + lane / 2];
      const unsigned low = seen.x & 0xffff;
      const T before = of_warp + (int)(seen.y + (lane & 1 ? __popc(low) : 0));
      report(word, base, op1(sixteen, before, (T)(lane & 1 ? seen.x >> 16 : low) PASS1));
    }
#else
    const bool whole = from - lane + 32 * ITEMS <= n;
    if (whole) {
#pragma unroll
      for (int k = 0; k < ITEMS; k++) EMIT_FLAG(k)
    } else {
#pragma unroll 1
      for (int k = 0; k < ITEMS && from + k * 32 < n; k++) EMIT_FLAG(k)
    }
#endif
  }
#else
  T start = combine(of_warp, before);
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    start = combine(start, value[k]);
    own_values[PADDED(lane * ITEMS + k)] = start;
  }
  __syncwarp();
  if (whole) {
#pragma unroll
    for (int k = 0; k < ITEMS; k++) EMIT(k)
  } else {
#pragma unroll 1
    for (int k = 0; k < ITEMS && first + k * 32 < n; k++) EMIT(k)
  }
#endif

  if (threadIdx.x == 0) shared_last = last;
  __syncthreads();
  if (shared_last) {
    for (unsigned t = threadIdx.x; t < gridDim.x; t += 256) status.clear(t);
    if (threadIdx.x == 0) *state = 0;
  }
}
