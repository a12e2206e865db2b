#pragma once

// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011). A number is a pure function of (seed, stream, index), so it is the same on every device, for every number of
// ranks and in every order of evaluation.

#include <cmath>
#include <cstdint>

#include "mgcompare/portable.h"

namespace mgcompare {

class Random {
 public:
  struct Block {
    std::uint32_t words[4];
  };

  MGCOMPARE_FUNCTION constexpr Random(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  // 128 random bits for this index.
  MGCOMPARE_FUNCTION constexpr Block block(std::uint64_t index) const {
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

  MGCOMPARE_FUNCTION constexpr std::uint32_t word(std::uint64_t index) const { return block(index).words[0]; }

  // Uniform in [0, 1), 24 bits.
  MGCOMPARE_FUNCTION constexpr float uniform(std::uint64_t index) const {
    return static_cast<float>(word(index) >> 8) * 0x1p-24f;
  }

  // Uniform in [0, bound); bound > 0. The bias of the multiplication is below bound / 2^64.
  MGCOMPARE_FUNCTION constexpr std::uint64_t below(std::uint64_t index, std::uint64_t bound) const {
    const Block b = block(index);
    const std::uint64_t bits = (static_cast<std::uint64_t>(b.words[0]) << 32) | b.words[1];
    const std::uint64_t low = (bits & 0xffffffffull) * bound, high = (bits >> 32) * bound;
    return (high + (low >> 32)) >> 32;
  }

  // Standard normal (Box-Muller, in double so that every host gives the same float). Host only: it initialises weights.
  double normal(std::uint64_t index) const {
    const Block b = block(index);
    const double u = (static_cast<double>(b.words[0]) + 0.5) * 0x1p-32;
    const double v = (static_cast<double>(b.words[1]) + 0.5) * 0x1p-32;
    return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v);
  }

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
};

}  // namespace mgcompare
