#pragma once

// The GPU half of arithmetic.h's selections. Included by nvcc only, through arithmetic.h.
//
// Positions come from one pass over the elements: each tile adds what the tiles before it have found ("decoupled
// look-back", Merrill and Garland: "Single-pass parallel prefix scan with decoupled look-back", NVIDIA 2016). Tiles are
// numbered as they start, so a tile only waits for tiles that run; positions depend on counts alone, not on timing.

#include "mgcompare/arithmetic_cuda.h"

namespace mgcompare::cuda {
namespace selection {

inline constexpr unsigned kRows = 16;                              // of 32 elements, of each warp of a tile
inline constexpr unsigned kWarps = arithmetic::kThreads / 32;
inline constexpr unsigned kTile = arithmetic::kThreads * kRows;
static_assert(kTile == 4096, "selection_scratch() counts on it");

// What an element is: not wanted, wanted while there is room for such, or wanted.
enum : unsigned { kNo = 0, kIfRoom = 1, kYes = 2 };

inline constexpr unsigned kCounters = 1024;  // threads that share a block's counts: the fewer blocks, the fewer counts to add

// Two numbers of 31 bits in one word, and whether they are of a tile or of all tiles up to it.
using Word = unsigned long long;
inline constexpr Word kOfTile = 1ull << 62, kOfAll = 2ull << 62, kNumbers = (1ull << 62) - 1;
__device__ inline Word pack(unsigned yes, unsigned if_room) { return static_cast<Word>(yes) << 31 | if_room; }
__device__ inline unsigned yes_of(Word word) { return static_cast<unsigned>(word >> 31) & 0x7fffffffu; }
__device__ inline unsigned if_room_of(Word word) { return static_cast<unsigned>(word) & 0x7fffffffu; }

// The scratch memory: zeroed before each selection.
struct Scratch {
  unsigned* started;   // tiles
  unsigned* found;     // [0] the first digit, [1] keys wanted of those with it, [2] both digits, [3] wanted of those
  unsigned* bins[2];   // 4096 each
  Word* tiles;
  explicit Scratch(Span<std::uint64_t> memory)
      : started(reinterpret_cast<unsigned*>(memory.data())), found(started + 2),
        bins{started + 16, started + 16 + 4096}, tiles(reinterpret_cast<Word*>(memory.data() + 8 + 4096)) {}
};

// What the tiles before this one have found: one warp asks, 32 tiles at a time, nearest first.
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

// `room[0]` says for how many elements of kIfRoom there is room; null where there are none.
template <class Judge>
__global__ void select_tiles(std::size_t n, Judge judge, const unsigned* room, Scratch scratch,
                             Span<std::uint32_t> indices, std::uint32_t* count) {
  __shared__ unsigned number;
  __shared__ Word of_warp[kWarps], before_tile;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, below = (1u << lane) - 1u;
  if (threadIdx.x == 0) number = atomicAdd(scratch.started, 1u);
  __syncthreads();
  const unsigned tile = number;
  const std::size_t first = static_cast<std::size_t>(tile) * kTile + warp * kRows * 32 + lane;

  unsigned yes[kRows], if_room[kRows], all_yes = 0, all_if_room = 0;
#pragma unroll
  for (unsigned row = 0; row < kRows; ++row) {
    const std::size_t i = first + row * 32;
    const unsigned is = i < n ? judge(i) : kNo;
    yes[row] = __ballot_sync(0xffffffffu, is == kYes);
    if_room[row] = __ballot_sync(0xffffffffu, is == kIfRoom);
    all_yes += __popc(yes[row]);
    all_if_room += __popc(if_room[row]);
  }
  if (lane == 0) of_warp[warp] = pack(all_yes, all_if_room);
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

  const unsigned most = room == nullptr ? 0 : room[0];
  before += before_tile;
  unsigned yes_before = yes_of(before), if_room_before = if_room_of(before);
#pragma unroll
  for (unsigned row = 0; row < kRows; ++row) {
    const unsigned my_yes = yes_before + __popc(yes[row] & below), mine = if_room_before + __popc(if_room[row] & below);
    const bool taken = ((yes[row] >> lane) & 1u) != 0 || (((if_room[row] >> lane) & 1u) != 0 && mine < most);
    const std::size_t at = static_cast<std::size_t>(my_yes) + min(mine, most);
    if (taken && at < indices.size()) indices[at] = static_cast<std::uint32_t>(first + row * 32);
    yes_before += __popc(yes[row]);
    if_room_before += __popc(if_room[row]);
  }
  if (count != nullptr && tile == gridDim.x - 1 && threadIdx.x == 0) {
    const Word all = before_tile + here;
    count[0] = yes_of(all) + min(if_room_of(all), most);
  }
}

// Counts the keys by their upper twelve bits, or, of those with the upper bits that were found, by their next twelve.
// Keys that are zero in what is looked at are not counted: they are what is left, and there may be very many.
template <int kDigit, class Key>
__global__ void __launch_bounds__(kCounters, 2) count_digits(std::size_t n, Key key_of, Scratch scratch) {
  __shared__ unsigned bins[4096];
  for (unsigned b = threadIdx.x; b < 4096; b += blockDim.x) bins[b] = 0;
  __syncthreads();
  const unsigned high = scratch.found[0];
  const std::size_t stride = gridDim.x * static_cast<std::size_t>(blockDim.x);
#pragma unroll 4
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < n; i += stride) {
    const unsigned key = key_of(i);
    if (kDigit == 0 && key >> 19 != 0) atomicAdd(bins + (key >> 19), 1u);
    if (kDigit == 1 && key >> 19 == high && ((key >> 7) & 4095u) != 0) atomicAdd(bins + ((key >> 7) & 4095u), 1u);
  }
  __syncthreads();
  for (unsigned b = threadIdx.x; b < 4096; b += blockDim.x)
    if (bins[b] != 0) atomicAdd(scratch.bins[kDigit] + b, bins[b]);
}

// The digit of the last key that is wanted. One block of 1024 threads, four bins each, the highest first.
template <int kDigit> __global__ void find_digit(Scratch scratch, unsigned wanted) {
  __shared__ unsigned sums[1024];
  if (kDigit == 1) wanted = scratch.found[1];
  const unsigned highest = 4095 - 4 * threadIdx.x;
  unsigned counts[4], own = 0;
  for (unsigned k = 0; k < 4; ++k) own += counts[k] = scratch.bins[kDigit][highest - k];
  sums[threadIdx.x] = own;
  for (unsigned offset = 1; offset < 1024; offset *= 2) {
    __syncthreads();
    const unsigned other = threadIdx.x >= offset ? sums[threadIdx.x - offset] : 0;
    __syncthreads();
    sums[threadIdx.x] += other;
  }
  __syncthreads();
  const auto found = [&](unsigned digit, unsigned left) {
    scratch.found[2 * kDigit] = kDigit == 0 ? digit : scratch.found[0] << 12 | digit;
    scratch.found[2 * kDigit + 1] = left;
  };
  unsigned above = sums[threadIdx.x] - own;
  // Not enough keys were counted: the rest are zeros.
  if (threadIdx.x == 1023 && sums[1023] < wanted) found(0, wanted - sums[1023]);
  if (above >= wanted || sums[threadIdx.x] < wanted) return;
  for (unsigned k = 0; k < 4; ++k) {
    if (above + counts[k] >= wanted) {
      found(highest - k, wanted - above);
      return;
    }
    above += counts[k];
  }
}

template <class Keep> struct Kept {
  Keep keep;
  __device__ unsigned operator()(std::size_t i) const { return keep(i) ? kYes : kNo; }
};

template <class Key> struct Largest {
  Key key_of;
  const unsigned* found;
  __device__ unsigned operator()(std::size_t i) const {
    const unsigned key = key_of(i) >> 7, limit = found[2];
    return key > limit ? kYes : key == limit ? kIfRoom : kNo;
  }
};

inline Scratch cleared(Device& device, Span<std::uint64_t> memory) {
  device.zero(memory.data(), memory.bytes());
  return Scratch(memory);
}

inline unsigned tiles_of(std::size_t n) { return static_cast<unsigned>((n + kTile - 1) / kTile); }

}  // namespace selection

template <class Keep>
void select(Device& device, std::size_t n, Keep keep, Span<std::uint32_t> indices, Span<std::uint32_t> count,
            Span<std::uint64_t> memory) {
  if (n == 0) {
    device.zero(count.data(), sizeof(std::uint32_t));
    return;
  }
  const selection::Scratch scratch = selection::cleared(device, memory);
  selection::select_tiles<<<selection::tiles_of(n), arithmetic::kThreads, 0, arithmetic::stream_of(device)>>>(
      n, selection::Kept<Keep>{keep}, nullptr, scratch, indices, count.data());
  arithmetic::check_launch();
}

template <class First, class Again>
void select_largest(Device& device, std::size_t n, First first, Again again, Span<std::uint32_t> indices,
                    Span<std::uint64_t> memory) {
  if (n == 0) return;
  const selection::Scratch scratch = selection::cleared(device, memory);
  const cudaStream_t stream = arithmetic::stream_of(device);
  const auto blocks = static_cast<unsigned>(n < 264 * selection::kCounters ? (n + selection::kCounters - 1) / selection::kCounters : 264);
  const auto wanted = static_cast<unsigned>(indices.size());
  selection::count_digits<0><<<blocks, selection::kCounters, 0, stream>>>(n, first, scratch);
  selection::find_digit<0><<<1, 1024, 0, stream>>>(scratch, wanted);
  selection::count_digits<1><<<blocks, selection::kCounters, 0, stream>>>(n, again, scratch);
  selection::find_digit<1><<<1, 1024, 0, stream>>>(scratch, wanted);
  selection::select_tiles<<<selection::tiles_of(n), arithmetic::kThreads, 0, stream>>>(
      n, selection::Largest<Again>{again, scratch.found}, scratch.found + 3, scratch, indices, nullptr);
  arithmetic::check_launch();
}

}  // namespace mgcompare::cuda
