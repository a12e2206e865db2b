#pragma once

// The CPU half of arithmetic.h: what its longer functions do on a CPU device. Included through arithmetic.h.

#include <cstddef>
#include <cstdint>

#include "mgcompare/portable.h"
#include "mgcompare/segments.h"
#include "mgcompare/types.h"

namespace mgcompare::cpu {

// A radix selection, twelve bits at a time.
template <class First, class Again>
void select_largest(std::size_t n, First first, Again again, Span<std::uint32_t> indices, Span<std::uint64_t> scratch) {
  std::uint32_t* const bins = reinterpret_cast<std::uint32_t*>(scratch.data());
  std::size_t wanted = indices.size();  // of the keys that share the digits found so far
  const auto digit = [&] {
    std::uint32_t bin = 4095;
    while (bin > 0 && bins[bin] < wanted) wanted -= bins[bin--];
    for (std::size_t b = 0; b < 4096; ++b) bins[b] = 0;
    return bin;
  };
  for (std::size_t b = 0; b < 4096; ++b) bins[b] = 0;
  for (std::size_t i = 0; i < n; ++i) ++bins[first(i) >> 19];
  const std::uint32_t high = digit();
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t key = again(i);
    if (key >> 19 == high) ++bins[(key >> 7) & 4095];
  }
  const std::uint32_t limit = high << 12 | digit();
  std::size_t found = 0;
  for (std::size_t i = 0; i < n && found < indices.size(); ++i) {
    const std::uint32_t key = again(i) >> 7;
    if (key < limit || (key == limit && wanted == 0)) continue;
    if (key == limit) --wanted;
    indices[found++] = static_cast<std::uint32_t>(i);
  }
}

// One accumulator for each of a few consecutive elements, so that the additions of different ones can run side by side.
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
    // Loaded before the first code writes: nothing stands in the way of doing several at once.
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

// A team of one.
struct Alone {
  MGCOMPARE_FUNCTION std::size_t rank() const { return 0; }
  MGCOMPARE_FUNCTION std::size_t size() const { return 1; }
  MGCOMPARE_FUNCTION float sum(float value) const { return value; }
  MGCOMPARE_FUNCTION void wait() const {}
};

}  // namespace mgcompare::cpu
