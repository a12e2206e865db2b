#pragma once

// Encoding and decoding of elements. Functors are structs for speed on CPUs: see mgcompare/arithmetic.h.

#include <bit>

#include "columns.h"
#include "encode.h"

namespace mgcompare::onebit {

// The values of a column's codes: for one bit the means of either sign, for several the ends of a range.
struct Levels {
  float low, high;
};

// The value of a code of several bits: the middle of its interval of the range.
MGCOMPARE_FUNCTION inline float value_of(std::uint32_t code, const Levels& levels, unsigned bits) {
  const float step = (levels.high - levels.low) / static_cast<float>((1u << bits) - 1);
  return levels.low + (static_cast<float>(code) + 0.5f) * step;
}

// A vector, its residual (null: none is kept), and the words of its columns.
struct Source {
  const float* vector;
  float* residual;
  const std::uint32_t* first_word;  // of each column
  std::uint32_t* wire;
  std::uint32_t wire_begins;        // number of the first word of `wire`
  MGCOMPARE_FUNCTION float load(std::size_t i) const { return residual == nullptr ? vector[i] : vector[i] + residual[i]; }
  MGCOMPARE_FUNCTION void keep(std::size_t i, float left) const {
    if (residual != nullptr) residual[i] = left;
  }
  MGCOMPARE_FUNCTION std::uint32_t* column(std::uint32_t s) const { return wire + (first_word[s] - wire_begins); }
  MGCOMPARE_FUNCTION void store(std::uint32_t s, const Levels& levels) const {
    column(s)[0] = std::bit_cast<std::uint32_t>(levels.low);
    column(s)[1] = std::bit_cast<std::uint32_t>(levels.high);
  }
  MGCOMPARE_FUNCTION std::uint32_t* words(std::uint32_t s) const { return column(s) + kLevels; }
};

// One bit: the sign. The levels are the means of either sign, which minimise the squared error and keep the column's sum.
struct SignCoder : Source {
  static constexpr std::size_t kSums = 3;  // the sums of the negative elements and of the others, and the number of the others
  MGCOMPARE_FUNCTION Sums<kSums> gather(float value) const {
    const bool up = value >= 0;
    return {{up ? 0.0f : value, up ? value : 0.0f, up ? 1.0f : 0.0f}};
  }
  MGCOMPARE_FUNCTION Levels levels(std::uint32_t, std::uint32_t count, const Sums<kSums>& sums) const {
    const float ups = sums.at[2], downs = static_cast<float>(count) - ups;
    return {downs == 0 ? sums.at[0] : sums.at[0] / downs, ups == 0 ? sums.at[1] : sums.at[1] / ups};
  }
  MGCOMPARE_FUNCTION std::uint32_t code(std::size_t i, float value, const Levels& levels) const {
    const bool up = value >= 0;
    keep(i, value - (up ? levels.high : levels.low));
    return up ? 1u : 0u;
  }
};

// Several bits: equal intervals over four standard deviations to either side of zero. Their number is odd, so that one is
// centred on zero.
struct RangeCoder : Source {
  unsigned bits;
  static constexpr std::size_t kSums = 1;  // of the squares
  MGCOMPARE_FUNCTION Sums<kSums> gather(float value) const { return {{value * value}}; }
  MGCOMPARE_FUNCTION Levels levels(std::uint32_t, std::uint32_t count, const Sums<kSums>& sums) const {
    const float end = 4 * sqrtf(sums.at[0] / static_cast<float>(count));
    return {-end, end};
  }
  MGCOMPARE_FUNCTION std::uint32_t code(std::size_t i, float value, const Levels& levels) const {
    const float steps = static_cast<float>((1u << bits) - 1), width = levels.high - levels.low;
    const float at = width > 0 ? (value - levels.low) * (steps / width) : 0.5f * steps;
    const auto code = static_cast<std::uint32_t>(at > 0 ? (at < steps - 1 ? at : steps - 1) : 0);
    keep(i, value - value_of(code, levels, bits));
    return code;
  }
};

// out = the sum of the values that several ranks' words encode, in rank order. Signs index a table: they are unpredictable,
// so that branches would be slow.
template <bool kSigns> struct Decoder {
  const std::uint32_t* wire;
  std::size_t sources, words_of_source;
  const std::uint32_t* first_word;
  std::uint32_t wire_begins;
  unsigned bits;
  float* out;
  MGCOMPARE_FUNCTION float value(const std::uint32_t* column, std::uint32_t j) const {
    if constexpr (kSigns) return std::bit_cast<float>(column[(column[kLevels + j / 32] >> (j % 32)) & 1u]);
    const std::uint32_t* words = column + kLevels + j / 32 * bits;
    std::uint32_t code = 0;
    for (unsigned b = 0; b < bits; ++b) code |= ((words[b] >> (j % 32)) & 1u) << b;
    return value_of(code, {std::bit_cast<float>(column[0]), std::bit_cast<float>(column[1])}, bits);
  }
  MGCOMPARE_FUNCTION void operator()(std::uint32_t s, std::uint32_t j, std::size_t i) const {
    const std::uint32_t* const column = wire + (first_word[s] - wire_begins);
    float sum = value(column, j);
    for (std::size_t k = 1; k < sources; ++k) sum += value(column + k * words_of_source, j);
    out[i] = sum;
  }
};

inline void decode(Device& device, const SegmentTable& table, const Decoder<true>& d) {
  if (d.bits == 1) for_each_in(device, table, d);
  else for_each_in(device, table, Decoder<false>{d.wire, d.sources, d.words_of_source, d.first_word, d.wire_begins, d.bits, d.out});
}

}  // namespace mgcompare::onebit
