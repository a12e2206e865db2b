#pragma once

#include <cstdint>

namespace mgcompare {

// `count` elements of a vector: begin, begin + stride, ... A row of a row-major matrix has stride 1, a column the length
// of a row.
struct Segment {
  std::uint32_t begin;
  std::uint32_t count;
  std::uint32_t stride;
};

}  // namespace mgcompare
