#include "mgcompare/types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace mgcompare {
namespace {

TEST(Half, HoldsWhatItCanRepresent) {
  for (const float value : {0.0f, 1.0f, -2.0f, 0.5f, 65504.0f, 6.103515625e-05f, 5.9604644775390625e-08f})
    EXPECT_EQ(Half::from(value).value(), value);
  EXPECT_EQ(Half::from(1.0f).bits, 0x3c00);
  EXPECT_EQ(Half::from(-0.0f).bits, 0x8000);
}

TEST(Half, EveryPatternSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const float value = half.value();
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(Half::from(value).value()));
    } else {
      ASSERT_EQ(Half::from(value).bits, bits) << value;
    }
  }
}

TEST(Half, RoundsToNearestEvenAndOverflowsToInfinity) {
  EXPECT_EQ(Half::from(1.0f + 0x1p-11f).value(), 1.0f);
  EXPECT_EQ(Half::from(1.0f + 0x1.8p-10f).value(), 1.0f + 0x1p-9f);
  EXPECT_EQ(Half::from(65520.0f).value(), std::numeric_limits<float>::infinity());
  EXPECT_EQ(Half::from(65519.0f).value(), 65504.0f);
  EXPECT_EQ(Half::from(0x1p-25f).value(), 0.0f);
  EXPECT_EQ(Half::from(0x1.8p-25f).value(), 0x1p-24f);
}

TEST(BFloat16, KeepsTheRangeAndRoundsToNearestEven) {
  EXPECT_EQ(BFloat16::from(1.0f).bits, 0x3f80);
  EXPECT_EQ(BFloat16::from(1.0f + 0x1p-8f).value(), 1.0f);
  EXPECT_EQ(BFloat16::from(1.0f + 0x1.8p-7f).value(), 1.0f + 0x1p-6f);
  EXPECT_TRUE(std::isnan(BFloat16::from(NAN).value()));
  EXPECT_EQ(BFloat16::from(3.0e38f).value(), 0x1.c4p+127f);
}

TEST(Share, CoversEverythingOnceAndNearlyEqually) {
  for (const std::size_t count : {0u, 1u, 6u, 7u, 8u, 60u, 128u})
    for (std::size_t ranks = 1; ranks <= 9; ++ranks) {
      std::size_t next = 0;
      for (std::size_t k = 0; k < ranks; ++k) {
        const Range range = share(count, k, ranks);
        EXPECT_EQ(range.begin, next);
        EXPECT_LE(range.size(), count / ranks + 1);
        EXPECT_GE(range.size(), count / ranks);
        next = range.end;
      }
      EXPECT_EQ(next, count);
    }
}

TEST(Span, Slices) {
  std::vector<float> values = {0, 1, 2, 3, 4};
  const Vec all(values.data(), values.size());
  const ConstVec part = all.slice({1, 4});
  ASSERT_EQ(part.size(), 3u);
  EXPECT_EQ(part[0], 1);
  EXPECT_EQ(part.bytes(), 12u);
  EXPECT_TRUE(all.slice({2, 2}).empty());
}

}  // namespace
}  // namespace mgcompare
