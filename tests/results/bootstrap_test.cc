#include "reports/bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace mgcompare {
namespace {

// Of n values, n odd, the resampled median is at most the k-th with the probability that a binomial (n, k/n) has a
// majority. For n = 9 that is 0.14, 3.04, .. 96.96, 99.86 % for k = 1, 2, .. 7, 8; for n = 25 it is 0.96, 2.99, ..
// 97.01, 99.04 % for k = 7, 8, .. 17, 18.
TEST(MedianInterval, AgreesWithTheExactDistribution) {
  const auto interval = [](int count) {
    std::vector<double> values;
    for (int i = 1; i <= count; ++i) values.push_back(i);
    return median_interval(values);
  };
  EXPECT_EQ(interval(9), Interval(2, 8));
  EXPECT_EQ(interval(25), Interval(8, 18));
}

TEST(MedianInterval, OfFewValuesIsTheirRange) {
  EXPECT_EQ(median_interval({7}), Interval(7, 7));
  EXPECT_EQ(median_interval({1, 9}), Interval(1, 9));
  EXPECT_EQ(median_interval({1, 2, 3, 4, 50}), Interval(1, 50));
}

TEST(MedianInterval, HoldsTheTrueMedianAboutAsOftenAsItSays) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  int held = 0;
  constexpr int kTrials = 500;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values(21);
    for (double& value : values) value = normal(random);
    std::sort(values.begin(), values.end());
    const auto [low, high] = median_interval(values);
    held += low <= 0 && 0 <= high ? 1 : 0;
  }
  EXPECT_GT(held, kTrials * 0.91);
  EXPECT_LT(held, kTrials * 0.99);
}

TEST(RatioInterval, IsSeededAndHoldsTheRatio) {
  const std::vector<double> upper = {190, 195, 200, 205, 210}, lower = {95, 98, 100, 102, 105};
  const auto [low, high] = ratio_interval(upper, lower);
  EXPECT_LT(low, 2);
  EXPECT_GT(high, 2);
  EXPECT_GE(low, 190.0 / 105);
  EXPECT_LE(high, 210.0 / 95);
  EXPECT_EQ(ratio_interval(upper, lower), Interval(low, high));
}

}  // namespace
}  // namespace mgcompare
