#pragma once

// The CPU side of encode.h.

#include <cstddef>
#include <cstdint>

#include "segment_table.h"

namespace mgcompare::onebit::cpu {

// One accumulator for each of 16 consecutive elements, so that the additions can be vectorised.
template <bool kConsecutive, class Coder>
Sums<Coder::kSums> gather_segment(const Segment& segment, const Coder& coder) {
  constexpr std::uint32_t kLanes = 16;
  constexpr std::size_t n = Coder::kSums;
  const std::size_t stride = kConsecutive ? 1 : segment.stride;
  float lanes[n][kLanes] = {};
  std::uint32_t base = 0;
  for (; base + kLanes <= segment.count; base += kLanes) {
    const std::size_t at = segment.begin + base * stride;
    float values[kLanes];
    for (std::uint32_t l = 0; l < kLanes; ++l) values[l] = coder.load(at + l * stride);
    for (std::uint32_t l = 0; l < kLanes; ++l) {
      const Sums<n> sums = coder.gather(values[l]);
      for (std::size_t k = 0; k < n; ++k) lanes[k][l] += sums.at[k];
    }
  }
  Sums<n> total;
  for (std::uint32_t l = 0; base + l < segment.count; ++l) total += coder.gather(coder.load(segment.begin + (base + l) * stride));
  for (std::size_t k = 0; k < n; ++k)
    for (std::uint32_t l = 0; l < kLanes; ++l) total.at[k] += lanes[k][l];
  return total;
}

template <bool kConsecutive, class Coder>
void encode_segment(const Segment& segment, std::uint32_t s, unsigned bits, const Coder& coder) {
  const auto levels = coder.levels(s, segment.count, gather_segment<kConsecutive>(segment, coder));
  coder.store(s, levels);
  const std::size_t stride = kConsecutive ? 1 : segment.stride;
  std::uint32_t* words = coder.words(s);
  for (std::uint32_t base = 0; base < segment.count; base += 32, words += bits) {
    const std::uint32_t width = segment.count - base < 32 ? segment.count - base : 32;
    const std::size_t at = segment.begin + base * stride;
    // All loads come before the first write, so that the loop can be vectorised.
    float values[32] = {};
    std::uint32_t codes[32] = {};
    for (std::uint32_t l = 0; l < width; ++l) values[l] = coder.load(at + l * stride);
    if (width == 32)
      for (std::uint32_t l = 0; l < 32; ++l) codes[l] = coder.code(at + l * stride, values[l], levels);
    else
      for (std::uint32_t l = 0; l < width; ++l) codes[l] = coder.code(at + l * stride, values[l], levels);
    for (unsigned b = 0; b < bits; ++b) {
      std::uint32_t word = 0;
      for (std::uint32_t l = 0; l < 32; ++l) word |= ((codes[l] >> b) & 1u) << l;
      words[b] = word;
    }
  }
}

template <class Coder> void encode(const SegmentTable& table, unsigned bits, const Coder& coder) {
  for (std::uint32_t s = 0; s < table.segments().size(); ++s) {
    const Segment segment = table.segments()[s];
    if (segment.stride == 1) encode_segment<true>(segment, s, bits, coder);
    else encode_segment<false>(segment, s, bits, coder);
  }
}

}  // namespace mgcompare::onebit::cpu
