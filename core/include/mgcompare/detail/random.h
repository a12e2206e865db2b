#pragma once

// Philox4x32-10. Included by random.h.

#include <cmath>

namespace mgcompare {

MGCOMPARE_FUNCTION constexpr Random::Block Random::block(std::uint64_t index) const {
  std::uint32_t c0 = static_cast<std::uint32_t>(index), c1 = static_cast<std::uint32_t>(index >> 32);
  std::uint32_t c2 = static_cast<std::uint32_t>(stream_), c3 = static_cast<std::uint32_t>(stream_ >> 32);
  std::uint32_t k0 = static_cast<std::uint32_t>(seed_), k1 = static_cast<std::uint32_t>(seed_ >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = 0xD2511F53ull * c0, p1 = 0xCD9E8D57ull * c2;
    const std::uint32_t n0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const std::uint32_t n2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<std::uint32_t>(p1);
    c3 = static_cast<std::uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

MGCOMPARE_FUNCTION constexpr std::uint32_t Random::word(std::uint64_t index) const { return block(index).words[0]; }

MGCOMPARE_FUNCTION constexpr float Random::uniform(std::uint64_t index) const {
  return static_cast<float>(word(index) >> 8) * 0x1p-24f;
}

MGCOMPARE_FUNCTION constexpr std::uint64_t Random::below(std::uint64_t index, std::uint64_t bound) const {
  const Block b = block(index);
  const std::uint64_t bits = (static_cast<std::uint64_t>(b.words[0]) << 32) | b.words[1];
  const std::uint64_t low = (bits & 0xffffffffull) * bound, high = (bits >> 32) * bound;
  return (high + (low >> 32)) >> 32;
}

// Box-Muller, in double so that every host rounds to the same float.
inline double Random::normal(std::uint64_t index) const {
  const Block b = block(index);
  const double u = (static_cast<double>(b.words[0]) + 0.5) * 0x1p-32;
  const double v = (static_cast<double>(b.words[1]) + 0.5) * 0x1p-32;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v);
}

}  // namespace mgcompare
