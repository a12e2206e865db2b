#include "measure/lateness.h"

#include <gtest/gtest.h>

namespace mgcompare {
namespace {

TEST(Lateness, IsThatOfTheLongestOfSomeStepsInARow) {
  EXPECT_DOUBLE_EQ(lateness({1, 3, 1, 3}, 2), 1);
  EXPECT_DOUBLE_EQ(lateness({1, 3, 1, 3}, 4), 1);
  EXPECT_DOUBLE_EQ(lateness({1, 1, 1, 5}, 2), 1) << "of the second pair 2, of the first none";
}

TEST(Lateness, OfOneRankOrOfEqualStepsIsNone) {
  EXPECT_EQ(lateness({1, 3, 1, 3}, 1), 0);
  EXPECT_EQ(lateness({2, 2, 2}, 3), 0);
  EXPECT_EQ(lateness({}, 2), 0);
}

// Fewer steps than ranks: those that there are.
TEST(Lateness, OfMoreRanksThanStepsIsOfAllSteps) { EXPECT_DOUBLE_EQ(lateness({1, 4, 1}, 8), 2); }

TEST(Lateness, DoesNotCountSlowChanges) {
  std::vector<double> steps;
  for (int k = 0; k < 1000; ++k) steps.push_back(1 + 1e-3 * k);
  EXPECT_LT(lateness(steps, 2), 1e-3);
}

}  // namespace
}  // namespace mgcompare
