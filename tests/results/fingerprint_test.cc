#include "base/fingerprint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace mgcompare {
namespace {

TEST(Fingerprint, DependsOnEveryBitPlaceAndLength) {
  for (const std::size_t size : {1, 2, 7, 8, 9, 31, 64}) {
    const std::vector<float> ones(size, 1);
    EXPECT_EQ(fingerprint(ones), fingerprint(std::vector<float>(ones)));
    EXPECT_NE(fingerprint(ones), fingerprint(std::vector<float>(size + 1, 1)));
    std::vector<float> other = ones;
    for (std::size_t i = 0; i < size; ++i) {
      other[i] = std::nextafter(1.0f, 2.0f);
      EXPECT_NE(fingerprint(ones), fingerprint(other)) << i << " of " << size;
      other[i] = 1;
    }
  }
}

// Two flipped signs, the highest bits, must not cancel wherever they are.
TEST(Fingerprint, TwoChangesDoNotCancel) {
  const std::vector<float> ones(64, 1);
  for (std::size_t i = 0; i < ones.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      std::vector<float> other = ones;
      other[i] = other[k] = -1;
      EXPECT_NE(fingerprint(ones), fingerprint(other)) << k << " and " << i;
      std::vector<float> swapped(64);
      for (std::size_t at = 0; at < swapped.size(); ++at) swapped[at] = static_cast<float>(at);
      const auto before = fingerprint(swapped);
      std::swap(swapped[i], swapped[k]);
      EXPECT_NE(before, fingerprint(swapped)) << k << " and " << i;
    }
}

}  // namespace
}  // namespace mgcompare
