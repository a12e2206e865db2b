#include "reports/regression.h"

#include <gmock/gmock.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "reports/regression_text.h"
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
  EXPECT_NEAR(change(base, run_of(900)).speed.ratio.median, 0.9, 1e-9);
}

TEST(Regression, FitsANarrowTerminal) {
  const mgcompare::Run before = run_of(1000), after = run_of(900);
  const Comparison one = compare_rows(before), other = compare_rows(after);
  const Regression regression = compare_runs(one, other);
  EXPECT_THAT(regression_text(regression, {.columns = 300}), HasSubstr("samples/s before"));
  const std::string narrow = regression_text(regression, {.columns = 80});
  EXPECT_THAT(narrow, HasSubstr("together on 2 CPU cores, batch 128\n  samples/s"));
  EXPECT_THAT(narrow, HasSubstr("0.90 [0.90 .. 0.90]"));
  EXPECT_THAT(narrow, HasSubstr("worse\n  time to target"));
  std::size_t begin = 0;
  for (std::size_t end; (end = narrow.find('\n', begin)) != std::string::npos; begin = end + 1) EXPECT_LE(end - begin, 80u) << narrow;
}

TEST(Regression, FailsOnlyBeyondTheTolerance) {
  const mgcompare::Run before = run_of(1000), after = run_of(930);
  const Comparison one = compare_rows(before), other = compare_rows(after);
  const Regression regression = compare_runs(one, other);
  EXPECT_TRUE(has_regressed(regression, 0.05));
  EXPECT_FALSE(has_regressed(regression, 0.10));
  EXPECT_FALSE(has_regressed(compare_runs(other, one), 0.05));
}

TEST(Regression, FailsForARowThatHasLostItsResult) {
  const mgcompare::Run before = run_of(1000);
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) maker.failed("together", 2, seed, "crashed", "SIGSEGV in step 20");
  const Comparison one = compare_rows(before), other = compare_rows(maker.run);
  const Regression regression = compare_runs(one, other);
  EXPECT_THAT(regression.warnings, testing::Contains(HasSubstr("has a result in the first run, and none in the second")));
  EXPECT_TRUE(has_regressed(regression, 0.99));
  EXPECT_FALSE(has_regressed(compare_runs(other, one), 0.05));
}

TEST(Regression, NamesRepeatsWithoutAResult) {
  RunMaker maker;
  maker.add("together", 2, 1, make_result(1000, 5, 0.98));
  maker.failed("together", 2, 2, "damaged", "its values do not match their checksum");
  const mgcompare::Run before = run_of(1000);
  const Comparison one = compare_rows(before), other = compare_rows(maker.run);
  EXPECT_THAT(compare_runs(one, other).warnings, testing::Contains(HasSubstr("1 of 2 repeats have no result in the second run")));
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

// The baseline at `base` samples/s and two devices at `several`, both to the target in a time that fits.
mgcompare::Run pair_of(double base, double several) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const double noise = 1 + 0.001 * static_cast<double>(seed);
    maker.baseline(seed, make_result(base * noise, 8000 / base / noise, 0.985));
    maker.add("together", 2, seed, make_result(several * noise, 8000 / several / noise, 0.985));
  }
  return maker.run;
}

Regression compared(const mgcompare::Run& before, const mgcompare::Run& after) {
  static std::vector<std::unique_ptr<Comparison>> kept;  // rows refer to them
  static std::vector<std::unique_ptr<mgcompare::Run>> runs;
  for (const mgcompare::Run* run : {&before, &after}) {
    runs.push_back(std::make_unique<mgcompare::Run>(*run));
    kept.push_back(std::make_unique<Comparison>(compare_rows(*runs.back())));
  }
  return compare_runs(*kept[kept.size() - 2], *kept.back());
}

TEST(Regression, ASlowerMachineIsNoRegression) {
  const Regression regression = compared(pair_of(1000, 1600), pair_of(500, 800));
  EXPECT_EQ(regression.rows[0].change, Change::reference);
  EXPECT_EQ(regression.rows[1].change, Change::same);
  EXPECT_EQ(regression.rows[1].target_change, Change::same);
  EXPECT_EQ(regression.rows[1].speed.absolute, Change::worse) << "stands beside it";
  EXPECT_FALSE(has_regressed(regression, 0.05));
  EXPECT_THAT(regression.warnings, testing::Contains(HasSubstr("The baseline itself differs: alone on 1 CPU core, batch 128 has 0.50")));
  const std::string text = regression_report(regression, "one", "other");
  EXPECT_THAT(text, HasSubstr("2 rows by speed-up: 0 better, 0 worse, 1 same, 0 undecided, 1 baseline"));
  EXPECT_THAT(text, HasSubstr("speed-up before"));
}

// After --only, an interruption or a failed trial. The ratio to the baseline has no values then.
TEST(Regression, ARowMayShareNoSeedWithItsBaseline) {
  const auto with_seed = [](std::uint64_t seed) {
    RunMaker maker;
    maker.baseline(2, make_result(1000, 5, 0.98));
    maker.add("together", 2, seed, make_result(1600, 5, 0.98));
    return maker.run;
  };
  const mgcompare::Run apart = with_seed(1), common = with_seed(2);
  for (const auto& [before, after] : {std::pair(&apart, &apart), std::pair(&apart, &common), std::pair(&common, &apart)}) {
    const Comparison one = compare_rows(*before), other = compare_rows(*after);
    const Regression regression = compare_runs(one, other);
    ASSERT_EQ(regression.rows.size(), 2u);
    EXPECT_NEAR(regression.rows[1].speed.own_ratio.median, 1, 1e-9);
    EXPECT_NEAR(regression.rows[1].speed.own_ratio.low, 1, 1e-9);
    EXPECT_NEAR(regression.rows[1].speed.own_ratio.high, 1, 1e-9);
  }
}

TEST(Regression, ARowThatLosesMoreThanTheMachineIsWorse) {
  const Regression regression = compared(pair_of(1000, 1600), pair_of(500, 700));
  EXPECT_EQ(regression.rows[1].change, Change::worse);
  EXPECT_NEAR(regression.rows[1].speed.own_ratio.median, 0.875, 1e-3);
  EXPECT_TRUE(has_regressed(regression, 0.05));
  EXPECT_FALSE(has_regressed(regression, 0.2));
  // With an equal baseline the absolute figures decide.
  const Regression same = compared(pair_of(1000, 1600), pair_of(1000, 1400));
  EXPECT_FALSE(same.rows[1].by_baseline);
  EXPECT_EQ(same.rows[1].change, Change::worse);
  EXPECT_THAT(same.warnings, testing::IsEmpty());
}

// On a machine half as fast, on which only the baseline's repeats are far apart.
TEST(Regression, ANoisyBaselineIsNotTakenForTheSame) {
  mgcompare::Run after = pair_of(500, 800);
  double factor = 0.5;
  for (Row& row : after.rows)
    if (row.trial.devices == 1) row.result.samples_per_second *= (factor += 0.6);
  const Regression regression = compared(pair_of(1000, 1600), after);
  EXPECT_EQ(regression.rows[0].speed.absolute, Change::undecided);
  EXPECT_EQ(regression.rows[0].change, Change::reference);
  EXPECT_TRUE(regression.rows[1].by_baseline);
  EXPECT_EQ(regression.rows[1].speed.absolute, Change::worse) << "stands beside it";
  EXPECT_EQ(regression.rows[1].change, Change::undecided);
  EXPECT_FALSE(has_regressed(regression, 0.05));
  EXPECT_THAT(regression.warnings, testing::Contains(HasSubstr("Whether the baseline itself differs is undecided: alone on 1 CPU core")));
}

TEST(Regression, WarnsIfOnlyOneRunHasTheBaseline) {
  mgcompare::Run after = pair_of(500, 800);
  std::erase_if(after.rows, [](const Row& row) { return row.trial.devices == 1; });
  const Regression regression = compared(pair_of(1000, 1600), after);
  EXPECT_FALSE(regression.rows[0].by_baseline);
  EXPECT_THAT(regression.warnings, testing::Contains(HasSubstr("Only one of the runs has the baseline of together on 2 CPU cores, batch 128")));
}

TEST(Regression, MarkedRowsHaveNoVerdict) {
  mgcompare::Run after = pair_of(1000, 3000);
  for (Row& row : after.rows)
    if (row.trial.devices == 2) row.result.bytes_per_step = 0;
  const Regression regression = compared(pair_of(1000, 1600), after);
  EXPECT_EQ(regression.rows[1].change, Change::marked);
  EXPECT_THAT(regression.warnings, testing::Contains(HasSubstr("is marked in the second run: sent nothing")));
}

TEST(Regression, IsAlsoJson) {
  const auto json = nlohmann::json::parse(regression_json(compared(pair_of(1000, 1600), pair_of(500, 800)), "one", "other"));
  EXPECT_EQ(json["before"], "one");
  EXPECT_EQ(json["rows"][1]["verdict"], "same");
  EXPECT_EQ(json["rows"][1]["decided_by"], "own_baseline");
  EXPECT_EQ(json["rows"][1]["samples_per_second"]["verdict"], "worse");
  EXPECT_NEAR(json["rows"][1]["samples_per_second"]["ratio"]["median"].get<double>(), 0.5, 1e-3);
  EXPECT_EQ(json["rows"][0]["verdict"], "baseline");
}

TEST(Regression, NamesWhatDoesNotFit) {
  mgcompare::Run before = three_by_three(), after = run_of(1600);
  before.info.config_hash = "a";
  after.info.environment[0].second = "Another 1";
  after.info.environment.emplace_back("DNNL_MAX_CPU_ISA", "SSE41");
  const Comparison one = compare_rows(before), other = compare_rows(after);
  const std::string text = regression_report(compare_runs(one, other), "one", "other");
  EXPECT_THAT(text, HasSubstr("The runs differ in cpu: Imaginary 9000 and Another 1"));
  EXPECT_THAT(text, HasSubstr("The runs differ in the environment variable DNNL\\_MAX\\_CPU\\_ISA: not set and SSE41"));
  EXPECT_THAT(text, HasSubstr("different configs"));
  EXPECT_THAT(text, HasSubstr("## Only in the first run\n\n- alone on 1 CPU core, batch 128\n- apart"));
  EXPECT_THAT(text, HasSubstr("1 rows by samples/s: 0 better, 0 worse, 1 same, 0 undecided"));
}

}  // namespace
}  // namespace mgcompare
