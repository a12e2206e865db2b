#include "reports/rank_test.h"

#include <gmock/gmock.h>

#include <numeric>

namespace mgcompare {
namespace {

// `count` values, such that U is `u`.
std::pair<std::vector<double>, std::vector<double>> sides(std::size_t count, std::size_t u) {
  std::vector<double> one(count), other(count);
  std::iota(other.begin(), other.end(), 1.0);
  // Each value that exceeds k values of the other side adds k to U.
  for (std::size_t i = count; i-- > 0;) {
    const std::size_t passes = std::min(u, count);
    one[i] = static_cast<double>(passes) + 0.5 + 1e-3 * static_cast<double>(i);
    u -= passes;
  }
  return {one, other};
}

struct Critical {
  std::size_t count, u;
};

class MannWhitneyTable : public testing::TestWithParam<Critical> {};

// Published two-sided critical values at 5 %: at U the p-value is at most 0.05, at U + 1 it is above.
TEST_P(MannWhitneyTable, AgreesWithCriticalValues) {
  const auto [one, other] = sides(GetParam().count, GetParam().u);
  EXPECT_LE(mann_whitney(one, other), 0.05);
  const auto [wider, than] = sides(GetParam().count, GetParam().u + 1);
  EXPECT_GT(mann_whitney(wider, than), 0.05);
}

INSTANTIATE_TEST_SUITE_P(FivePercent, MannWhitneyTable,
                         testing::Values(Critical{4, 0}, Critical{5, 2}, Critical{6, 5}, Critical{7, 8}, Critical{8, 13},
                                         Critical{9, 17}, Critical{10, 23}, Critical{12, 37}, Critical{15, 64},
                                         Critical{20, 127}));

TEST(MannWhitney, CountsAllOrdersOfSmallSides) {
  EXPECT_NEAR(mann_whitney({1, 2, 3}, {4, 5, 6}), 2.0 / 20, 1e-12);
  EXPECT_NEAR(mann_whitney({1, 2}, {3, 4, 5}), 2.0 / 10, 1e-12);
  EXPECT_NEAR(mann_whitney({1, 3, 5}, {2, 4, 6}), 14.0 / 20, 1e-12);
  EXPECT_EQ(mann_whitney({4, 5, 6}, {1, 2, 3}), mann_whitney({1, 2, 3}, {4, 5, 6}));
}

TEST(MannWhitney, CorrectsForTies) {
  EXPECT_EQ(mann_whitney({1, 1, 1}, {1, 1, 1}), 1);
  // By hand: ranks 2.5 (four 1s) and 6.5 (four 2s); U = 4, mean 8, variance 16/12 * (9 - 120/56) = 9.142857.
  EXPECT_NEAR(mann_whitney({1, 1, 1, 2}, {1, 2, 2, 2}), 0.2470, 1e-3);
}

TEST(MannWhitney, OfManyValuesUsesTheNormalApproximation) {
  std::vector<double> one, other;
  for (int i = 0; i < 60; ++i) one.push_back(2 * i), other.push_back(2 * i + 1);
  EXPECT_GT(mann_whitney(one, other), 0.8);
  for (double& value : other) value += 60;
  EXPECT_LT(mann_whitney(one, other), 1e-6);
}

TEST(Holm, RaisesChancesStepByStep) {
  EXPECT_THAT(holm({0.01, 0.04, 0.03, 0.005}),
              testing::Pointwise(testing::DoubleNear(1e-12), {0.03, 0.06, 0.06, 0.02}));
  EXPECT_THAT(holm({0.9, 0.8}), testing::ElementsAre(1, 1));
  EXPECT_TRUE(holm({}).empty());
}

}  // namespace
}  // namespace mgcompare
