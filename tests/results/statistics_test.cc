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

TEST(Compare, WantsAGapAndMoreThanNoise) {
  EXPECT_EQ(compare(spread_of({1, 2, 3}), spread_of({3.1, 4, 5})), Order::undecided);
  EXPECT_EQ(compare(spread_of({100, 100.1, 100.2}), spread_of({101, 101.1, 101.2})), Order::undecided);
  EXPECT_EQ(compare(spread_of({100, 100.1, 100.2}), spread_of({103, 103.1, 103.2})), Order::below);
}

TEST(Compare, TestsRanksFromNineRepeatsOn) {
  const Spread low = spread_of({10, 11, 12, 13, 14, 15, 16, 17, 30}), high = spread_of({14.5, 18, 19, 20, 21, 22, 23, 24, 25});
  EXPECT_EQ(compare(low, high), Order::below);  // although they overlap
  EXPECT_EQ(compare(low, low), Order::undecided);
  // One such result is significant on its own, but not among many comparisons without an effect.
  const Spread close = spread_of({11, 12.5, 13.5, 14.2, 15.5, 16.5, 17.5, 18.5, 19.5});
  ASSERT_EQ(compare(low, close), Order::undecided);
  const Spread nearly = spread_of({14.5, 15.5, 16.5, 18, 19, 20, 21, 22, 23});
  ASSERT_EQ(compare(low, nearly), Order::below);
  std::vector<std::pair<const Spread*, const Spread*>> table(9, {&low, &low});
  table.emplace_back(&low, &nearly);
  EXPECT_EQ(compare_all(table).back(), Order::undecided);
  EXPECT_EQ(compare_all({{&low, &nearly}, {&low, &high}}).back(), Order::below);
}

TEST(Outliers, AreFlaggedByTheModifiedZScore) {
  // Median 10, deviations 0 0.1 0.1 0.2 0.2 0.3 9: their median is 0.2, and 9 * 0.6745 / 0.2 is 30.
  EXPECT_EQ(outliers({10, 10.1, 9.9, 19, 10.2, 9.8, 10.3}),
            (std::vector<bool>{false, false, false, true, false, false, false}));
  EXPECT_EQ(outliers({5, 5, 5, 5, 9}), (std::vector<bool>{false, false, false, false, true}));
  EXPECT_EQ(outliers({1, 2, 100}), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(outliers({5, 5, 5, 5, 5}), std::vector<bool>(5, false));
}

TEST(Scaled, ChangesEveryFigure) {
  const Spread half = scaled(spread_of({2, 4, 6}), 0.5);
  EXPECT_EQ(half.median, 2);
  EXPECT_EQ(half.low, 1);
  EXPECT_EQ(half.most, 3);
  EXPECT_EQ(half.values, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(half.count, 3u);
}

}  // namespace
}  // namespace mgcompare
