#pragma once

// The columns of a network's gradient: where they are in the flat vector and on the wire, and which rank owns them.

#include <cstdint>
#include <vector>

#include "mgcompare/group.h"
#include "mgcompare/replica.h"
#include "mgcompare/segments.h"

namespace mgcompare::onebit {

// A column on the wire: two floats, its levels, then its codes, bit by bit.
inline constexpr std::uint32_t kLevels = 2;
constexpr std::uint32_t words_of(std::uint32_t rows, unsigned bits) { return kLevels + (rows + 31) / 32 * bits; }

// A column belongs to an output of a layer, or to an input (as in CNTK). A vector is one column.
enum class Orientation { output, input };

struct Columns {
  std::vector<Segment> segments;
  std::vector<std::uint32_t> first_word;  // of each column on the wire; one entry more: the total number of words
};

inline Columns columns_of(const std::vector<Part>& parts, Orientation orientation, unsigned bits) {
  Columns columns;
  std::uint32_t word = 0;
  for (const Part& part : parts) {
    const auto size = static_cast<std::uint32_t>(part.range.size()), begin = static_cast<std::uint32_t>(part.range.begin);
    const auto outputs = part.shape.size() < 2 ? 1 : static_cast<std::uint32_t>(part.shape[0]);
    const std::uint32_t inputs = size / outputs;
    const bool by_input = orientation == Orientation::input && part.shape.size() > 1;
    for (std::uint32_t c = 0; c < (by_input ? inputs : outputs); ++c) {
      columns.segments.push_back(by_input ? Segment{begin + c, outputs, inputs} : Segment{begin + c * inputs, inputs, 1});
      columns.first_word.push_back(word);
      word += words_of(columns.segments.back().count, bits);
    }
  }
  columns.first_word.push_back(word);
  return columns;
}

// Consecutive columns for each rank, nearly equal in words, because one layer may have most of the words. Some stripes are
// empty if there are more ranks than columns.
inline std::vector<Range> stripes_of(const Columns& columns, std::size_t ranks) {
  const std::size_t total = columns.first_word.back();
  std::vector<Range> stripes;
  std::size_t column = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::size_t begin = column;
    while (column < columns.segments.size() && columns.first_word[column] * ranks < total * (rank + 1)) ++column;
    stripes.push_back({begin, column});
  }
  return stripes;
}

}  // namespace mgcompare::onebit
