#include "reports/steadiness.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "reports/csv.h"
#include "reports/explain.h"
#include "reports/json.h"
#include "reports/tables.h"
#include "results/runs.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Result with_windows(const std::vector<double>& rates) {
  Result result = make_result(1000, 8, 0.985);
  for (const double rate : rates) result.windows.push_back({100, rate, 1});
  return result;
}

// The baseline with these windows in each of the repeats; every repeat is slightly faster than the one before.
mgcompare::Run run_with(const std::vector<double>& rates, std::uint64_t repeats) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= repeats; ++seed) {
    std::vector<double> own = rates;
    for (double& rate : own) rate *= 1 + 0.001 * static_cast<double>(seed);
    maker.baseline(seed, with_windows(own));
  }
  return maker.run;
}

std::string column(const mgcompare::Run& run, const std::string& name) {
  const Table table = speed_table(compare_rows(run));
  for (std::size_t k = 0; k < table.head.size(); ++k)
    if (table.head[k] == name) return table.lines.at(0).at(k);
  return "no such column";
}

TEST(Steadiness, IsOfTheWindowsOfOneTrial) {
  EXPECT_FALSE(steadiness_of(with_windows({})).has_value());
  EXPECT_FALSE(steadiness_of(with_windows({1000})).has_value());
  EXPECT_FALSE(steadiness_of(with_windows({1000, 0})).has_value()) << "what a damaged file may hold";
  const Steadiness even = *steadiness_of(with_windows({1000, 1000, 1000}));
  EXPECT_EQ(even.spread, 0);
  EXPECT_EQ(even.drift, 0);
  const Steadiness falls = *steadiness_of(with_windows({1000, 980, 940, 920, 900}));
  EXPECT_NEAR(falls.spread, 100.0 / 940, 1e-12);
  EXPECT_NEAR(falls.drift, 910.0 / 990 - 1, 1e-12);
}

TEST(Steadiness, StandsBesideTheFigureOfTheRow) {
  EXPECT_EQ(column(run_with({}, 3), "within a trial"), "-");
  EXPECT_EQ(column(run_with({1000, 1010, 990}, 3), "within a trial"), "2.0 %");
  EXPECT_EQ(column(run_with({1000, 1100, 990}, 3), "within a trial"), "11 %\n(unsteady)");
  EXPECT_EQ(column(run_with({1000, 980, 960, 940}, 3), "within a trial"), "6.2 %\n(drifts by -4.0 %)");
}

// Two repeats may both decrease by chance.
TEST(Steadiness, DriftTakesThreeRepeatsThatAgree) {
  EXPECT_EQ(column(run_with({1000, 980, 960, 940}, 2), "within a trial"), "6.2 %\n(unsteady)");
  mgcompare::Run run = run_with({1000, 980, 960, 940}, 3);
  std::swap(run.rows[0].result.windows.front(), run.rows[0].result.windows.back());
  std::swap(run.rows[0].result.windows[1], run.rows[0].result.windows[2]);
  EXPECT_EQ(column(run, "within a trial"), "6.2 %\n(unsteady)");
}

TEST(Steadiness, ATrialThatFallsIsAReason) {
  const mgcompare::Run run = run_with({1000, 980, 960, 940}, 3);
  const Comparison comparison = compare_rows(run);
  const std::vector<Reason> reasons = explain(comparison);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].rule, "E8");
  EXPECT_THAT(reasons[0].evidence, HasSubstr("in each of 3 repeats the last windows are slower than the first, by 4.0 %"));
}

// Windows with a large spread must not count as repeats: the row has three repeats, and the interval is theirs.
TEST(Steadiness, WindowsAreNoRepeats) {
  const mgcompare::Run run = run_with({500, 1500, 1000}, 3);
  const Comparison comparison = compare_rows(run);
  EXPECT_EQ(comparison.cells[0].samples_per_second.count, 3u);
  EXPECT_EQ(comparison.cells[0].samples_per_second.low, 1000);
  EXPECT_EQ(comparison.cells[0].samples_per_second.high, 1000);
}

TEST(Steadiness, IsInTheFiles) {
  const mgcompare::Run run = run_with({1000, 1010, 990}, 1);
  const nlohmann::json json = nlohmann::json::parse(json_text(run));
  EXPECT_EQ(json["trials"][0]["result"]["windows"].size(), 3u);
  EXPECT_NEAR(json["rows"][0]["window_spread"]["median"].get<double>(), 0.02, 1e-9);
  EXPECT_NEAR(json["rows"][0]["window_drift"]["median"].get<double>(), -0.01, 1e-9);
  EXPECT_THAT(csv_report(run), AllOf(HasSubstr(",windows,window_spread,window_drift,"), HasSubstr(",3,0.0")));
}

}  // namespace
}  // namespace mgcompare
