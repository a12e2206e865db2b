#pragma once

// The mask of a dropout layer: a pure function, independent of the number of ranks and the kind of device.

#include <cstdint>

#include "mgcompare/types.h"
#include "mgcompare/random.h"

namespace mgcompare {

// One layer in one epoch. `sample` is the sample's index in the data set, `unit` counts within the sample's output in
// channels, height, width order. Four units share one block of random bits.
class DropoutMask {
 public:
  MGCOMPARE_FUNCTION DropoutMask(std::uint64_t seed, std::uint64_t epoch, std::uint64_t layer, std::uint64_t units,
                                 double rate)
      : random_(seed, (0xD0ull << 56) | (layer << 40) | epoch),
        blocks_((units + 3) / 4),
        threshold_(static_cast<std::uint32_t>(rate * 4294967296.0)) {}

  // The random bits of units 4 * quarter .. 4 * quarter + 3.
  MGCOMPARE_FUNCTION Random::Block bits(std::uint64_t sample, std::uint64_t quarter) const {
    return random_.block(sample * blocks_ + quarter);
  }
  MGCOMPARE_FUNCTION bool keeps(std::uint32_t word) const { return word >= threshold_; }

 private:
  Random random_;
  std::uint64_t blocks_;
  std::uint32_t threshold_;
};

}  // namespace mgcompare
