#include "reports/drift.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "reports/failures.h"
#include "reports/findings.h"
#include "reports/json.h"
#include "results/runs.h"

namespace mgcompare {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

// A bracket run, a block with the baseline and another row, a bracket run, and so on. `rates` are those of the bracket
// runs.
mgcompare::Run bracketed(const std::vector<double>& rates) {
  RunMaker maker;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    maker.bracket(static_cast<int>(i) + 1, make_result(rates[i], 8, 0.985));
    if (i + 1 == rates.size()) break;
    maker.baseline(i + 1, make_result(1000, 8, 0.985));
    maker.add("together", 2, i + 1, make_result(1600, 5, 0.985));
  }
  return maker.run;
}

TEST(Drift, BracketsAreInNoFigure) {
  const mgcompare::Run run = bracketed({500, 2000, 900});
  const Comparison comparison = compare_rows(run);
  ASSERT_EQ(comparison.cells.size(), 2u);
  const Cell& alone = comparison.cells[0];
  EXPECT_EQ(alone.brackets.size(), 3u);
  EXPECT_EQ(alone.samples_per_second.count, 2u);
  EXPECT_EQ(alone.samples_per_second.most, 1000);
  EXPECT_NEAR(comparison.cells[1].speed_up.median, 1.6, 1e-9);
  EXPECT_EQ(comparison.trials, 7u);
  EXPECT_EQ(comparison.done, 7u);
  EXPECT_EQ(nlohmann::json::parse(json_text(run))["rows"][0]["brackets"], 3);
}

TEST(Drift, IsSeenBetweenBlocksAndBrackets) {
  const mgcompare::Run run = bracketed({1000, 1010, 900});
  const Comparison comparison = compare_rows(run);
  const std::vector<SpeedDrift> found = drifts(comparison);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].before->trial.block, 2);
  EXPECT_EQ(found[0].after->trial.bracket, 3);
  EXPECT_NEAR(found[0].change, -0.1, 1e-9);
  EXPECT_THAT(reservations(comparison),
              Contains(Field(&Finding::text, HasSubstr("the samples/s of alone cpu:1 batch 128 changed by -10.0 % between two of its runs"))));
}

// 2 % between neighbouring runs is within the noise, 6 % in total is not.
TEST(Drift, ThatIsSlowIsSeenFromEndToEnd) {
  RunMaker maker;
  for (const double rate : {1000.0, 980.0, 960.0, 940.0})
    maker.bracket(static_cast<int>(maker.run.rows.size()) + 1, make_result(rate, 8, 0.985));
  const Comparison comparison = compare_rows(maker.run);
  const std::vector<SpeedDrift> found = drifts(comparison);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].before->trial.bracket, 1);
  EXPECT_EQ(found[0].after->trial.bracket, 4);
  EXPECT_NEAR(found[0].change, -0.06, 1e-9);
}

TEST(Drift, OfASteadyMachineIsNone) {
  const mgcompare::Run run = bracketed({1000, 1010, 990});
  const Comparison comparison = compare_rows(run);
  EXPECT_TRUE(drifts(comparison).empty());
  EXPECT_TRUE(reservations(comparison).empty());
}

TEST(Drift, HasATableInOrderOfExecution) {
  const mgcompare::Run run = bracketed({1000, 1010, 900});
  const Table table = drift_table(compare_rows(run));
  std::vector<std::string> places, changes;
  for (const auto& line : table.lines) places.push_back(line[1]), changes.push_back(line[5]);
  EXPECT_THAT(places, ElementsAre("bracket 1", "block 1", "bracket 2", "block 2", "bracket 3"));
  EXPECT_THAT(changes, ElementsAre("+0.0 %", "+0.0 %", "+1.0 %", "+0.0 %", "-10.0 %"));
  const mgcompare::Run without = three_by_three();
  EXPECT_TRUE(drift_table(compare_rows(without)).lines.empty());
}

TEST(Drift, ABracketThatFailedIsAFailure) {
  mgcompare::Run run = bracketed({1000, 1010, 900});
  run.rows[0].result.status = TrialStatus::crashed;
  const Comparison comparison = compare_rows(run);
  EXPECT_EQ(comparison.cells[0].brackets.size(), 2u);
  EXPECT_EQ(failures(comparison).size(), 1u);
}

}  // namespace
}  // namespace mgcompare
