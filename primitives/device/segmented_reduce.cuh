// Segmented reduction without a cliff: up to SERIAL elements by one thread, up to PIECE by one warp, and
// longer segments cut into pieces that a second kernel spreads over the whole device.
//
// With GROUP 32 every segment has its warp from the start (for long mean lengths); with GROUP 1 the
// warp takes over the long segments of its 32 threads, one after the other.
//
// op0(acc, segment) starts an accumulator of WIDTH values of type T, op1(acc, segment, position) adds an
// element to it, op2(acc, other, segment) merges another one into it, op3(acc, segment) writes the result.
//
// The state is zero before and after every launch (pair of launches):
//     unsigned pieces, finished, taken; (32 bytes)  Piece list[capacity];  Acc partial[capacity];  unsigned arrived[capacity]
#define SERIAL 16
#define AHEAD 4  // elements that a thread loads together
#define PIECE 8192
#define THREADS 256

struct alignas(sizeof(T)) Acc { T v[WIDTH]; };
struct Piece { int64 segment, begin, end, first, count; };

// AHEAD elements at a time, each behind its own condition: their loads are under way together, also in
// the last round.
#define REDUCE_RANGE(acc, segment, begin, end, stride)                                       \
  for (int64 j = (begin); j < (end); j += AHEAD * (stride)) {                                \
    _Pragma("unroll") for (int k = 0; k < AHEAD; k++)                                        \
      if (j + k * (stride) < (end))                                                          \
        report(word, base, op1((acc).v, segment, j + k * (stride) PASS1));                   \
  }

#define MERGE_WARP(acc, segment)                        \
  _Pragma("unroll") for (int d = 16; d > 0; d /= 2) {   \
    Acc other = shuffle_down(acc, d);                   \
    op2((acc).v, other.v, segment PASS2);               \
  }

// Eight blocks on a multiprocessor: the loads in flight of a full one are what reaches the bandwidth.
extern "C" __global__ void __launch_bounds__(THREADS, 8)
kernel(unsigned long long* word, unsigned long long base, long long segments, const OFFSET* offsets,
       unsigned* state, long long capacity DECLARE0 DECLARE1 DECLARE2 DECLARE3) {
  if (errorflag_skip(word, base)) return;
  const int lane = threadIdx.x & 31;
  // In turns, where there are so many segments that starting a block for 256 of them would take longer than they do.
  const int64 step = gridDim.x * (int64)THREADS / GROUP;
  int64 i = (blockIdx.x * (int64)THREADS + threadIdx.x) / GROUP;
#pragma unroll 1
  for (; i - (GROUP == 1 ? lane : 0) < segments; i += step) {
    int64 begin = 0, end = 0;
    const bool own = i < segments;
    if (own) {
      begin = (int64)offsets[i];
      end = (int64)offsets[i + 1];
    }
#if GROUP == 1
    if (own && end - begin <= SERIAL) {
      Acc acc;
      report(word, base, op0(acc.v, i PASS0));
      const int length = (int)(end - begin);
#pragma unroll
      for (int k = 0; k < AHEAD; k++)
        if (k < length) report(word, base, op1(acc.v, i, begin + k PASS1));
      for (int64 j = begin + AHEAD; j < end; j++) report(word, base, op1(acc.v, i, j PASS1));
      report(word, base, op3(acc.v, i PASS3));
    }
    unsigned waiting = __ballot_sync(FULL, own && end - begin > SERIAL);
#else
    unsigned waiting = own ? 1u : 0u;
#endif
    while (waiting) {
      const int source = __ffs(waiting) - 1;
      waiting &= waiting - 1;
      const int64 segment = __shfl_sync(FULL, i, source);
      const int64 from = __shfl_sync(FULL, begin, source);
      const int64 to = __shfl_sync(FULL, end, source);
      bool here = true;
      if (to - from > PIECE && capacity > 0) {
        // Hand it to the second kernel, if there is room for its pieces, as there is for valid offsets.
        const unsigned count = (unsigned)((to - from + PIECE - 1) / PIECE);
        unsigned first = 0;
        if (lane == 0) first = atomicAdd(state, count);
        first = __shfl_sync(FULL, first, 0);
        here = (int64)first + count > capacity;
        if (!here) {
          Piece* list = (Piece*)(state + 8);
          for (unsigned k = lane; k < count; k += 32) {
            const int64 b = from + (int64)k * PIECE;
            list[first + k] = Piece{segment, b, b + PIECE < to ? b + PIECE : to, first, count};
          }
        }
      }
      if (here) {
        Acc acc;
        report(word, base, op0(acc.v, segment PASS0));
        REDUCE_RANGE(acc, segment, from + lane, to, 32)
        MERGE_WARP(acc, segment)
        if (lane == 0) report(word, base, op3(acc.v, segment PASS3));
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
pieces(unsigned long long* word, unsigned long long base, long long segments, const OFFSET* offsets,
       unsigned* state, long long capacity DECLARE0 DECLARE1 DECLARE2 DECLARE3) {
  if (errorflag_skip(word, base)) return;
  __shared__ Acc warp_acc[THREADS / 32];
  __shared__ bool shared_last;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const Piece* list = (const Piece*)(state + 8);
  Acc* partial = (Acc*)(list + capacity);
  unsigned* arrived = (unsigned*)(partial + capacity);
  const int64 listed = state[0];
  const int64 count = listed < capacity ? listed : capacity;

  __shared__ int64 shared_item;
  while (true) {
    if (threadIdx.x == 0) shared_item = atomicAdd(state + 2, 1u);
    __syncthreads();
    const int64 item = shared_item;
    if (item >= count) break;
    const Piece piece = list[item];
    __syncthreads();
    if (piece.count == 0) continue;  // room that a segment asked for and could not have
    for (int round = 0; round < 2; round++) {
      // Round 0 reduces the elements of this piece, round 1 the pieces of the segment, if this is its last.
      Acc acc;
      report(word, base, op0(acc.v, piece.segment PASS0));
      if (round == 0) {
        REDUCE_RANGE(acc, piece.segment, piece.begin + threadIdx.x, piece.end, THREADS)
      } else {
        for (int64 k = threadIdx.x; k < piece.count; k += THREADS) {
          Acc other;
          for (int w = 0; w < WIDTH; w++) other.v[w] = ((volatile T*)partial[piece.first + k].v)[w];
          op2(acc.v, other.v, piece.segment PASS2);
        }
      }
      MERGE_WARP(acc, piece.segment)
      if (lane == 0) warp_acc[warp] = acc;
      __syncthreads();
      if (threadIdx.x == 0) {
        for (int w = 1; w < THREADS / 32; w++) {
          Acc other = warp_acc[w];
          op2(acc.v, other.v, piece.segment PASS2);
        }
        if (round == 0) {
          for (int w = 0; w < WIDTH; w++) ((volatile T*)partial[item].v)[w] = acc.v[w];
          __threadfence();
          shared_last = atomicAdd(arrived + piece.first, 1u) == (unsigned)piece.count - 1;
          if (shared_last) arrived[piece.first] = 0;
          __threadfence();
        } else {
          report(word, base, op3(acc.v, piece.segment PASS3));
        }
      }
      __syncthreads();
      if (!shared_last) break;
    }
    __syncthreads();
  }

  // The last block to finish clears the list, for the next launch.
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    shared_last = atomicAdd(state + 1, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (shared_last) {
    for (int64 k = threadIdx.x; k < count; k += THREADS) ((Piece*)list)[k].count = 0;
    if (threadIdx.x < 3) state[threadIdx.x] = 0;
  }
}
