#include "reports/statistics.h"

#include <gtest/gtest.h>

#include <limits>

namespace mgcompare {
namespace {

TEST(Spread, OfOddAndEvenCounts) {
  const Spread odd = spread_of({5, 1, 3});
  EXPECT_EQ(odd.median, 3);
  EXPECT_EQ(odd.least, 1);
  EXPECT_EQ(odd.most, 5);
  EXPECT_EQ(odd.count, 3u);
  EXPECT_EQ(spread_of({4, 1, 3, 2}).median, 2.5);
  EXPECT_EQ(spread_of({7}).median, 7);
  EXPECT_EQ(spread_of({}).count, 0u);
}

TEST(Spread, LeavesOutWhatIsNoNumber) {
  const Spread spread =
      spread_of({std::numeric_limits<double>::quiet_NaN(), 2, std::numeric_limits<double>::infinity()});
  EXPECT_EQ(spread.count, 1u);
  EXPECT_EQ(spread.median, 2);
}

TEST(Compare, DecidesOnlyWhenRepeatsAreApart) {
  const Spread low = spread_of({1, 2, 3}), high = spread_of({4, 5, 6}), middle = spread_of({2.5, 4.5, 4.6});
  EXPECT_EQ(compare(low, high), Order::below);
  EXPECT_EQ(compare(high, low), Order::above);
  EXPECT_EQ(compare(low, middle), Order::undecided);
  EXPECT_EQ(compare(middle, high), Order::undecided);
  EXPECT_EQ(compare(spread_of({1}), high), Order::undecided);
  EXPECT_EQ(compare(spread_of({1, 2}), high), Order::undecided);
  EXPECT_EQ(compare(low, spread_of({})), Order::undecided);
}

}  // namespace
}  // namespace mgcompare
