#pragma once

// The GPU side of arithmetic.h. Compiled by nvcc only, included by detail/arithmetic.h.

#include "mgcompare/detail/block_cuda.h"
#include "mgcompare/segments.h"

namespace mgcompare {
namespace cuda {
namespace arithmetic {

template <class F> __global__ void each(std::size_t n, F f) {
  const std::size_t stride = gridDim.x * static_cast<std::size_t>(blockDim.x);
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < n; i += stride) f(i);
}

// One warp per segment. Lane l adds the elements l, l + 32, ...; then the lanes' sums are added pairwise.
template <class T, class Map> __global__ void reduce_segments(Span<const Segment> segments, Span<T> out, Map map) {
  __shared__ alignas(16) unsigned char memory[kThreads * sizeof(T)];
  T* const sums = reinterpret_cast<T*>(memory);
  const unsigned lane = threadIdx.x % 32;
  const std::size_t warps = gridDim.x * static_cast<std::size_t>(blockDim.x / 32);
  for (std::size_t s = (blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x) / 32; s < segments.size();
       s += warps) {
    const Segment segment = segments[s];
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

}  // namespace arithmetic

template <class F> void for_each(Device& device, std::size_t n, F f) {
  if (n == 0) return;
  arithmetic::each<<<arithmetic::blocks_for(n), arithmetic::kThreads, 0, arithmetic::stream_of(device)>>>(n, f);
  arithmetic::check_launch();
}

template <class T, class Map>
void segmented_reduce(Device& device, Span<const Segment> segments, Span<T> out, Map map) {
  if (segments.empty()) return;
  arithmetic::reduce_segments<<<arithmetic::blocks_for(segments.size() * 32), arithmetic::kThreads, 0,
                                arithmetic::stream_of(device)>>>(segments, out, map);
  arithmetic::check_launch();
}

}  // namespace cuda
}  // namespace mgcompare
