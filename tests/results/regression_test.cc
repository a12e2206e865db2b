#include "reports/regression.h"

#include <gmock/gmock.h>

#include "results/runs.h"

namespace mgcompare {
namespace {

using testing::HasSubstr;

// `repeats` trials of one row; each repeat is faster than the one before by `step`.
mgcompare::Run run_of(double rate, std::size_t repeats = 3, double step = 0.001, double to_target = 5) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= repeats; ++seed)
    maker.add("together", 2, seed, make_result(rate * (1 + step * static_cast<double>(seed)), to_target, 0.98));
  return maker.run;
}

RowChange change(const mgcompare::Run& before, const mgcompare::Run& after) {
  const Comparison one = compare_rows(before), other = compare_rows(after);
  const Regression regression = compare_runs(one, other);
  EXPECT_EQ(regression.rows.size(), 1u);
  return regression.rows.at(0);
}

TEST(Regression, HasFourVerdicts) {
  const mgcompare::Run base = run_of(1000);
  EXPECT_EQ(change(base, run_of(1100)).change, Change::better);
  EXPECT_EQ(change(base, run_of(900)).change, Change::worse);
  EXPECT_EQ(change(base, run_of(1001)).change, Change::same);
  EXPECT_EQ(change(base, run_of(950, 3, 0.04)).change, Change::undecided);
  EXPECT_EQ(change(base, run_of(900, 2)).change, Change::undecided);
  EXPECT_NEAR(change(base, run_of(900)).speed.median, 0.9, 1e-9);
}

TEST(Regression, FailsOnlyBeyondTheTolerance) {
  const mgcompare::Run before = run_of(1000), after = run_of(930);
  const Comparison one = compare_rows(before), other = compare_rows(after);
  const Regression regression = compare_runs(one, other);
  EXPECT_TRUE(has_regressed(regression, 0.05));
  EXPECT_FALSE(has_regressed(regression, 0.10));
  EXPECT_FALSE(has_regressed(compare_runs(other, one), 0.05));
}

TEST(Regression, SeesALongerWayToTheTarget) {
  const mgcompare::Run before = run_of(1000, 3, 0.001, 5), after = run_of(1000, 3, 0.001, 6);
  const Comparison one = compare_rows(before), other = compare_rows(after);
  const Regression regression = compare_runs(one, other);
  EXPECT_EQ(regression.rows[0].change, Change::same);
  EXPECT_EQ(regression.rows[0].target_change, Change::worse);
  EXPECT_TRUE(has_regressed(regression, 0.05));
}

TEST(Regression, SaysThatARunIsHeldAgainstItself) {
  mgcompare::Run run = run_of(1000);
  run.info.started = "2026-01-02T03:04:05Z";
  const auto warnings = [&](const mgcompare::Run& other) {
    const Comparison one = compare_rows(run), two = compare_rows(other);
    return compare_runs(one, two).warnings;
  };
  EXPECT_THAT(warnings(run), testing::Contains("Both are the same run, so nothing differs"));
  mgcompare::Run later = run;
  later.info.started = "2026-02-03T04:05:06Z";
  EXPECT_THAT(warnings(later), testing::IsEmpty());
}

TEST(Regression, NamesWhatDoesNotFit) {
  mgcompare::Run before = three_by_three(), after = run_of(1600);
  before.info.config_hash = "a";
  after.info.environment[0].second = "Another 1";
  const Comparison one = compare_rows(before), other = compare_rows(after);
  const std::string text = regression_report(compare_runs(one, other), "one", "other");
  EXPECT_THAT(text, HasSubstr("The runs differ in cpu: Imaginary 9000 and Another 1"));
  EXPECT_THAT(text, HasSubstr("different configs"));
  EXPECT_THAT(text, HasSubstr("## Only in the first run\n\n- alone on 1 CPU core, batch 128\n- apart"));
  EXPECT_THAT(text, HasSubstr("1 rows by samples/s: 0 better, 0 worse, 1 same, 0 undecided"));
}

}  // namespace
}  // namespace mgcompare
