#pragma once

// One bit per element of segments.

#include <cstddef>
#include <cstdint>

#include "mgcompare/arithmetic.h"

#if defined(__CUDACC__)
#include "mgcompare/detail/block_cuda.h"
#endif

namespace mgcompare::onebit {

#if defined(__CUDACC__)
namespace gpu {

// One warp per segment, one word at a time: lane j computes bit j.
template <class Bit>
__global__ void pack_segments(Span<const Segment> segments, Span<const std::uint32_t> first_word, Span<std::uint32_t> words,
                              Bit bit) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t warps = gridDim.x * static_cast<std::size_t>(blockDim.x / 32);
  for (std::size_t s = (blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x) / 32; s < segments.size();
       s += warps) {
    const Segment segment = segments[s];
    for (std::uint32_t base = 0; base < segment.count; base += 32) {
      const std::uint32_t j = base + lane;
      const bool set = j < segment.count && bit(segment.begin + static_cast<std::size_t>(j) * segment.stride);
      const unsigned word = __ballot_sync(0xffffffffu, set);
      if (lane == 0) words[first_word[s] + base / 32] = word;
    }
  }
}

template <class Bit>
void pack_bits(Device& device, Span<const Segment> segments, Span<const std::uint32_t> first_word, Span<std::uint32_t> words,
               Bit bit) {
  if (segments.empty()) return;
  pack_segments<<<cuda::arithmetic::blocks_for(segments.size() * 32), cuda::arithmetic::kThreads, 0,
                              cuda::arithmetic::stream_of(device)>>>(segments, first_word, words, bit);
  cuda::arithmetic::check_launch();
}

}  // namespace gpu
#endif

// Bit j of word w of segment s is bit(i) for i, the segment's element 32 w + j. Each segment begins a new word, number
// first_word[s]. All spans are in device memory. Stream-ordered.
template <class Bit>
void pack_bits(Device& device, Span<const Segment> segments, Span<const std::uint32_t> first_word,
               Span<std::uint32_t> words, Bit bit) {
  if (runs_on_cpu(device)) {
    for (std::size_t s = 0; s < segments.size(); ++s) {
      const Segment segment = segments[s];
      for (std::uint32_t base = 0; base < segment.count; base += 32) {
        const std::uint32_t width = segment.count - base < 32 ? segment.count - base : 32;
        std::uint32_t word = 0;
        for (std::uint32_t j = 0; j < width; ++j)
          word |= (bit(segment.begin + static_cast<std::size_t>(base + j) * segment.stride) ? 1u : 0u) << j;
        words[first_word[s] + base / 32] = word;
      }
    }
    return;
  }
#if defined(__CUDACC__)
  gpu::pack_bits(device, segments, first_word, words, bit);
#endif
}

}  // namespace mgcompare::onebit
