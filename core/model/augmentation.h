#pragma once

// Random shifts and reflections of training images: a pure function of seed, epoch and sample, so that a sample looks the same
// for every strategy, number of ranks and kind of device.

#include <cstdint>

#include "mgcompare/random.h"
#include "mgcompare/types.h"

namespace mgcompare {

// Of one epoch. `padding`: largest shift in pixels along both axes.
class Augmentation {
 public:
  MGCOMPARE_FUNCTION Augmentation(std::uint64_t seed, std::uint64_t epoch, bool flip, std::uint32_t padding)
      : random_(seed, (0xA6ull << 56) | epoch), flip_(flip), padding_(padding) {}

  // How one sample is seen.
  struct View {
    std::int32_t down, right;  // shift of the image, from -padding to padding
    bool mirrored;

    // Where pixel (row, column) of a height x width image comes from within its channel; -1 where the image does not reach.
    MGCOMPARE_FUNCTION std::int64_t source(std::int32_t row, std::int32_t column, std::int32_t height, std::int32_t width) const {
      const std::int32_t y = row - down, x = (mirrored ? width - 1 - column : column) - right;
      return y < 0 || y >= height || x < 0 || x >= width ? -1 : static_cast<std::int64_t>(y) * width + x;
    }
  };

  // `sample` is its index in the data set.
  MGCOMPARE_FUNCTION View view(std::uint64_t sample) const {
    const Random::Block bits = random_.block(sample);
    const std::uint64_t places = 2 * std::uint64_t{padding_} + 1;
    return {static_cast<std::int32_t>((bits.words[0] * places) >> 32) - static_cast<std::int32_t>(padding_),
            static_cast<std::int32_t>((bits.words[1] * places) >> 32) - static_cast<std::int32_t>(padding_),
            flip_ && (bits.words[2] & 1) != 0};
  }

 private:
  Random random_;
  bool flip_;
  std::uint32_t padding_;
};

}  // namespace mgcompare
