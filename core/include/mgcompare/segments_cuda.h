#pragma once

// The GPU half of what arithmetic.h does by segments and by teams. Included by nvcc only, through arithmetic.h.

#include "mgcompare/arithmetic_cuda.h"
#include "mgcompare/segments.h"

namespace mgcompare::cuda {
namespace segments {

// The sum over a block, in a fixed order, for all of its threads. T has operator+= and shuffles as floats.
template <class T> __device__ T sum_of_block(T sum) {
  __shared__ alignas(16) unsigned char memory[33 * sizeof(T)];
  T* const of_warp = reinterpret_cast<T*>(memory);
  constexpr unsigned kFloats = sizeof(T) / sizeof(float);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const auto add_warp = [&](T value) {
    for (unsigned offset = 16; offset > 0; offset /= 2) {
      T other;
      for (unsigned k = 0; k < kFloats; ++k)
        reinterpret_cast<float*>(&other)[k] =
            __shfl_down_sync(0xffffffffu, reinterpret_cast<const float*>(&value)[k], offset);
      value += other;
    }
    return value;
  };
  sum = add_warp(sum);
  __syncthreads();  // what an earlier sum left has been read
  if (lane == 0) of_warp[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    T part = lane < warps ? of_warp[lane] : T{};
    part = add_warp(part);
    if (lane == 0) of_warp[32] = part;
  }
  __syncthreads();
  return of_warp[32];
}

struct Team {
  __device__ std::size_t rank() const { return threadIdx.x; }
  __device__ std::size_t size() const { return blockDim.x; }
  __device__ float sum(float value) const {
    return sum_of_block(Sums<1>{{value}}).at[0];
  }
  __device__ void wait() const { __syncthreads(); }
};

template <class F> __global__ void each_team(F f) {
  Team team;
  f(team, static_cast<std::size_t>(blockIdx.x));
}

template <class F>
__global__ void each_in(Span<const Segment> all, Span<const Tile> tiles, F f) {
  const Tile tile = tiles[blockIdx.x];
  const Segment segment = all[tile.segment];
  for (std::uint32_t k = threadIdx.x; k < tile.count; k += blockDim.x) {
    const std::uint32_t j = tile.begin + k;
    f(tile.segment, j, segment.begin + static_cast<std::size_t>(j) * segment.stride);
  }
}

// Of an SM: one block loads while another stores.
inline constexpr unsigned kBlocks = 2;

// A block's elements: each warp takes 32 consecutive ones at a time, so that a ballot makes a word.
template <class Coder> struct Held {
  float values[SegmentTable::kHeld];
  const Coder& coder;
  const Segment segment;
  const Tile tile;
  __device__ std::uint32_t row(unsigned k) const { return (k * (blockDim.x / 32) + threadIdx.x / 32) * 32; }
  __device__ std::size_t index(std::uint32_t j) const {
    return segment.begin + static_cast<std::size_t>(tile.begin + j) * segment.stride;
  }
  __device__ Held(const Coder& c, const Segment& s, const Tile& t) : coder(c), segment(s), tile(t) {
#pragma unroll
    for (unsigned k = 0; k < SegmentTable::kHeld; ++k) {
      const std::uint32_t j = row(k) + threadIdx.x % 32;
      if (j < tile.count) values[k] = coder.load(index(j));
    }
  }
  __device__ Sums<Coder::kSums> sum() const {
    Sums<Coder::kSums> own;
#pragma unroll
    for (unsigned k = 0; k < SegmentTable::kHeld; ++k)
      if (row(k) + threadIdx.x % 32 < tile.count) own += coder.gather(values[k]);
    return sum_of_block(own);
  }
};

template <class Coder>
__global__ void __launch_bounds__(SegmentTable::kMostThreads, kBlocks)
    sum_tiles(Span<const Segment> all, Span<const Tile> tiles, Coder coder, Sums<Coder::kSums>* partials) {
  const Tile tile = tiles[blockIdx.x];
  if (tile.of_segment == 1) return;
  const Held<Coder> held(coder, all[tile.segment], tile);
  const Sums<Coder::kSums> sum = held.sum();
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

// A segment's tiles are added once, by the block of its first one, not by all that need the sum.
template <std::size_t N> __global__ void sum_segments(Span<const Tile> tiles, Sums<N>* partials) {
  const Tile tile = tiles[blockIdx.x];
  if (tile.of_segment == 1 || tile.begin != 0) return;
  Sums<N> sum;
  for (std::uint32_t t = threadIdx.x; t < tile.of_segment; t += blockDim.x) sum += partials[blockIdx.x + t];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) partials[gridDim.x + blockIdx.x] = sum;
}

template <class Coder>
__global__ void __launch_bounds__(SegmentTable::kMostThreads, kBlocks)
    encode_tiles(Span<const Segment> all, Span<const Tile> tiles, unsigned bits, Coder coder,
                 const Sums<Coder::kSums>* partials) {
  const Tile tile = tiles[blockIdx.x];
  const Segment segment = all[tile.segment];
  const Held<Coder> held(coder, segment, tile);
  const Sums<Coder::kSums> sum = tile.of_segment == 1 ? held.sum() : partials[gridDim.x + tile.first_of_segment];
  const auto levels = coder.levels(tile.segment, segment.count, sum);
  if (threadIdx.x == 0 && tile.begin == 0) coder.store(tile.segment, levels);
  std::uint32_t* const words = coder.words(tile.segment);
#pragma unroll
  for (unsigned k = 0; k < SegmentTable::kHeld; ++k) {
    const std::uint32_t row = held.row(k), j = row + threadIdx.x % 32;
    if (row < tile.count) {
      const unsigned code = j < tile.count ? coder.code(held.index(j), held.values[k], levels) : 0;
      for (unsigned b = 0; b < bits; ++b) {
        const unsigned word = __ballot_sync(0xffffffffu, (code >> b) & 1u);
        if (threadIdx.x % 32 == 0) words[static_cast<std::size_t>(tile.begin + row) / 32 * bits + b] = word;
      }
    }
  }
}

}  // namespace segments

template <class F> void for_each_in(Device& device, const SegmentTable& table, F f) {
  if (table.tiles().empty()) return;
  segments::each_in<<<static_cast<unsigned>(table.tiles().size()), table.threads(), 0, arithmetic::stream_of(device)>>>(
      table.segments(), table.tiles(), f);
  arithmetic::check_launch();
}

template <class Coder> void encode(Device& device, const SegmentTable& table, unsigned bits, const Coder& coder) {
  static_assert(Coder::kSums <= SegmentTable::kMostSums);
  if (table.tiles().empty()) return;
  const auto blocks = static_cast<unsigned>(table.tiles().size());
  const cudaStream_t stream = arithmetic::stream_of(device);
  auto* const partials = reinterpret_cast<Sums<Coder::kSums>*>(table.partials().data());
  if (partials != nullptr) {
    segments::sum_tiles<<<blocks, table.threads(), 0, stream>>>(table.segments(), table.tiles(), coder, partials);
    segments::sum_segments<<<blocks, table.threads(), 0, stream>>>(table.tiles(), partials);
  }
  segments::encode_tiles<<<blocks, table.threads(), 0, stream>>>(table.segments(), table.tiles(), bits, coder, partials);
  arithmetic::check_launch();
}

template <class F> void for_each_team(Device& device, std::size_t n, F f) {
  if (n == 0) return;
  segments::each_team<<<static_cast<unsigned>(n), arithmetic::kThreads, 0, arithmetic::stream_of(device)>>>(f);
  arithmetic::check_launch();
}

}  // namespace mgcompare::cuda
