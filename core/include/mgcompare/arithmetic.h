#pragma once

// Arithmetic of one's own, written once for both kinds of device. A functor takes device pointers by value; write it as
//   [=] MGCOMPARE_FUNCTION(std::size_t i) { ... }
// or, where CPU devices should be fast too, as a struct with such an operator(): nvcc calls a lambda that runs on both
// kinds through a pointer on the CPU, which keeps it from being inlined there.
// A plugin compiled by g++ runs it on CPU devices, one compiled by nvcc on both; asking for a kind that was not compiled
// throws. Everything is stream-ordered and gives the same bits on every run of the same kind.

#include <bit>
#include <cstddef>
#include <cstdint>

#include "mgcompare/arithmetic_cpu.h"
#include "mgcompare/device.h"
#include "mgcompare/portable.h"
#include "mgcompare/segments.h"
#include "mgcompare/types.h"

#if defined(__CUDACC__)
#include "mgcompare/arithmetic_cuda.h"
#include "mgcompare/segments_cuda.h"
#include "mgcompare/largest_cuda.h"
#include "mgcompare/selection_cuda.h"
#endif

namespace mgcompare {

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

// Scratch memory, in 64-bit words, of select() and select_largest() over up to n elements: a device array made in start.
constexpr std::size_t selection_scratch(std::size_t n) { return 8 + 4096 + n / 8192 + 1 + (n / 1024 + 1) * 32; }

// The indices i < n for which keep(i) holds, ascending, into `indices` as far as they fit; their full number into
// `count[0]`. All in device memory.
template <class Keep>
void select(Device& device, std::size_t n, Keep keep, Span<std::uint32_t> indices, Span<std::uint32_t> count,
            [[maybe_unused]] Span<std::uint64_t> scratch) {
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
  cuda::select(device, n, keep, indices, count, scratch);
#endif
}

// The indices i < n of the indices.size() largest keys, ascending. Keys have 31 bits (the magnitude of a float, by
// magnitude_key) and are compared by the upper 24 of them; of equal ones the first are taken. first(i) is asked once for
// each element and may make what the key is of; again(i) gives the same key once more.
template <class First, class Again>
void select_largest(Device& device, std::size_t n, First first, Again again, Span<std::uint32_t> indices,
                    [[maybe_unused]] Span<std::uint64_t> scratch) {
  if (detail::runs_on_cpu(device)) {
    cpu::select_largest(n, first, again, indices, scratch);
    return;
  }
#if defined(__CUDACC__)
  cuda::select_largest(device, n, first, again, indices, scratch);
#endif
}

MGCOMPARE_FUNCTION inline std::uint32_t magnitude_key(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu;
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

// f(s, j, i) for the j-th element, i, of every segment s, in any order.
template <class F> void for_each_in(Device& device, const SegmentTable& table, F f) {
  if (detail::runs_on_cpu(device)) {
    for (std::uint32_t s = 0; s < table.segments().size(); ++s) {
      const Segment segment = table.segments()[s];
      for (std::uint32_t j = 0; j < segment.count; ++j)
        f(s, j, segment.begin + static_cast<std::size_t>(j) * segment.stride);
    }
    return;
  }
#if defined(__CUDACC__)
  cuda::for_each_in(device, table, f);
#endif
}

// Quantises segments: a code of a few bits for each element, levels that the codes stand for for each segment. A coder has
//   static constexpr std::size_t kSums;                         at most Tiling::kMostSums
//   float load(i)                                               the value of element i
//   Sums<kSums> gather(value)                                   what is summed over a segment
//   Levels levels(segment number, elements, sums)               a plain struct
//   void store(segment number, levels)                          called once a segment
//   std::uint32_t code(i, value, levels)                        may write what belongs to element i
//   std::uint32_t* words(segment number)                        where its codes go
// Bit b of the codes of elements 32 g .. 32 g + 31 is word g * bits + b, the first element's the lowest. Each element is
// loaded once where its segment fits a tile, else twice.
template <class Coder> void encode(Device& device, const SegmentTable& table, unsigned bits, const Coder& coder) {
  if (detail::runs_on_cpu(device)) {
    cpu::encode(table, bits, coder);
    return;
  }
#if defined(__CUDACC__)
  cuda::encode(device, table, bits, coder);
#endif
}

// f(team, k) for k in [0, n): a block of threads works on each k on a GPU, one thread on a CPU. Thread team.rank() of
// team.size() does its part; all call team.sum(x), which adds their x in a fixed order and gives all of them the sum, and
// team.wait(), after which they see what the others wrote. f is a struct: its operator() is a template.
template <class F> void for_each_team(Device& device, std::size_t n, F f) {
  if (detail::runs_on_cpu(device)) {
    cpu::Alone team;
    for (std::size_t k = 0; k < n; ++k) f(team, k);
    return;
  }
#if defined(__CUDACC__)
  cuda::for_each_team(device, n, f);
#endif
}

}  // namespace mgcompare
