#include "reports/further_repeats.h"

#include <gmock/gmock.h>

#include "mgcompare/random.h"
#include "reports/html.h"
#include "reports/summary.h"
#include "results/runs.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using State = FurtherRepeats::State;

FurtherRepeats of(std::vector<double> one, std::vector<double> other, std::size_t pairs = 1) {
  return further_repeats(spread_of(std::move(one)), spread_of(std::move(other)), pairs);
}

// Seconds to the target of the baseline and of two devices, one repeat each.
Run run_of(const std::vector<double>& one, const std::vector<double>& two) {
  RunMaker maker;
  for (std::size_t i = 0; i < one.size(); ++i) {
    maker.baseline(i + 1, make_result(1000, one[i], 0.98));
    maker.add("together", 2, i + 1, make_result(1000, two[i], 0.98));
  }
  return maker.run;
}

TEST(FurtherRepeats, OfOneRepeatAreNotEstimated) {
  EXPECT_EQ(of({10}, {8}).state, State::unknown);
  EXPECT_EQ(of({10}, {8}).more, 2u);
  EXPECT_EQ(of({}, {}).more, 3u);
}

TEST(FurtherRepeats, AreFewWhereTheSpreadIsSmall) {
  const FurtherRepeats clear = of({10, 10.1}, {8, 8.1});
  EXPECT_EQ(clear.state, State::estimated);
  EXPECT_EQ(clear.more, 1u) << "three repeats decide";
}

TEST(FurtherRepeats, GrowWithTheSpreadAndWithThePairs) {
  const FurtherRepeats some = of({9, 10, 11}, {8.2, 9.2, 10.2});
  const FurtherRepeats more = of({7, 10, 13}, {6.2, 9.2, 12.2});
  EXPECT_EQ(some.state, State::estimated);
  EXPECT_GT(more.more, some.more);
  EXPECT_GT(of({9, 10, 11}, {8.2, 9.2, 10.2}, 10).more, some.more);
}

// Means 10 and 9.2, deviations 1: p = Phi(0.8 / sqrt(2)) = 0.7142, n = (1.960 + 0.842)^2 / (6 * 0.2142^2) = 28.5.
TEST(FurtherRepeats, FollowTheFormulaOfTheRankTest) { EXPECT_EQ(of({9, 10, 11}, {8.2, 9.2, 10.2}).more, 29u - 3u); }

TEST(FurtherRepeats, AreEnoughInMostCases) {
  // With the estimated number of repeats, drawn from the same distributions, most comparisons are decided.
  const std::size_t repeats = 3 + of({9, 10, 11}, {8.2, 9.2, 10.2}).more;
  const Random random(1, 2);
  std::uint64_t draw = 0;
  int decided = 0;
  constexpr int kRuns = 200;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<double> one, other;
    for (std::size_t i = 0; i < repeats; ++i) {
      one.push_back(10 + random.normal(draw++));
      other.push_back(9.2 + random.normal(draw++));
    }
    decided += compare(spread_of(one), spread_of(other)) == Order::undecided ? 0 : 1;
  }
  EXPECT_NEAR(static_cast<double>(decided) / kRuns, 0.8, 0.1);
}

TEST(FurtherRepeats, DoNotChaseADifferenceWithinNoise) {
  EXPECT_EQ(of({10, 10.1, 10.2}, {10.1, 10.2, 10.3}).state, State::close);
  EXPECT_EQ(of({10, 10.1, 10.2}, {10.1, 10.2, 10.3}).more, 6u);
  const std::vector<double> nine = {10, 10.1, 10.2, 10.3, 10.4, 10.5, 10.6, 10.7, 10.8};
  EXPECT_EQ(of(nine, nine).more, 0u);
}

TEST(FurtherRepeats, AreSaidBelowTheAnswer) {
  const auto run = run_of({9, 10, 11}, {8.2, 9.2, 10.2});
  EXPECT_THAT(closing_summary(run, {}), HasSubstr("\nAbout 26 more repeats of each row would decide, estimated from the spread of these\n"));
  EXPECT_THAT(html_report(compare_rows(run), ""), HasSubstr("About 26 more repeats"));
  EXPECT_THAT(closing_summary(run_of({10}, {8}), {}), Not(HasSubstr("more repeats")));
  EXPECT_TRUE(needs_repeats(compare_rows(run)));
}

TEST(FurtherRepeats, DoNotHelpAgainstADoubtfulMachine) {
  auto run = run_of({9, 10, 11}, {8.2, 9.2, 10.2});
  run.info.taints = {"cuda:0 is slowed down by heat"};
  EXPECT_THAT(closing_summary(run, {}), AllOf(Not(HasSubstr("more repeats of each row")), HasSubstr("What to do: measure again")));
}

TEST(FurtherRepeats, AreNotAskedForWhereTheAnswerIsDecided) {
  const auto run = run_of({10, 10.1, 10.2}, {5, 5.1, 5.2});
  EXPECT_THAT(closing_summary(run, {}), Not(HasSubstr("more repeat")));
  EXPECT_FALSE(needs_repeats(compare_rows(run)));
}

TEST(FurtherRepeats, CannotDecideForARowThatMissesTheTargetMoreOften) {
  EXPECT_FALSE(needs_repeats(compare_rows(run_of({10, 10.1, 10.2, 10.3}, {5, 5.1, 5.2, 0}))));
}

}  // namespace
}  // namespace mgcompare
