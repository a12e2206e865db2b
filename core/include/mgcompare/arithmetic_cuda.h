#pragma once

// The GPU half of arithmetic.h: what its functions do on a CUDA device. Included by nvcc only, through arithmetic.h.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "mgcompare/device.h"
#include "mgcompare/types.h"

namespace mgcompare {

struct Segment;

namespace cuda {
namespace arithmetic {

inline constexpr unsigned kThreads = 256;

inline cudaStream_t stream_of(Device& device) { return static_cast<cudaStream_t>(device.stream()); }

inline void check_launch() {
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) throw Error(std::string("CUDA refused a strategy's kernel: ") + cudaGetErrorString(status));
}

inline unsigned blocks_for(std::size_t n) {
  const std::size_t blocks = (n + kThreads - 1) / kThreads;
  return static_cast<unsigned>(blocks < 2112 ? blocks : 2112);
}

// Whether this block is the last of `blocks` that come here: then all of its threads see what all threads of the others
// wrote before. Every thread calls it; `arrived` is zero before and after. The fences of one thread stand for its block:
// the barrier orders what the block wrote ahead of the first fence, which with the addition publishes it to the device; the
// last block's second fence takes up what the additions before its own published, and the barrier behind it hands that on
// to the block's other threads. Plain loads and __ldcg read it; __ldg may not, for it asks a cache that knows no fences.
__device__ inline bool last_to_arrive(unsigned* arrived, unsigned blocks) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    __threadfence();
    last = atomicAdd(arrived, 1u) == blocks - 1;
    if (last) *arrived = 0;
    __threadfence();
  }
  __syncthreads();
  return last;
}

template <class F> __global__ void each(std::size_t n, F f) {
  const std::size_t stride = gridDim.x * static_cast<std::size_t>(blockDim.x);
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < n; i += stride) f(i);
}

// A warp a segment. Lane l adds the elements l, l + 32, ...; then the lanes' sums are added pairwise.
template <class S, class T, class Map> __global__ void reduce_segments(Span<const S> segments, Span<T> out, Map map) {
  __shared__ alignas(16) unsigned char memory[kThreads * sizeof(T)];
  T* const sums = reinterpret_cast<T*>(memory);
  const unsigned lane = threadIdx.x % 32;
  const std::size_t warps = gridDim.x * static_cast<std::size_t>(blockDim.x / 32);
  for (std::size_t s = (blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x) / 32; s < segments.size();
       s += warps) {
    const S segment = segments[s];
    T sum{};
    for (std::uint32_t j = lane; j < segment.count; j += 32)
      sum += map(segment.begin + static_cast<std::size_t>(j) * segment.stride);
    sums[threadIdx.x] = sum;
    __syncwarp();
    for (unsigned offset = 16; offset > 0; offset /= 2) {
      if (lane < offset) sums[threadIdx.x] += sums[threadIdx.x + offset];
      __syncwarp();
    }
    if (lane == 0) out[s] = sums[threadIdx.x];
    __syncwarp();
  }
}

// A warp a segment, a word at a time: lane j asks for bit j.
template <class S, class Bit>
__global__ void pack_segments(Span<const S> segments, Span<const std::uint32_t> first_word, Span<std::uint32_t> words,
                              Bit bit) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t warps = gridDim.x * static_cast<std::size_t>(blockDim.x / 32);
  for (std::size_t s = (blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x) / 32; s < segments.size();
       s += warps) {
    const S segment = segments[s];
    for (std::uint32_t base = 0; base < segment.count; base += 32) {
      const std::uint32_t j = base + lane;
      const bool set = j < segment.count && bit(segment.begin + static_cast<std::size_t>(j) * segment.stride);
      const unsigned word = __ballot_sync(0xffffffffu, set);
      if (lane == 0) words[first_word[s] + base / 32] = word;
    }
  }
}

}  // namespace arithmetic

template <class F> void for_each(Device& device, std::size_t n, F f) {
  if (n == 0) return;
  arithmetic::each<<<arithmetic::blocks_for(n), arithmetic::kThreads, 0, arithmetic::stream_of(device)>>>(n, f);
  arithmetic::check_launch();
}

template <class S, class T, class Map>
void segmented_reduce(Device& device, Span<const S> segments, Span<T> out, Map map) {
  if (segments.empty()) return;
  arithmetic::reduce_segments<<<arithmetic::blocks_for(segments.size() * 32), arithmetic::kThreads, 0,
                                arithmetic::stream_of(device)>>>(segments, out, map);
  arithmetic::check_launch();
}

template <class S, class Bit>
void pack_bits(Device& device, Span<const S> segments, Span<const std::uint32_t> first_word, Span<std::uint32_t> words,
               Bit bit) {
  if (segments.empty()) return;
  arithmetic::pack_segments<<<arithmetic::blocks_for(segments.size() * 32), arithmetic::kThreads, 0,
                              arithmetic::stream_of(device)>>>(segments, first_word, words, bit);
  arithmetic::check_launch();
}

}  // namespace cuda
}  // namespace mgcompare
