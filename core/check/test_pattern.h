#pragma once

// What is sent to check that it arrives unchanged.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mgcompare {

// Every word differs, also between uses, so that data of an earlier copy is never taken for that of this one.
inline void fill_with_pattern(std::uint32_t* words, std::size_t count, std::uint32_t use) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t word = static_cast<std::uint32_t>(i) * 0x9e3779b9u + use * 0x85ebca6bu;
    word ^= word >> 15;
    words[i] = word * 0x2c1b3c6du;
  }
}

inline bool holds_pattern(const std::uint32_t* words, std::size_t count, std::uint32_t use) {
  std::vector<std::uint32_t> expected(count);
  fill_with_pattern(expected.data(), count, use);
  return std::equal(expected.begin(), expected.end(), words);
}

}  // namespace mgcompare
