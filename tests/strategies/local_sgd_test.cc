#include <gtest/gtest.h>

#include "puppet.h"
#include "check/reference.h"
#include "rows.h"

namespace mgcompare::testing {
namespace {

Trial local(std::size_t ranks, std::vector<OptionConfig> options) { return small_trial(ranks, "local_sgd", options); }

TrainingOutcome steps(const Trial& trial, std::size_t count) {
  return run(trial, {}, [count](TrainingRequest& request) {
    request.most_steps = count;
    request.evaluate = false;
  });
}

TEST(LocalSgd, WithoutLocalStepsItIsReplicatedToTheBit) {
  for (const std::size_t ranks : {2u, 3u, 8u}) {
    const TrainingOutcome never = run(local(ranks, {option("start_epoch", "2")}));
    EXPECT_EQ(never.weights, run(small_trial(ranks, "replicated")).weights) << ranks;
  }
}

TEST(LocalSgd, GoesOverToLocalStepsAtItsEpoch) {
  const Trial late = local(3, {option("start_epoch", "1"), option("every", "5")});
  const Trial replicated = small_trial(3, "replicated");
  EXPECT_EQ(steps(late, 15).weights, steps(replicated, 15).weights);
  EXPECT_NE(steps(late, 16).weights, steps(replicated, 16).weights);
  EXPECT_EQ(run(late).result.metrics[0].at("drift").count, 1u) << "one epoch has averagings";
}

TEST(LocalSgd, IsExactWhereTheMeanOfCopiesIsTheUpdateByTheMean) {
  const std::vector<float> plain = run(small_trial(1), [](Options&, const Facts&) { return make_reference(1); }).weights[0];
  for (const std::size_t ranks : {2u, 3u, 4u, 8u})
    EXPECT_LT(largest_difference(run(local(ranks, {option("every", "1")})).weights[0], plain), 1e-5) << ranks;
  const auto promise = [](const std::vector<OptionConfig>& options, const std::string& optimizer) {
    StrategyOptions read(options);
    Facts facts;
    facts.ranks = 4;
    facts.epochs = 2;
    facts.steps_per_epoch = 15;
    facts.optimizer = optimizer;
    facts.momentum = optimizer == "sgd" ? 0.9 : 0;
    return make_strategy(file_of_plugin("local_sgd"), read, facts)->traits();
  };
  EXPECT_EQ(promise({option("every", "1")}, "sgd").promise, Traits::Promise::exact);
  EXPECT_EQ(promise({option("every", "1")}, "adam").promise, Traits::Promise::approximate);
  EXPECT_EQ(promise({option("every", "1"), option("momentum", "local")}, "sgd").promise, Traits::Promise::approximate);
  EXPECT_EQ(promise({option("every", "2")}, "sgd").promise, Traits::Promise::approximate);
  EXPECT_EQ(promise({option("start_epoch", "2")}, "adam").promise, Traits::Promise::exact);
  EXPECT_EQ(promise({option("every", "6")}, "sgd").repeats_every, 6);
  EXPECT_EQ(promise({option("every", "6"), option("start_epoch", "1")}, "sgd").repeats_every, 0) << "the host decides at the switch";
}

// Ranks whose losses are scaled by their own, unequal shares must exchange gradients of a common scale inside the
// layer.
TEST(LocalSgd, IsExactWithBatchNormalisationOverAllRanks) {
  const auto weights = [](std::size_t ranks, const std::string& plugin, const std::vector<OptionConfig>& options) {
    Trial trial = small_trial(ranks, plugin, options);
    trial.config.model = normalised_model();
    trial.config.batch_norm = BatchNormPolicy::sync;
    trial.global_batch = 50;
    trial.config.epochs = 1;
    return run(trial).weights[0];
  };
  const std::vector<float> plain = weights(1, "serial", {});
  for (const std::size_t ranks : {2u, 3u, 8u}) {
    EXPECT_LT(largest_difference(weights(ranks, "local_sgd", {option("every", "1")}), plain), 1e-5) << ranks;
    EXPECT_LT(largest_difference(weights(ranks, "tower", {option("average", "parameters")}), plain), 1e-5) << ranks;
  }
}

TEST(LocalSgd, MomentumIsKeptAveragedOrForgotten) {
  Play given;
  given.plugin = "local_sgd";
  given.steps = 3;
  given.momentum = 0.5;
  // Rank 0 has a gradient in the first two steps only; any movement in the third is momentum.
  given.slope = [](const Batch& batch, std::size_t, float) { return batch.step() < 2 && batch.begin() == batch.whole().begin() ? -10.0f : 0.0f; };
  const double velocity = 1.5;  // of rank 0 after two gradients of 1: 1 + 0.5
  const auto after = [&](const char* momentum, std::size_t rank) {
    given.options = {option("every", "2"), option("momentum", momentum)};
    const Played played = play(given);
    return static_cast<double>(played.weights[rank][3][0]) - static_cast<double>(played.weights[rank][2][0]);
  };
  EXPECT_NEAR(after("local", 0), 0.5 * velocity, 1e-6);
  EXPECT_NEAR(after("local", 1), 0, 1e-6);
  EXPECT_NEAR(after("averaged", 0), 0.5 * velocity / 2, 1e-6);
  EXPECT_NEAR(after("averaged", 1), 0.5 * velocity / 2, 1e-6);
  EXPECT_NEAR(after("reset", 0), 0, 1e-6);
}

TEST(LocalSgd, BytesAreTheAveragedVectorsOfAPeriod) {
  for (const std::string momentum : {"local", "averaged"}) {
    const Result result = run(local(4, {option("every", "5"), option("momentum", momentum)})).result;  // 30 steps
    const double vectors = momentum == "averaged" ? 2 : 1;
    EXPECT_NEAR(result.bytes_per_step, vectors * 2.0 * 3 / 4 * 4 * static_cast<double>(result.parameters) / 5, 1) << momentum;
  }
}

}  // namespace
}  // namespace mgcompare::testing
