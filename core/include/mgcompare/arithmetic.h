#pragma once

// Arithmetic of one's own, written once for both kinds of device. A functor takes device pointers by value; write it as
//   [=] MGCOMPARE_FUNCTION(std::size_t i) { ... }
// A plugin compiled by g++ runs it on CPU devices, one compiled by nvcc on both; asking for a kind that was not compiled
// throws. Everything is stream-ordered and gives the same bits on every run of the same kind.

#include <cstddef>
#include <cstdint>

#include "mgcompare/device.h"
#include "mgcompare/portable.h"
#include "mgcompare/types.h"

#if defined(__CUDACC__)
#include "mgcompare/arithmetic_cuda.h"
#endif

namespace mgcompare {

// Elements begin, begin + stride, ... (count of them) of a vector: a row, or a column of a row-major matrix.
struct Segment {
  std::uint32_t begin;
  std::uint32_t count;
  std::uint32_t stride;
};

namespace detail {
// The kinds that this source file was compiled for are the only ones it can serve.
inline bool runs_on_cpu(const Device& device) {
  if (device.kind() == DeviceKind::cpu) return true;
#if !defined(__CUDACC__)
  throw Error("this plugin was compiled without CUDA and cannot compute on a GPU; compile it with nvcc");
#endif
  return false;
}
}  // namespace detail

// f(i) for i in [0, n), in any order.
template <class F> void for_each(Device& device, std::size_t n, F f) {
  if (detail::runs_on_cpu(device)) {
    for (std::size_t i = 0; i < n; ++i) f(i);
    return;
  }
#if defined(__CUDACC__)
  cuda::for_each(device, n, f);
#endif
}

// out[s] = the sum of map(i) over the elements i of segment s, added in a fixed order. T needs operator+= and a value
// T{} that is zero. `segments` and `out` are in device memory.
template <class T, class Map>
void segmented_reduce(Device& device, Span<const Segment> segments, Span<T> out, Map map) {
  if (detail::runs_on_cpu(device)) {
    for (std::size_t s = 0; s < segments.size(); ++s) {
      const Segment segment = segments[s];
      T sum{};
      for (std::uint32_t j = 0; j < segment.count; ++j)
        sum += map(segment.begin + static_cast<std::size_t>(j) * segment.stride);
      out[s] = sum;
    }
    return;
  }
#if defined(__CUDACC__)
  cuda::segmented_reduce(device, segments, out, map);
#endif
}

// The indices i < n for which keep(i) holds, ascending, into `indices` as far as they fit; their full number into
// `count[0]`. Both in device memory.
template <class Keep>
void select(Device& device, std::size_t n, Keep keep, Span<std::uint32_t> indices, Span<std::uint32_t> count) {
  if (detail::runs_on_cpu(device)) {
    std::uint32_t found = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (!keep(i)) continue;
      if (found < indices.size()) indices[found] = static_cast<std::uint32_t>(i);
      ++found;
    }
    count[0] = found;
    return;
  }
#if defined(__CUDACC__)
  cuda::select(device, n, keep, indices, count);
#endif
}

// Bit j of word w of segment s is bit(i) for the segment's element 32 w + j. Each segment begins a new word; `first_word`
// says which (one entry a segment, device memory).
template <class Bit>
void pack_bits(Device& device, Span<const Segment> segments, Span<const std::uint32_t> first_word,
               Span<std::uint32_t> words, Bit bit) {
  if (detail::runs_on_cpu(device)) {
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
  cuda::pack_bits(device, segments, first_word, words, bit);
#endif
}

}  // namespace mgcompare
