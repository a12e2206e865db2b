// Properties of every strategy, including new ones.

#include <gtest/gtest.h>

#include <set>

#include "check/reference.h"
#include "rows.h"
#include "modules/strategy_options.h"
#include "check/verify.h"
#include "discovery/plugin_files.h"

namespace mgcompare::testing {
namespace {

Traits traits_of(const Trial& trial) {
  StrategyOptions options(trial.strategy.options);
  return make_strategy(trial.plugin_file, options, facts_of(trial, trial.config, small_digits().train.samples))->traits();
}

// Returns whether the row's options fit the number of samples, the batch, the optimiser and a reproducible order.
bool fits(const Trial& trial, std::size_t samples) {
  StrategyOptions options(trial.strategy.options);
  make_strategy(trial.plugin_file, options, facts_of(trial, trial.config, samples));
  const std::vector<OptionProblem> problems = options.problems();
  return std::all_of(problems.begin(), problems.end(), [](const OptionProblem& problem) { return problem.warning; });
}

class EveryStrategy : public ::testing::TestWithParam<StrategyConfig> {
 protected:
  // Omits the rank counts that the strategy does not support.
  std::vector<std::size_t> rank_counts(const std::vector<std::size_t>& wanted) const {
    std::vector<std::size_t> fitting;
    for (const std::size_t ranks : wanted) {
      const Traits traits = traits_of(trial_of(GetParam(), ranks));
      if (static_cast<int>(ranks) >= traits.least_ranks && static_cast<int>(ranks) <= traits.most_ranks) fitting.push_back(ranks);
    }
    return fitting;
  }
  std::size_t most_ranks(std::size_t wanted) const { return rank_counts({1, wanted}).back(); }
  // Updates without locks have no reproducible order.
  bool repeats() const { return fits(trial_of(GetParam(), most_ranks(2)), small_digits().train.samples); }
};

// The same cases with more training runs.
using LongEveryStrategy = EveryStrategy;

const std::vector<int> kUnequalShares = {3}, kAllRanks = {2, 3, 4, 8};

// Expects that `verify` finds no fault in one row. Returns the number of checks that passed.
std::size_t passed(const StrategyConfig& row, const ModelConfig& model, const std::string& batch_norm,
                   const std::vector<int>& ranks) {
  Config config;
  config.model = model;
  config.optimizer.weight_decay = 1e-4;
  config.batch_norm = kind_named<BatchNormPolicy>(batch_norm);
  config.strategies = {row};
  VerifyScope scope;
  for (const PluginSummary& plugin : strategy_plugins())
    if (plugin.name == row.name) scope.plugins.push_back(plugin);
  scope.ranks = ranks;
  scope.optimizers = {"momentum", "adam"};
  std::size_t passed = 0;
  const Dataset data = first_digits(scope.samples);
  verify(config, data, platform(DeviceKind::cpu), scope, [&](const VerifyFinding& finding) {
    if (finding.verdict == VerifyFinding::Verdict::passed) ++passed;
    EXPECT_NE(finding.verdict, VerifyFinding::Verdict::failed)
        << finding.strategy << ", " << finding.optimizer << ", " << finding.ranks << " ranks: " << finding.check << ": " << finding.figure;
  });
  return passed;
}

TEST_P(EveryStrategy, KeepsItsPromises) {
  if (!repeats()) GTEST_SKIP() << "never runs twice alike";
  EXPECT_GT(passed(GetParam(), small_model(), "local", kUnequalShares), 2u);
}

TEST_P(LongEveryStrategy, KeepsItsPromisesOnEveryRankCount) {
  if (!repeats()) GTEST_SKIP() << "never runs twice alike";
  EXPECT_GT(passed(GetParam(), small_model(), "local", kAllRanks), 2u);
}

TEST_P(EveryStrategy, KeepsItsPromisesWithBatchNormalisationOverAllRanks) {
  if (traits_of(trial_of(GetParam(), most_ranks(2))).pace == Traits::Pace::free) GTEST_SKIP() << "has no common step";
  EXPECT_GT(passed(GetParam(), normalised_model(), "sync", kUnequalShares), 2u);
}

TEST_P(LongEveryStrategy, KeepsItsPromisesWithBatchNormalisationOverAllRanksOnEveryRankCount) {
  if (traits_of(trial_of(GetParam(), most_ranks(2))).pace == Traits::Pace::free) GTEST_SKIP() << "has no common step";
  EXPECT_GT(passed(GetParam(), normalised_model(), "sync", kAllRanks), 2u);
}

TEST_P(EveryStrategy, LearnsFromEachSampleOnceWhateverTheBatch) {
  const Dataset few = first_digits(61);
  for (const std::size_t ranks : rank_counts({1, 3, 8}))
    for (const std::size_t batch : std::set<std::size_t>{1, ranks + 1, std::max<std::size_t>(1, ranks - 1), 60, 128}) {
      Trial trial = trial_of(GetParam(), ranks);
      trial.global_batch = batch;
      trial.config.epochs = 1;
      trial.config.measure.warm_up_steps = 0;
      trial.config.deterministic = repeats();
      if (!fits(trial, few.train.samples)) continue;  // the period is longer than the epoch
      const TrainingOutcome outcome = run(trial, {}, [&](TrainingRequest& request) {
        request.audit = true;
        request.dataset = &few;
      });
      EXPECT_EQ(outcome.result.samples, 61u) << ranks << " ranks, batch " << batch;
      for (const std::uint32_t times : outcome.times_seen) ASSERT_EQ(times, 1u) << ranks << " ranks, batch " << batch;
    }
}

// One decay for all layers, by the optimiser and by each layer.
TEST_P(EveryStrategy, DecaysTheWeightsOfALayerAsTheLayerSays) {
  if (!repeats()) GTEST_SKIP() << "never runs twice alike";
  const Dataset few = first_digits(small_digits().train.samples);  // the periods of strategies are shorter than the epoch
  const auto weights = [&](double of_optimizer, std::optional<double> of_layers) {
    Trial trial = trial_of(GetParam(), most_ranks(2));
    trial.config.epochs = 1;
    trial.config.optimizer.weight_decay = of_optimizer;
    for (LayerConfig& layer : trial.config.model.layers) layer.weight_decay = of_layers;
    return run(trial, {}, [&](TrainingRequest& request) { request.dataset = &few; }).weights;
  };
  const auto expected = weights(0.02, std::nullopt);
  EXPECT_EQ(weights(0.3, 0.02), expected);
  EXPECT_NE(weights(0.02, 0.3), expected);
}

TEST_P(EveryStrategy, InterruptedAndResumedEqualsUninterrupted) {
  if (!repeats()) GTEST_SKIP() << "never runs twice alike";
  for (const char* kind : {"sgd", "adam"}) {
    Trial trial = trial_of(GetParam(), most_ranks(3));
    trial.config.optimizer.kind = kind_named<OptimizerKind>(kind);
    trial.config.optimizer.learning_rate = std::string(kind) == "adam" ? 0.001 : 0.05;
    trial.config.epochs = 4;
    trial.config.checkpoint_epochs = 1;
    if (!fits(trial, small_digits().train.samples)) continue;
    const Result whole = run(trial).result;
    SCOPED_TRACE(kind);
    const Result resumed = run_in_two_parts(trial).result;
    EXPECT_EQ(resumed.weights_hash, whole.weights_hash) << kind;
    EXPECT_EQ(resumed.updates, whole.updates) << kind;
    EXPECT_EQ(resumed.samples, whole.samples) << kind;
    ASSERT_EQ(resumed.epochs.size(), 4u);
    EXPECT_EQ(resumed.epochs[3].accuracy, whole.epochs[3].accuracy) << kind;
    ASSERT_EQ(resumed.metrics.size(), whole.metrics.size());
    for (std::size_t rank = 0; rank < whole.metrics.size(); ++rank)
      for (const auto& [name, metric] : whole.metrics[rank])
        EXPECT_NEAR(resumed.metrics[rank].at(name).mean, metric.mean, 1e-9 * (1 + std::abs(metric.mean))) << name;
  }
}

TEST_P(EveryStrategy, WarmUpLeavesNoTrace) {
  if (!repeats()) GTEST_SKIP() << "never runs twice alike";
  Trial cold = trial_of(GetParam(), most_ranks(2)), warm = cold;
  cold.config.measure.warm_up_steps = 0;
  warm.config.measure.warm_up_steps = 5;
  const std::string hash = run(cold).result.weights_hash;
  EXPECT_EQ(run(warm).result.weights_hash, hash);
  warm.config.measure.level = MeasureLevel::normal;
  EXPECT_EQ(run(warm).result.weights_hash, hash);
}

// In warm-up, free-running ranks have to be synchronised explicitly between two steps.
TEST_P(EveryStrategy, WarmsUpUntilSteadyInLiveTime) {
  Trial trial = trial_of(GetParam(), most_ranks(3));
  trial.config.deterministic = false;
  trial.config.measure.level = MeasureLevel::normal;
  trial.config.epochs = 1;
  const Result result = run(trial).result;
  EXPECT_EQ(result.samples, small_digits().train.samples);
  EXPECT_GT(result.seconds_warm_up, 0.06) << "less than three windows";
}

// One rank fails in an exchange that the other ranks are in. They unwind, and the first error is reported.
TEST_P(EveryStrategy, ARankThatFailsInAnExchangeFailsTheTrial) {
  const std::string saboteur = std::string(MGCOMPARE_BINARY_DIR) + "/lib/mgcompare/bad_plugins/strategy_saboteur.so";
  for (const char* after : {"0", "1", "2", "5"})
    for (const bool in_virtual_time : {true, false}) {
      Trial trial = trial_of(GetParam(), most_ranks(3));
      trial.config.deterministic = in_virtual_time;
      if (in_virtual_time && !repeats()) continue;
      trial.config.measure.warm_up_steps = 0;
      trial.plugin_file = saboteur;
      trial.strategy.options.push_back(option("inner", GetParam().name));
      trial.strategy.options.push_back(option("after", after));
      try {
        run(trial);
        ADD_FAILURE() << "nothing failed after " << after << " calls";
      } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "the planted error") << after;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(All, EveryStrategy, ::testing::ValuesIn(every_row()), name_of);
INSTANTIATE_TEST_SUITE_P(All, LongEveryStrategy, ::testing::ValuesIn(every_row()), name_of);

class EveryPlugin : public ::testing::TestWithParam<std::string> {};

std::vector<std::string> every_plugin() {
  std::vector<std::string> names;
  for (const PluginSummary& plugin : strategy_plugins()) names.push_back(plugin.name);
  return names;
}

// With default options nothing is averaged, delayed, compressed or applied at another learning rate.
TEST_P(EveryPlugin, AloneItIsOneDeviceToTheBit) {
  for (const auto& [kind, rate] : {std::pair{"sgd", 0.05}, std::pair{"adam", 1e-3}, std::pair{"adagrad", 0.05}, std::pair{"adadelta", 1.0}}) {
    Trial alone = small_trial(1, GetParam());
    alone.config.optimizer.kind = kind_named<OptimizerKind>(kind);
    alone.config.optimizer.learning_rate = rate;
    const TrainingOutcome plain = run(alone, [](Options&, const Facts&) { return make_reference(1); }), outcome = run(alone);
    EXPECT_EQ(outcome.weights, plain.weights) << kind;
    EXPECT_EQ(outcome.result.updates, plain.result.updates) << kind;
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryPlugin, ::testing::ValuesIn(every_plugin()));

}  // namespace
}  // namespace mgcompare::testing
