#pragma once

// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011). A number is a pure function of (seed, stream, index). It does not depend on the device, the number of ranks or
// the order of calls. All methods may be called on any thread, and in functors on any device unless they say otherwise.

#include <cstdint>

#include "mgcompare/types.h"

namespace mgcompare {

class Random {
 public:
  struct Block {
    std::uint32_t words[4];
  };

  MGCOMPARE_FUNCTION constexpr Random(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  // 128 random bits.
  MGCOMPARE_FUNCTION constexpr Block block(std::uint64_t index) const;
  // 32 random bits.
  MGCOMPARE_FUNCTION constexpr std::uint32_t word(std::uint64_t index) const;
  // Uniform in [0, 1), 24 bits.
  MGCOMPARE_FUNCTION constexpr float uniform(std::uint64_t index) const;
  // Uniform in [0, bound), for bound > 0. The bias is below bound / 2^64.
  MGCOMPARE_FUNCTION constexpr std::uint64_t below(std::uint64_t index, std::uint64_t bound) const;
  // Standard normal. Host code only.
  double normal(std::uint64_t index) const;

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
};

}  // namespace mgcompare

#include "mgcompare/detail/random.h"
