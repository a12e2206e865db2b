#include "check/drawn_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mgcompare {
namespace {

TEST(DrawnSamples, ComeFromAllPartsOfTheData) {
  const std::vector<std::uint32_t> numbers = drawn_samples(60'000, 199, 1);
  ASSERT_EQ(numbers.size(), 199u);
  EXPECT_EQ(numbers.back(), 59'999u);
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    EXPECT_GE(numbers[k], k * 60'000 / 199);
    EXPECT_LT(numbers[k], (k + 1) * 60'000 / 199);
  }
  EXPECT_EQ(drawn_samples(60'000, 199, 1), numbers);
  EXPECT_NE(drawn_samples(60'000, 199, 2), numbers);
}

TEST(DrawnSamples, AreAllOfASmallSet) {
  EXPECT_THAT(drawn_samples(3, 3, 1), ::testing::ElementsAre(0u, 1u, 2u));
  EXPECT_THAT(drawn_samples(3, 9, 1), ::testing::ElementsAre(0u, 1u, 2u));
}

TEST(DrawnSamples, KeepTheirValuesAndTargets) {
  Split split;
  split.samples = 4;
  split.values = SharedBytes({1, 2, 3, 4, 5, 6, 7, 8});
  split.targets = {10, 20, 30, 40};
  const Split part = samples_at(split, {1, 3});
  EXPECT_EQ(part.samples, 2u);
  EXPECT_THAT(std::vector<int>(part.values.begin(), part.values.end()), ::testing::ElementsAre(3, 4, 7, 8));
  EXPECT_THAT(part.targets, ::testing::ElementsAre(20u, 40u));
}

}  // namespace
}  // namespace mgcompare
