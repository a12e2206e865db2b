#pragma once

// The GPU side of select() in select.h. Compiled by nvcc only.
//
// One pass computes the output positions: each tile adds the counts of the tiles before it (Merrill and Garland:
// "Single-pass parallel prefix scan with decoupled look-back", NVIDIA 2016). Tiles take numbers as they start, so a
// tile only waits for tiles that run already. Positions depend on counts only, not on timing.

#include "mgcompare/detail/block_cuda.h"

namespace mgcompare::top_k::gpu {

namespace arithmetic = cuda::arithmetic;

namespace selection {

inline constexpr unsigned kWarps = arithmetic::kThreads / 32;
inline constexpr int kFew = 6;  // up to so many elements of a word are written by its own thread
// Elements of a tile: a thread has kWords words of 32 elements.
template <class What> inline constexpr unsigned kTile = arithmetic::kThreads * What::kWords * 32;
static_assert(arithmetic::kThreads * 32 >= 8192, "selection_scratch() assumes it");

// Two counts of 31 bits in one word, and two bits that say whether they are of one tile or of all tiles up to it.
using Word = unsigned long long;
inline constexpr Word kOfTile = 1ull << 62, kOfAll = 2ull << 62, kNumbers = (1ull << 62) - 1;
__device__ inline Word pack(unsigned yes, unsigned if_room) { return static_cast<Word>(yes) << 31 | if_room; }
__device__ inline unsigned yes_of(Word word) { return static_cast<unsigned>(word >> 31) & 0x7fffffffu; }
__device__ inline unsigned if_room_of(Word word) { return static_cast<unsigned>(word) & 0x7fffffffu; }

// One bit for each of 32 elements: selected, and selected while there is room.
struct Wanted {
  unsigned yes, if_room;
};

// Transposes the bits of a warp: bit b of lane l becomes bit l of lane b.
__device__ inline unsigned turn(unsigned bits) {
  unsigned lower = 0x0000ffffu;
#pragma unroll
  for (unsigned side = 16; side > 0; side /= 2, lower ^= lower << side) {
    const unsigned other = __shfl_xor_sync(0xffffffffu, bits, side);
    bits = (threadIdx.x & side) == 0 ? (bits & lower) | (other & lower) << side : (bits & ~lower) | (other >> side & lower);
  }
  return bits;
}

// The scratch memory. All of it but the marks is zeroed before each selection.
struct Scratch {
  struct Found {
    unsigned tiles_started;
    unsigned blocks_started, blocks_done, passes_done;
    unsigned low;            // the lower end of the window of keys that are counted
    unsigned above;          // keys above the window
    unsigned limit, room;    // keys above the limit are selected, and `room` keys that equal it
    unsigned known, marked;  // whether the limit is known, and whether elements above and in the window are marked
  };
  Found* found;
  unsigned* bins;
  Word* tiles;
  Wanted* marks;
  Span<std::uint64_t> zeroed;
  Scratch(Span<std::uint64_t> memory, std::size_t n)
      : found(reinterpret_cast<Found*>(memory.data())), bins(reinterpret_cast<unsigned*>(memory.data() + 8)),
        tiles(reinterpret_cast<Word*>(memory.data() + 8 + 4096)),
        zeroed(memory.data(), 8 + 4096 + n / 8192 + 1) {
    marks = reinterpret_cast<Wanted*>(zeroed.end());
  }
};
static_assert(sizeof(Scratch::Found) <= 8 * sizeof(std::uint64_t));

// The counts of all tiles before this one: one warp reads 32 tiles at a time, nearest first.
__device__ inline Word look_back(volatile Word* tiles, unsigned tile) {
  const unsigned lane = threadIdx.x % 32;
  Word before = 0;
  for (long long nearest = static_cast<long long>(tile) - 1;; nearest -= 32) {
    const long long asked = nearest - lane;
    Word word = kOfAll;
    if (asked >= 0)
      do word = tiles[asked];
      while ((word & ~kNumbers) == 0);
    const unsigned complete = __ballot_sync(0xffffffffu, (word & kOfAll) != 0);
    const unsigned last = complete == 0 ? 31 : __ffs(static_cast<int>(complete)) - 1;
    Word numbers = lane <= last ? word & kNumbers : 0;
    for (unsigned offset = 16; offset > 0; offset /= 2) numbers += __shfl_xor_sync(0xffffffffu, numbers, offset);
    before += numbers;
    if (complete != 0) return before;
  }
}

// Calls ask() for 32 words of elements, beginning at `first`, one word of 32 consecutive elements at a time. Lane l gets
// the result of word l.
template <class Ask> __device__ Wanted ask_in_rows(std::size_t first, std::size_t n, Ask ask) {
  const unsigned lane = threadIdx.x % 32;
  Wanted mine{0, 0};
#pragma unroll 8
  for (unsigned row = 0; row < 32; ++row) {
    const std::size_t i = first + row * 32 + lane;
    const int is = i < n ? ask(i) : 0;
    const unsigned yes = __ballot_sync(0xffffffffu, is == 2), if_room = __ballot_sync(0xffffffffu, is == 1);
    if (lane == row) mine = {yes, if_room};
  }
  return mine;
}

// A selection: wanted(first, n) returns the lanes' words of the warp's 32 words of elements from `first`.
template <class Keep> struct Kept {
  static constexpr unsigned kWords = 1;
  Keep keep;
  __device__ unsigned room() const { return 0; }
  __device__ Wanted wanted(std::size_t first, std::size_t n) const {
    return ask_in_rows(first, n, [&](std::size_t i) { return keep(i) ? 2 : 0; });
  }
};

// If elements are marked, few must be examined: each thread does so for its own, several at a time.
template <class Key> struct Largest {
  static constexpr unsigned kWords = 4;  // little work per element: large tiles, so that few wait for others
  Key key_of;
  const Scratch::Found* found;
  const Wanted* marks;  // for each 32 rows of 32 elements: bit r of entry l is element l of row r
  __device__ unsigned room() const { return found->room; }
  __device__ int is(unsigned key) const { return key > found->limit ? 2 : key == found->limit ? 1 : 0; }
  __device__ Wanted wanted(std::size_t first, std::size_t n) const {
    if (!found->marked) return ask_in_rows(first, n, [this](std::size_t i) { return is(key_of(i) >> 7); });
    if (first >= n) return {0, 0};
    const unsigned lane = threadIdx.x % 32;
    const Wanted mark = marks[first / 32 + lane];
    Wanted mine{mark.yes, 0};
    for (unsigned left = mark.if_room; left != 0;) {
      constexpr unsigned kAtOnce = 4;
      unsigned bits[kAtOnce], keys[kAtOnce] = {};
#pragma unroll
      for (unsigned k = 0; k < kAtOnce; ++k) {
        bits[k] = left & (0u - left);
        left ^= bits[k];
        if (bits[k] != 0) keys[k] = key_of(first + (__ffs(static_cast<int>(bits[k])) - 1) * 32 + lane) >> 7;
      }
#pragma unroll
      for (unsigned k = 0; k < kAtOnce; ++k) {
        const int what = is(keys[k]);
        mine.yes |= what == 2 ? bits[k] : 0;
        mine.if_room |= what == 1 ? bits[k] : 0;
      }
    }
    return {turn(mine.yes), __ballot_sync(0xffffffffu, mine.if_room != 0) != 0 ? turn(mine.if_room) : 0};
  }
};

// The lowest `count` set bits of a word.
__device__ inline unsigned first_bits(unsigned word, unsigned count) {
  while (static_cast<unsigned>(__popc(word)) > count) word &= ~(0x80000000u >> __clz(static_cast<int>(word)));
  return word;
}

template <class What>
__global__ void __launch_bounds__(arithmetic::kThreads)
    select_tiles(std::size_t n, What what, Scratch scratch, Span<std::uint32_t> indices, std::uint32_t* count) {
  constexpr unsigned kWords = What::kWords;
  __shared__ unsigned number;
  __shared__ Word of_warp[kWarps], before_tile;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (threadIdx.x == 0) number = atomicAdd(&scratch.found->tiles_started, 1u);
  __syncthreads();
  const unsigned tile = number;
  const std::size_t first = static_cast<std::size_t>(tile) * kTile<What> + warp * (kTile<What> / kWarps);

  // A warp has kWords times 32 consecutive words; lane l has word l of each 32.
  Wanted wanted[kWords];
  Word upto[kWords], of_all = 0;
#pragma unroll
  for (unsigned k = 0; k < kWords; ++k) {
    wanted[k] = what.wanted(first + k * 1024, n);
    upto[k] = pack(__popc(wanted[k].yes), __popc(wanted[k].if_room));
    for (unsigned offset = 1; offset < 32; offset *= 2) {
      const Word other = __shfl_up_sync(0xffffffffu, upto[k], offset);
      if (lane >= offset) upto[k] += other;
    }
    upto[k] += of_all;
    of_all = __shfl_sync(0xffffffffu, upto[k], 31);
  }
  if (lane == 0) of_warp[warp] = of_all;
  __syncthreads();

  Word here = 0, before = 0;
  for (unsigned w = 0; w < kWarps; ++w) {
    before += w < warp ? of_warp[w] : 0;
    here += of_warp[w];
  }
  if (warp == 0) {
    volatile Word* const tiles = scratch.tiles;
    if (lane == 0) tiles[tile] = here | (tile == 0 ? kOfAll : kOfTile);
    const Word found = tile == 0 ? 0 : look_back(tiles, tile);
    if (lane == 0) {
      tiles[tile] = (found + here) | kOfAll;
      before_tile = found;
    }
  }
  __syncthreads();
  before += before_tile;

  const unsigned room = what.room();
#pragma unroll
  for (unsigned k = 0; k < kWords; ++k) {
    const Word own = before + upto[k] - pack(__popc(wanted[k].yes), __popc(wanted[k].if_room));
    const unsigned taken_before = min(if_room_of(own), room);
    const unsigned taken = wanted[k].yes | first_bits(wanted[k].if_room, room - taken_before);
    const unsigned at = yes_of(own) + taken_before;
    const std::size_t of_lane = first + k * 1024 + lane * 32;
    if (__ballot_sync(0xffffffffu, __popc(taken) > kFew) == 0) {
      unsigned to = at;
      for (unsigned left = taken; left != 0; left &= left - 1, ++to)
        if (to < indices.size()) indices[to] = static_cast<std::uint32_t>(of_lane + __ffs(static_cast<int>(left)) - 1);
      continue;
    }
    // Many elements: the warp writes one word at a time, so that writes are coalesced.
    for (unsigned rows = __ballot_sync(0xffffffffu, taken != 0); rows != 0; rows &= rows - 1) {
      const int row = __ffs(static_cast<int>(rows)) - 1;
      const unsigned word = __shfl_sync(0xffffffffu, taken, row);
      const unsigned to = __shfl_sync(0xffffffffu, at, row) + __popc(word & ((1u << lane) - 1u));
      if (((word >> lane) & 1u) != 0 && to < indices.size())
        indices[to] = static_cast<std::uint32_t>(first + k * 1024 + static_cast<unsigned>(row) * 32 + lane);
    }
  }
  if (count != nullptr && tile == gridDim.x - 1 && threadIdx.x == 0) {
    const Word all = before_tile + here;
    count[0] = yes_of(all) + min(if_room_of(all), room);
  }
}

template <class What> unsigned tiles_of(std::size_t n) { return static_cast<unsigned>((n + kTile<What> - 1) / kTile<What>); }

}  // namespace selection

template <class Keep>
void select(Device& device, std::size_t n, Keep keep, Span<std::uint32_t> indices, Span<std::uint32_t> count,
            Span<std::uint64_t> memory) {
  if (n == 0) {
    device.zero(count.data(), sizeof(std::uint32_t));
    return;
  }
  const selection::Scratch scratch(memory, n);
  device.zero(scratch.zeroed.data(), scratch.zeroed.bytes());
  using Kept = selection::Kept<Keep>;
  selection::select_tiles<<<selection::tiles_of<Kept>(n), arithmetic::kThreads, 0, arithmetic::stream_of(device)>>>(
      n, Kept{keep}, scratch, indices, count.data());
  arithmetic::check_launch();
}

}  // namespace mgcompare::top_k::gpu
