// Evaluations within epochs (Config::evaluate).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fixture.h"
#include "results/target_crossing.h"

namespace mgcompare {
namespace {

using namespace testing;
using ::testing::HasSubstr, ::testing::IsEmpty, ::testing::SizeIs;

// 15 steps of 50 samples in each of two epochs of 730 samples: evaluations before steps 6, 10 and 15.
TrainingOutcome trained(const std::string& plugin, std::size_t ranks, double evaluate) {
  Trial trial = small_trial(ranks, plugin);
  trial.config.evaluate = evaluate;
  return run(trial);
}

class Evaluate : public ::testing::TestWithParam<const char*> {};

TEST_P(Evaluate, ChangesNothingOfTheTraining) {
  for (const std::size_t ranks : {1, 2, 3}) {
    if (GetParam() == std::string("serial") && ranks > 1) continue;
    const Result with = trained(GetParam(), ranks, 0.3).result, without = trained(GetParam(), ranks, 1).result;
    EXPECT_EQ(with.weights_hash, without.weights_hash) << ranks;
    EXPECT_EQ(with.bytes_per_step, without.bytes_per_step) << ranks;
    EXPECT_EQ(with.steps, without.steps);
    EXPECT_EQ(with.samples, without.samples);
    EXPECT_EQ(with.updates, without.updates);
    for (std::size_t epoch = 0; epoch < 2; ++epoch) {
      EXPECT_EQ(with.epochs[epoch].loss, without.epochs[epoch].loss);
      EXPECT_EQ(with.epochs[epoch].accuracy, without.epochs[epoch].accuracy);
      EXPECT_THAT(without.epochs[epoch].evaluations, IsEmpty());
      const std::vector<EvaluationResult>& within = with.epochs[epoch].evaluations;
      ASSERT_THAT(within, SizeIs(3));
      double before = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_DOUBLE_EQ(within[k].epochs, std::vector<double>({250, 450, 700})[k] / 730);
        EXPECT_GT(within[k].seconds_training, before);
        before = within[k].seconds_training;
        EXPECT_FALSE(within[k].sketch.empty());
        EXPECT_EQ(within[k].ranks_apart, 0u);
        EXPECT_EQ(within[k].ranks_moved, 0u);
      }
      EXPECT_LT(before, with.epochs[epoch].seconds_training);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Evaluate, ::testing::Values("serial", "replicated", "data_parallel", "sharded_server", "tower", "local_sgd", "bmuf", "onebit",
                                                          "top_k", "power_sgd", "independent"));

// The accuracy is that of the weights of a training that ends there.
TEST(EvaluateWithin, IsOfTheWeightsAtThatStep) {
  Trial trial = small_trial(2, "replicated");
  trial.config.epochs = 1;
  trial.config.evaluate = 0.3;
  const std::vector<EvaluationResult> within = run(trial).result.epochs[0].evaluations;
  ASSERT_THAT(within, SizeIs(3));
  const std::vector<std::size_t> steps = {5, 9, 14};
  for (std::size_t k = 0; k < 3; ++k) {
    const std::vector<float> weights = run(trial, {}, [&](TrainingRequest& request) {
      request.most_steps = steps[k];
      request.evaluate = false;
    }).weights[0];
    Trial still = trial;
    still.config.optimizer.learning_rate = 0;
    EXPECT_EQ(run(still, {}, [&](TrainingRequest& request) { request.initial_weights = &weights; }).result.accuracy, within[k].accuracy) << k;
  }
}

TEST(EvaluateWithin, TimesAreTheClocks) {
  const Result result = trained("replicated", 2, 0.1).result;
  double parts = 0;
  for (const EpochResult& epoch : result.epochs) parts += epoch.seconds_evaluation;
  EXPECT_DOUBLE_EQ(parts, result.seconds_evaluation);
  // The clock is that of rank 0; others may start a little earlier.
  EXPECT_NEAR(result.ranks[0].sum(), result.seconds_training, 0.01 * result.seconds_training);
}

TEST(EvaluateWithin, FreeRanksAreEvaluatedAfterWholeEpochsAndSaySo) {
  const Result result = trained("async_sgd", 2, 0.3).result;
  EXPECT_THAT(result.epochs[0].evaluations, IsEmpty());
  EXPECT_THAT(::testing::PrintToString(result.notes), HasSubstr("evaluated after whole epochs only, because its ranks run freely"));
  EXPECT_THAT(::testing::PrintToString(trained("async_sgd", 2, 1).result.notes), ::testing::Not(HasSubstr("whole epochs only")));
}

TEST(EvaluateWithin, ContinuesFromACheckpoint) {
  Trial trial = small_trial(2, "local_sgd");
  trial.config.evaluate = 0.3;
  trial.config.checkpoint_epochs = 1;
  expect_resumable(trial);
}

TEST(EvaluateWithin, FindsTheTargetBetweenSteps) {
  Trial trial = small_trial(1, "serial");
  trial.config.evaluate = 0.1;
  const std::vector<EvaluatedPoint> points = evaluated_points(run(trial).result.epochs);
  ASSERT_THAT(points, SizeIs(20));
  trial.config.target_accuracy = 0.5 * (points.front().accuracy + points.back().accuracy);
  const Result result = run(trial).result;
  EXPECT_GT(result.seconds_to_target, 0);
  EXPECT_LT(result.seconds_to_target, result.seconds_training);
}

}  // namespace
}  // namespace mgcompare
