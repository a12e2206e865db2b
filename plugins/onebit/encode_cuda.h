#pragma once

// The GPU side of encode.h. Compiled by nvcc only.

#include "mgcompare/detail/block_cuda.h"
#include "segment_table.h"

namespace mgcompare::onebit::gpu {

namespace arithmetic = cuda::arithmetic;

// Each row of a block (threadIdx.y) has one tile. Rows beyond the last tile get an empty one.
__device__ inline Tile tile_of(Span<const Tile> tiles, unsigned block) {
  const std::size_t number = block * static_cast<std::size_t>(blockDim.y) + threadIdx.y;
  Tile tile = tiles[min(number, tiles.size() - 1)];
  if (number >= tiles.size()) tile.count = 0;
  return tile;
}

template <class F> __global__ void each_in(Span<const Tile> tiles, F f) {
  const Tile tile = tile_of(tiles, blockIdx.x);
  for (std::uint32_t k = threadIdx.x; k < tile.count * tile.columns; k += blockDim.x) {
    const std::uint32_t row = tile.columns == 1 ? k : k / tile.columns, column = k - row * tile.columns;
    f(tile.segment + column, tile.begin + row, tile.first + column + static_cast<std::size_t>(row) * tile.stride);
  }
}

// A thread's elements of a tile, one per step of its warp. A step covers 32 elements of a segment, or 32 / kColumns elements
// of each of kColumns segments.
template <unsigned kColumns> class Share {
 public:
  explicit __device__ Share(const Tile& tile)
      : tile_(tile), row_(threadIdx.x / 32 * kSteps * kRows),
        left_(static_cast<int>(tile.count) - static_cast<int>(row_ + threadIdx.x % 32 / kColumns)),
        first_(tile.first + threadIdx.x % kColumns + (row_ + threadIdx.x % 32 / kColumns) * stride()) {
    if (threadIdx.x % kColumns >= tile.columns) left_ = 0;
  }
  // Threads without a column use the last column.
  __device__ unsigned column() const { return min(threadIdx.x % kColumns, tile_.columns - 1); }

  // All loads are issued before the first sum.
  template <class Coder> __device__ Sums<Coder::kSums> load(const Coder& coder) {
#pragma unroll
    for (unsigned step = 0; step < kSteps; ++step)
      if (has(step)) values_[step] = coder.load(index(step));
    Sums<Coder::kSums> sum;
#pragma unroll
    for (unsigned step = 0; step < kSteps; ++step)
      if (has(step)) sum += coder.gather(values_[step]);
    return sum;
  }

  // The codes of kColumns steps belong to 32 elements: one word for each bit and column.
  template <class Coder, class Levels>
  __device__ void write(const Coder& coder, unsigned bits, const Levels& levels, std::uint32_t* words) const {
    const unsigned lane = threadIdx.x % 32;
    const std::uint32_t rows = row_ < tile_.count ? min(tile_.count - row_, kSteps * kRows) : 0, wanted = (rows + 31) / 32 * bits;
    words += (tile_.begin + row_) / 32 * static_cast<std::size_t>(bits);
    std::uint32_t number = 0, kept = 0;
#pragma unroll
    for (unsigned step = 0; step < kSteps; step += kColumns) {
      if (number == wanted) return;
      std::uint32_t codes[kColumns];
#pragma unroll
      for (unsigned k = 0; k < kColumns; ++k)
        codes[k] = has(step + k) ? coder.code(index(step + k), values_[step + k], levels) : 0;
      for (unsigned b = 0; b < bits; ++b, ++number) {
        const std::uint32_t word = word_of(codes, b);
        if constexpr (kColumns > 1) {
          if (lane < tile_.columns) words[number] = word;
        } else {  // each lane keeps one word, so that 32 words are written at a time
          if (lane == number % 32) kept = word;
          if ((number % 32 == 31 || number + 1 == wanted) && lane <= number % 32) words[number / 32 * 32 + lane] = kept;
        }
      }
    }
  }

 private:
  static constexpr unsigned kSteps = Tiling::kHeld, kRows = 32 / kColumns;

  __device__ std::size_t stride() const { return kColumns == 1 ? 1 : tile_.stride; }
  __device__ bool has(unsigned step) const { return left_ > static_cast<int>(kRows * step); }
  __device__ std::size_t index(unsigned step) const { return first_ + kRows * step * stride(); }

  // Bit j is bit b of the code of element j of this thread's column.
  __device__ static std::uint32_t word_of(const std::uint32_t (&codes)[kColumns], unsigned b) {
    std::uint32_t word = 0;
#pragma unroll
    for (unsigned k = 0; k < kColumns; ++k) {
      const unsigned step = __ballot_sync(0xffffffffu, (codes[k] >> b) & 1u);
      if constexpr (kColumns == 1) word = step;
      else
#pragma unroll
        for (unsigned row = 0; row < kRows; ++row)
          word |= ((step >> (row * kColumns + threadIdx.x % kColumns)) & 1u) << (k * kRows + row);
    }
    return word;
  }

  const Tile& tile_;
  std::uint32_t row_;  // this warp's first row of the tile
  int left_;           // rows of the tile from this thread's first row on
  std::size_t first_;  // this thread's first element
  float values_[kSteps];
};

inline constexpr unsigned kUsualWarps = 8;  // of a block with several short tiles
inline constexpr unsigned kMostThreads = Tiling::kMostWarps * 32;
// Blocks per SM, at least: one loads while another computes or stores. The sums need fewer registers.
inline constexpr unsigned kSummingBlocks = 3, kEncodingBlocks = 2;

// For segments of several tiles, one block per tile. The last block of a segment adds the sums of its tiles.
template <unsigned kColumns, class Coder>
__global__ void __launch_bounds__(kMostThreads, kSummingBlocks)
    sum_tiles(Span<const Tile> tiles, Coder coder, Sums<Coder::kSums>* partials, unsigned* arrived) {
  const Tile tile = tiles[blockIdx.x];
  if (tile.tiles == 1) return;
  Sums<Coder::kSums> sum = arithmetic::sum_of_warps<kColumns>(Share<kColumns>(tile).load(coder));
  if (threadIdx.x < kColumns) partials[blockIdx.x * kColumns + threadIdx.x] = sum;
  if (!arithmetic::last_to_arrive(arrived + tile.first_tile, tile.tiles)) return;
  sum = {};
  for (std::uint32_t k = threadIdx.x; k < tile.tiles * kColumns; k += blockDim.x) {
    Sums<Coder::kSums> other;
    for (std::size_t n = 0; n < Coder::kSums; ++n) other.at[n] = __ldcg(partials[tile.first_tile * kColumns + k].at + n);
    sum += other;
  }
  sum = arithmetic::sum_of_warps<kColumns>(sum);
  if (threadIdx.x < kColumns) partials[(gridDim.x + tile.first_tile) * kColumns + threadIdx.x] = sum;
}

// Last tiles first: what sum_tiles read last is still in the cache.
template <unsigned kColumns, class Coder>
__global__ void __launch_bounds__(kMostThreads, kEncodingBlocks)
    encode_tiles(Span<const Tile> tiles, unsigned bits, Coder coder, const Sums<Coder::kSums>* partials) {
  const Tile tile = tile_of(tiles, gridDim.x - 1 - blockIdx.x);
  Share<kColumns> share(tile);
  const std::uint32_t segment = tile.segment + share.column();
  std::uint32_t* const words = coder.words(segment);  // early, because it may be a load
  Sums<Coder::kSums> sum = share.load(coder);
  if (tile.tiles > 1) sum = partials[(gridDim.x + tile.first_tile) * kColumns + share.column()];
  else sum = arithmetic::sum_of_warps<kColumns>(sum);
  const auto levels = coder.levels(segment, tile.of, sum);
  if (threadIdx.x < tile.columns && tile.begin == 0 && tile.count > 0) coder.store(segment, levels);
  share.write(coder, bits, levels, words);
}

// Short tiles share a block.
inline unsigned tiles_of_block(const Tiling& tiling) { return tiling.warps < kUsualWarps ? kUsualWarps / tiling.warps : 1; }
inline unsigned blocks_of(const Tiling& tiling) {
  return static_cast<unsigned>((tiling.tiles.size() + tiles_of_block(tiling) - 1) / tiles_of_block(tiling));
}
inline dim3 threads_of(const Tiling& tiling) { return {32 * tiling.warps, tiles_of_block(tiling)}; }

template <unsigned kColumns, class Coder>
void encode_tiling(Device& device, const Tiling& tiling, unsigned bits, const Coder& coder) {
  if (tiling.tiles.empty()) return;
  const cudaStream_t stream = arithmetic::stream_of(device);
  const unsigned blocks = blocks_of(tiling);
  const dim3 threads = threads_of(tiling);
  auto* const partials = reinterpret_cast<Sums<Coder::kSums>*>(tiling.partials.data());
  if (partials != nullptr)
    sum_tiles<kColumns><<<blocks, threads, 0, stream>>>(tiling.tiles.span(), coder, partials, tiling.arrived.data());
  encode_tiles<kColumns><<<blocks, threads, 0, stream>>>(tiling.tiles.span(), bits, coder, partials);
  arithmetic::check_launch();
}

template <class F> void for_each_in(Device& device, const SegmentTable& table, F f) {
  for (const Tiling* tiling : {&table.consecutive(), &table.columns()}) {
    if (tiling->tiles.empty()) continue;
    each_in<<<blocks_of(*tiling), threads_of(*tiling), 0, arithmetic::stream_of(device)>>>(
        tiling->tiles.span(), f);
  }
  arithmetic::check_launch();
}

template <class Coder> void encode(Device& device, const SegmentTable& table, unsigned bits, const Coder& coder) {
  static_assert(Coder::kSums <= Tiling::kMostSums);
  encode_tiling<1>(device, table.consecutive(), bits, coder);
  encode_tiling<Tiling::kMostColumns>(device, table.columns(), bits, coder);
}

}  // namespace mgcompare::onebit::gpu
