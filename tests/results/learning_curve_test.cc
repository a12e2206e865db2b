// The curves of accuracy over epochs and seconds.

#include <gmock/gmock.h>

#include "reports/charts/chart.h"
#include "runs.h"

namespace mgcompare {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Run run_of(std::size_t epochs) {
  Result result = make_result(1000, 0, 0.9);
  result.epochs.clear();
  for (std::size_t i = 0; i < epochs; ++i) result.epochs.push_back({.accuracy = 0.5 + 0.4 * static_cast<double>(i) / static_cast<double>(epochs), .seconds_training = 1});
  RunMaker maker;
  maker.baseline(1, result);
  return maker.run;
}

std::vector<double> drawn(const ChartGroup& group, const char* field) {
  std::vector<double> all;
  for (const Json& value : group.charts.at(0).spec.at("data").at("values")) all.push_back(value.at(field));
  return all;
}

TEST(LearningCurve, HasEveryEvaluationOfATrainingOfUsualLength) {
  const ChartGroup by_epoch = accuracy_charts(compare_rows(run_of(600))).at(1);
  EXPECT_EQ(drawn(by_epoch, "epoch").size(), 600u);
  EXPECT_THAT(by_epoch.caption, Not(HasSubstr("equal parts")));
}

TEST(LearningCurve, OfAVeryLongTrainingHasItsEndsAndExtremes) {
  mgcompare::Run run = run_of(30'000);
  run.rows[0].result.epochs[12'345].accuracy = 0.1;
  run.rows[0].result.epochs[12'346].accuracy = 0.95;
  const ChartGroup by_epoch = accuracy_charts(compare_rows(run)).at(1);
  const std::vector<double> epochs = drawn(by_epoch, "epoch"), accuracies = drawn(by_epoch, "accuracy");
  EXPECT_LE(epochs.size(), 602u);
  EXPECT_EQ(epochs.front(), 1);
  EXPECT_EQ(epochs.back(), 30'000);
  EXPECT_TRUE(std::is_sorted(epochs.begin(), epochs.end()));
  EXPECT_THAT(epochs, testing::IsSupersetOf({12'346.0, 12'347.0}));
  EXPECT_THAT(accuracies, testing::IsSupersetOf({0.1, 0.95}));
  EXPECT_THAT(by_epoch.caption, HasSubstr("Curves of more than 600 evaluations show the least and the greatest median of each of 300 equal parts."));
}

std::vector<double> epochs_on_axis(std::size_t epochs) {
  const ChartGroup by_epoch = accuracy_charts(compare_rows(run_of(epochs))).at(1);
  return by_epoch.charts.at(0).spec.at("layer").at(1).at("encoding").at("x").at("axis").at("values").get<std::vector<double>>();
}

TEST(LearningCurve, HasRoundEpochsOnItsAxis) {
  using testing::ElementsAre;
  EXPECT_THAT(epochs_on_axis(3), ElementsAre(1, 2, 3));
  EXPECT_THAT(epochs_on_axis(13), ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_THAT(epochs_on_axis(30), ElementsAre(1, 5, 10, 15, 20, 25, 30));
  EXPECT_THAT(epochs_on_axis(100), ElementsAre(1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100));
  EXPECT_THAT(epochs_on_axis(30'000), ElementsAre(1, 5000, 10'000, 15'000, 20'000, 25'000, 30'000));
}

}  // namespace
}  // namespace mgcompare
