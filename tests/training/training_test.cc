#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include "fixture.h"
#include "check/reference.h"
#include "results/live_position.h"

namespace mgcompare {
namespace {

using testing::largest_difference;
using testing::run;
using testing::run_in_two_parts;
using testing::small_trial;

MakeStrategy reference(std::size_t shares) {
  return [shares](Options&, const Facts&) { return make_reference(shares); };
}

TEST(Training, TheSameSeedGivesTheSameBits) {
  for (const char* plugin : {"replicated", "tower", "onebit", "async_sgd"}) {
    const TrainingOutcome first = run(small_trial(3, plugin)), second = run(small_trial(3, plugin));
    EXPECT_EQ(first.result.weights_hash, second.result.weights_hash) << plugin;
    EXPECT_EQ(first.weights, second.weights) << plugin;
    Trial other = small_trial(3, plugin);
    other.seed = 2;
    EXPECT_NE(run(other).result.weights_hash, first.result.weights_hash) << plugin;
  }
}

TEST(Training, EverySampleCountsOnceForAnyRanksAndBatch) {
  for (std::size_t ranks = 1; ranks <= 8; ++ranks)
    for (const std::size_t batch : {std::size_t{1}, ranks - 1, ranks, ranks + 1, std::size_t{7}, std::size_t{60}, std::size_t{128}}) {
      if (batch == 0) continue;
      for (const char* plugin : {"replicated", "async_sgd"}) {
        Trial trial = small_trial(ranks, plugin);
        trial.global_batch = batch;
        trial.config.epochs = 1;
        trial.config.measure.warm_up_steps = 0;
        const Dataset few = testing::first_digits(61);
        const TrainingOutcome outcome = run(trial, {}, [&](TrainingRequest& request) {
          request.audit = true;
          request.dataset = &few;
        });
        EXPECT_EQ(outcome.result.samples, 61u);
        for (const std::uint32_t times : outcome.times_seen) ASSERT_EQ(times, 1u) << plugin << " ranks " << ranks << " batch " << batch;
      }
    }
}

// Keeps the sizes of the batches of the strategy that was made last, at the pace that `pace` names.
class BatchSizes : public Strategy {
 public:
  BatchSizes(Traits::Pace pace, std::vector<std::size_t>& sizes) : pace_(pace), sizes_(sizes) {}
  Traits traits() const override {
    Traits traits;
    traits.pace = pace_;
    return traits;
  }
  void step(Replica&, Group&, const Batch& batch) override { sizes_.push_back(batch.whole().size()); }

 private:
  const Traits::Pace pace_;
  std::vector<std::size_t>& sizes_;
};

TEST(Training, TheWarmUpHasBatchesOfEverySize) {
  for (const Traits::Pace pace : {Traits::Pace::lockstep, Traits::Pace::free}) {
    Trial trial = small_trial(1, "");
    trial.config.epochs = 1;
    const Dataset few = testing::first_digits(61);
    std::vector<std::vector<std::size_t>> made;  // one for the traits, the warm-up and the training
    made.reserve(3);
    run(trial, [&](Options&, const Facts&) { return std::make_unique<BatchSizes>(pace, made.emplace_back()); },
        [&](TrainingRequest& request) { request.dataset = &few; });
    ASSERT_EQ(made.size(), 3u);
    const std::set<std::size_t> warmed(made[1].begin(), made[1].end()), trained(made[2].begin(), made[2].end());
    EXPECT_EQ(trained, (std::set<std::size_t>{11, 50}));
    EXPECT_EQ(warmed, trained);
  }
}

// Bytes that could be tokens, by the data, are scaled as bytes for a network without an embedding.
TEST(Training, BytesAreTokensOnlyForANetworkThatReadsThem) {
  Trial trial = small_trial(1, "serial");
  trial.config.epochs = 1;
  Dataset bytes = testing::first_digits(61);
  const auto hash = [&] { return run(trial, {}, [&](TrainingRequest& request) { request.dataset = &bytes; }).result.weights_hash; };
  const std::string numbers = hash();
  bytes.spec.tokens = 256;
  EXPECT_EQ(hash(), numbers);
}

TEST(Training, EvaluationCoversAllSamplesForAnyRanks) {
  // 200 samples are not divisible by 3, 6 or 7. The training code itself refuses a wrong count.
  double one = -1;
  for (std::size_t ranks = 1; ranks <= 8; ++ranks) {
    Trial trial = small_trial(ranks, "replicated");
    trial.config.epochs = 1;
    const Result result = run(trial).result;
    if (one < 0) one = result.accuracy;
    EXPECT_NEAR(result.accuracy, one, 0.02);
    EXPECT_EQ(result.accuracy * 200, std::round(result.accuracy * 200));
  }
}

TEST(Training, ExactStrategiesEqualAccumulatedSharesToTheBit) {
  for (const char* plugin : {"replicated", "tower"})
    for (const std::size_t ranks : {2u, 3u, 4u, 8u})
      EXPECT_EQ(run(small_trial(ranks, plugin)).weights[0], run(small_trial(1), reference(ranks)).weights[0]) << plugin << ranks;
}

TEST(Training, BytesAreThoseOfTheFormula) {
  const Result replicated = run(small_trial(4, "replicated")).result;
  EXPECT_NEAR(replicated.bytes_per_step, 2.0 * 3 / 4 * 4 * static_cast<double>(replicated.parameters), 1);
  const Result tower = run(small_trial(4, "tower")).result;
  EXPECT_NEAR(tower.bytes_per_step, 8.0 * static_cast<double>(tower.parameters), 1);
  const Result independent = run(small_trial(4, "independent")).result;
  EXPECT_EQ(independent.bytes_per_step, 0);
}

TEST(Training, UpdatesAreCountedWhereTheyAreApplied) {
  EXPECT_EQ(run(small_trial(2, "replicated")).result.updates, 30u);
  EXPECT_EQ(run(small_trial(2, "tower")).result.updates, 30u);
  // 730 samples in draws of 25: 30 draws per epoch, the last with 5 samples.
  EXPECT_EQ(run(small_trial(2, "async_sgd")).result.updates, 60u);
}

TEST(Training, AsynchronousGradientsAreAllApplied) {
  for (const std::size_t ranks : {2u, 3u, 8u}) {
    const TrainingOutcome outcome = run(small_trial(ranks, "async_sgd"), {}, [](TrainingRequest& request) { request.audit = true; });
    double gap = 0, size = 0;
    for (std::size_t i = 0; i < outcome.pushed.sum.size(); ++i) {
      gap = std::max(gap, std::abs(outcome.pushed.sum[i] - outcome.applied.sum[i]));
      size = std::max(size, std::abs(outcome.pushed.sum[i]));
    }
    EXPECT_GT(size, 0);
    EXPECT_LT(gap, 1e-6 * size);
    // Each rank has one gradient in flight: the mean staleness is ranks - 1, except for transients.
    double staleness = 0, count = 0;
    for (const auto& metrics : outcome.result.metrics) {
      staleness += metrics.at("staleness").mean * static_cast<double>(metrics.at("staleness").count);
      count += static_cast<double>(metrics.at("staleness").count);
    }
    const double edges = 2 * 2 * static_cast<double>(ranks * ranks) / count;
    EXPECT_NEAR(staleness / count, static_cast<double>(ranks - 1), edges) << ranks;
  }
}

TEST(Training, OneBitSendsTheBytesOfTheFormula) {
  // LeNet, one column per output: 58,672 bytes in place of 1,724,320, sent once to the owners and once back to all.
  Trial trial = small_trial(2, "onebit");
  trial.config.model = testing::lenet_model();
  trial.config.epochs = 1;
  const TrainingOutcome outcome = run(trial, {}, [](TrainingRequest& request) { request.most_steps = 2; });
  EXPECT_NEAR(outcome.result.bytes_per_step, 58672.0, 1);
  EXPECT_NEAR(outcome.result.metrics[0].at("compression").last, 1724320.0 / 58672.0, 1e-9);
}

TEST(Training, OneBitConservesTheGradient) {
  // Plain sgd without weight decay moves the weights by rate x the transmitted gradient; the rest is in the residuals.
  Trial trial = small_trial(3, "onebit");
  trial.config.optimizer.momentum = 0;
  trial.config.optimizer.weight_decay = 0;
  const TrainingOutcome outcome = run(trial, {}, [](TrainingRequest& request) { request.audit = true; });
  double residual = 0, gap = 0;
  for (std::size_t i = 0; i < outcome.pushed.sum.size(); ++i) {
    // All ranks applied the same transmitted sum.
    const double left = outcome.pushed.sum[i] - outcome.applied.sum[i] / 3;
    gap += left * left;
  }
  for (const auto& metrics : outcome.result.metrics) residual += metrics.at("residual norm").last;
  EXPECT_GT(gap, 0);
  // The norm of the summed residuals is at most the sum of their norms; the owners' own residuals are of similar size.
  EXPECT_LT(std::sqrt(gap), 3 * residual);
}

TEST(Training, AResumedTrialKeepsItsStrategysFigures) {
  Trial trial = small_trial(2, "async_sgd");
  trial.config.checkpoint_epochs = 1;
  const MetricResult whole = run(trial).result.metrics[0].at("staleness");
  const MetricResult resumed = run_in_two_parts(trial).result.metrics[0].at("staleness");
  EXPECT_EQ(resumed.count, whole.count);
  EXPECT_NEAR(resumed.mean, whole.mean, 1e-12);
}

TEST(Training, NothingToResumeFromIsABeginning) {
  Trial trial = small_trial(2, "replicated");
  trial.config.checkpoint_epochs = 1;
  const std::string file = (std::filesystem::temp_directory_path() / ("mgcompare-none-" + std::to_string(::getpid()))).string();
  const Result fresh = run(trial, {}, [&](TrainingRequest& request) { request.files = {file, true}; }).result;
  EXPECT_EQ(fresh.weights_hash, run(trial).result.weights_hash);
  EXPECT_TRUE(std::filesystem::remove(file));
}

TEST(Training, ADrawLargerThanTheDataIsAllOfThem) {
  Trial trial = small_trial(2, "async_sgd");
  trial.global_batch = 4000;
  const Result result = run(trial).result;
  EXPECT_EQ(result.samples, 2 * 730u);
  EXPECT_EQ(result.updates, 2u);
}

TEST(Training, WithoutMomentumThereIsNoneOfNesterovsEither) {
  Trial plain = small_trial(1, "async_sgd", {{"momentum", "none", false, {}}}), nesterov = plain;
  plain.config.optimizer.momentum = 0;
  nesterov.config.optimizer.nesterov = true;
  EXPECT_EQ(run(plain).result.weights_hash, run(nesterov).result.weights_hash);
}

TEST(Training, AnExplosionOfTheLastUpdateIsADivergence) {
  Trial trial = small_trial(1, "serial");
  trial.global_batch = 730;
  trial.config.epochs = 1;
  trial.config.measure.warm_up_steps = 0;
  trial.config.optimizer.learning_rate = 1e39;
  EXPECT_THROW(run(trial), Diverged);
}

TEST(Training, DivergenceIsNamedWithItsStep) {
  Trial trial = small_trial(2, "replicated");
  trial.config.optimizer.learning_rate = 1e6;
  trial.config.optimizer.weight_decay = 1;
  try {
    run(trial);
    ADD_FAILURE();
  } catch (const Diverged& error) {
    EXPECT_NE(std::string(error.what()).find("step "), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("nan"), std::string::npos) << error.what();
  }
}

// Rank 0 is late in each step. Rank 1 notes what a runner would read if it crashed now.
class Late : public Strategy {
 public:
  Late(const LivePosition& position, std::vector<std::string>& seen) : position_(position), seen_(seen) {}
  Traits traits() const override { return {}; }
  void start(Replica&, Group& group) override { note(group); }
  void step(Replica& replica, Group& group, const Batch& batch) override {
    note(group);
    replica.backward(batch);
    group.all_reduce(replica.gradients());
    replica.update();
    if (group.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  Vec settle(Replica& replica, Group& group) override {
    note(group);
    return replica.weights();
  }

 private:
  void note(const Group& group) const {
    if (group.rank() == 1) seen_.push_back(text_of(position_.get()));
  }

  const LivePosition& position_;
  std::vector<std::string>& seen_;
};

TEST(Training, ThePositionIsThatOfTheFurthestRank) {
  LivePosition position;
  std::vector<std::string> seen;
  Trial trial = small_trial(2);
  trial.global_batch = 200;
  const auto train_again = [&] {
    seen.clear();
    run(trial, [&](Options&, const Facts&) { return std::make_unique<Late>(position, seen); },
        [&](TrainingRequest& request) { request.position = &position; });
  };
  const std::vector<std::string> expected = {"in setup",
                                             "in the warm-up, at batch 1 of an epoch",
                                             "in the warm-up, at batch 4 of an epoch",
                                             "in setup",
                                             "in step 1 of epoch 1 (training)",
                                             "in step 2 of epoch 1 (training)",
                                             "in step 3 of epoch 1 (training)",
                                             "in step 4 of epoch 1 (training)",
                                             "in evaluation of epoch 1",
                                             "in step 1 of epoch 2 (training)",
                                             "in step 2 of epoch 2 (training)",
                                             "in step 3 of epoch 2 (training)",
                                             "in step 4 of epoch 2 (training)",
                                             "in evaluation of epoch 2"};
  train_again();
  EXPECT_EQ(seen, expected);
  train_again();
  EXPECT_EQ(seen, expected) << "the second training of the process began in teardown of the first";
}

}  // namespace
}  // namespace mgcompare
