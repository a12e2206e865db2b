#include "results/target_crossing.h"

#include <gtest/gtest.h>

#include <limits>

namespace mgcompare {
namespace {

EpochResult epoch_of(double accuracy, double seconds, std::vector<EvaluationResult> within = {}) {
  EpochResult epoch;
  epoch.accuracy = accuracy;
  epoch.seconds_training = seconds;
  epoch.evaluations = std::move(within);
  return epoch;
}

void expect_crossing(const std::vector<EpochResult>& epochs, double target, double seconds, double number) {
  const TargetCrossing crossing = crossing_of(epochs, target);
  EXPECT_DOUBLE_EQ(crossing.seconds, seconds) << target;
  EXPECT_DOUBLE_EQ(crossing.epochs, number) << target;
}

TEST(TargetCrossing, LiesBetweenTheEvaluationsAroundIt) {
  const std::vector<EpochResult> epochs = {epoch_of(0.5, 2), epoch_of(0.7, 4), epoch_of(0.9, 4)};
  expect_crossing(epochs, 0.6, 4, 1.5);
  expect_crossing(epochs, 0.7, 6, 2);
  expect_crossing(epochs, 0.85, 9, 2.75);
  expect_crossing(epochs, 0.9, 10, 3);
}

TEST(TargetCrossing, KnowsNothingBeforeTheFirstEvaluation) { expect_crossing({epoch_of(0.5, 2), epoch_of(0.7, 4)}, 0.4, 2, 1); }

TEST(TargetCrossing, UsesEvaluationsWithinEpochs) {
  const std::vector<EpochResult> epochs = {epoch_of(0.5, 2, {{0.5, 1.2, 0.3}}), epoch_of(0.9, 4, {{0.25, 1, 0.7}, {0.5, 2, 0.8}})};
  expect_crossing(epochs, 0.2, 1.2, 0.5);
  expect_crossing(epochs, 0.4, 1.6, 0.75);
  expect_crossing(epochs, 0.75, 3.5, 1.375);
  expect_crossing(epochs, 0.9, 6, 2);
}

TEST(TargetCrossing, IsOfTheFirstTime) { expect_crossing({epoch_of(0.5, 2), epoch_of(0.7, 2), epoch_of(0.4, 2), epoch_of(0.8, 2)}, 0.7, 4, 2); }

TEST(TargetCrossing, IsNoneWithoutATargetOrBelowIt) {
  const std::vector<EpochResult> epochs = {epoch_of(0.5, 2), epoch_of(std::numeric_limits<double>::quiet_NaN(), 2)};
  expect_crossing(epochs, 0.6, 0, 0);
  expect_crossing(epochs, 0, 0, 0);
  expect_crossing({}, 0.5, 0, 0);
}

TEST(TargetCrossing, IsNotFromAnUnknownAccuracy) {
  expect_crossing({epoch_of(0.5, 2), epoch_of(std::numeric_limits<double>::quiet_NaN(), 2), epoch_of(0.7, 2)}, 0.6, 4, 2);
}

}  // namespace
}  // namespace mgcompare
