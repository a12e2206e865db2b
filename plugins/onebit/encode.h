#pragma once

// Quantisation of segments, and loops over their elements, on either kind of device.

#include <cstddef>
#include <cstdint>

#include "encode_cpu.h"
#include "segment_table.h"

#if defined(__CUDACC__)
#include "encode_cuda.h"
#endif

namespace mgcompare::onebit {

// f(s, j, i) for the j-th element, i, of every segment s, in any order. Stream-ordered.
template <class F> void for_each_in(Device& device, const SegmentTable& table, F f) {
  if (runs_on_cpu(device)) {
    for (std::uint32_t s = 0; s < table.segments().size(); ++s) {
      const Segment segment = table.segments()[s];
      for (std::uint32_t j = 0; j < segment.count; ++j)
        f(s, j, segment.begin + static_cast<std::size_t>(j) * segment.stride);
    }
    return;
  }
#if defined(__CUDACC__)
  gpu::for_each_in(device, table, f);
#endif
}

// Quantises segments: each element becomes a code of `bits` bits, each segment has levels which its codes refer to. A coder
// has
//   static constexpr std::size_t kSums;                         at most Tiling::kMostSums
//   float load(i)                                               the value of element i
//   Sums<kSums> gather(value)                                   what is summed over a segment
//   Levels levels(segment number, elements, sums)               a plain struct
//   void store(segment number, levels)                          called once per segment
//   std::uint32_t code(i, value, levels)                        may write data of element i
//   std::uint32_t* words(segment number)                        where its codes are written
// Bit b of the codes of elements 32 g .. 32 g + 31 is word g * bits + b, with the first element in the lowest bit. An
// element is loaded once if its segment fits a tile, otherwise twice. Stream-ordered.
template <class Coder> void encode(Device& device, const SegmentTable& table, unsigned bits, const Coder& coder) {
  if (runs_on_cpu(device)) {
    cpu::encode(table, bits, coder);
    return;
  }
#if defined(__CUDACC__)
  gpu::encode(device, table, bits, coder);
#endif
}

}  // namespace mgcompare::onebit
