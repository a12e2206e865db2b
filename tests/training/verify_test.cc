#include "check/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "strategy_plugins.h"
#include "fixture.h"
#include "plan/strategy_rows.h"
#include "verified.h"

namespace mgcompare {
namespace {

using ::testing::HasSubstr;
using testing::Verified, testing::config_with, testing::failures, testing::faulty_plugin, testing::verify_faulty, testing::verify_in;
using Verdict = VerifyFinding::Verdict;

// The given strategies, and every plugin with its defaults.
Verified verify_all(const ModelConfig& model, const std::vector<int>& ranks, const std::vector<std::string>& optimizers,
                    const std::vector<StrategyConfig>& strategies = {}) {
  VerifyScope scope;
  scope.plugins = testing::strategy_plugins();
  scope.ranks = ranks;
  scope.optimizers = optimizers;
  Config config = config_with(model, strategies);
  config.strategies = rows_with_defaults(config, scope.plugins);
  return verify_in(scope, config);
}

void expect_every_plugin_passes(const std::vector<int>& ranks, const std::vector<std::string>& optimizers) {
  StrategyConfig parameters = {"tower", "tower of parameters", {{"average", "parameters", false, {}}}, {}};
  const Verified verified = verify_all(testing::small_model(), ranks, optimizers, {parameters});
  EXPECT_TRUE(verified.passed) << failures(verified);
  for (const PluginSummary& plugin : testing::strategy_plugins()) EXPECT_GT(verified.count(plugin.name, Verdict::passed), 0u) << plugin.name;
}

// EveryStrategy.KeepsItsPromises covers the other optimisers and three ranks.
TEST(Verify, PassesForEveryPlugin) { expect_every_plugin_passes({2, 4}, {"sgd", "adadelta"}); }

TEST(LongVerify, PassesForEveryPluginEveryOptimizerAndEveryRankCount) {
  expect_every_plugin_passes({2, 3, 4, 8}, {"sgd", "momentum", "adam", "adadelta"});
}

// The ctest test verify_narrow_lenet_quick does the same with fewer steps, channels and units.
TEST(LongVerify, PassesOnLeNet) {
  const Verified verified = verify_all(testing::lenet_model(), {3}, {"momentum", "adam"});
  EXPECT_TRUE(verified.passed) << failures(verified);
}

TEST(LongVerify, PassesWhateverTheSeed) {
  Config config = config_with(testing::small_model(), {});
  VerifyScope scope = quick_scope();
  scope.plugins = testing::strategy_plugins();
  config.strategies = rows_with_defaults(config, scope.plugins);
  for (scope.seed = 1; scope.seed <= 20; ++scope.seed) {
    const Verified verified = verify_in(scope, config);
    EXPECT_TRUE(verified.passed) << "seed " << scope.seed << "\n" << failures(verified);
  }
}

TEST(Verify, TrainsWithTheMomentumOfTheConfig) {
  Config config = config_with(testing::small_model(), {});
  EXPECT_EQ(smooth_config(config, "momentum").optimizer.momentum, 0.9);
  config.optimizer.momentum = 0.5;
  EXPECT_EQ(smooth_config(config, "momentum").optimizer.momentum, 0.5);
  EXPECT_EQ(smooth_config(config, "sgd").optimizer.momentum, 0);
  config.optimizer.kind = OptimizerKind::adam;
  EXPECT_EQ(smooth_config(config, "momentum").optimizer.momentum, 0.9);
}

TEST(Verify, JudgesNetworksOfReluWithoutTheirNearTies) {
  ModelConfig model = testing::small_model();
  for (LayerConfig& layer : model.layers)
    if (layer.type == LayerType::tanh) layer.type = LayerType::relu;
  const Verified verified = verify_all(model, {2, 4}, {"adam"});
  EXPECT_TRUE(verified.passed) << failures(verified);
}

// The deliberately wrong strategy is detected, and no other strategy fails, although training is shorter.
TEST(Verify, QuickMakesTheSameChecks) {
  VerifyScope scope = quick_scope();
  scope.plugins = testing::strategy_plugins();
  Config config = config_with(testing::small_model(), {});
  config.strategies = rows_with_defaults(config, scope.plugins);
  const Verified verified = verify_in(scope, config);
  EXPECT_TRUE(verified.passed) << failures(verified);
  ASSERT_FALSE(verified.findings.empty());
  EXPECT_EQ(verified.findings[0].strategy, "planted");
  for (const PluginSummary& plugin : scope.plugins) EXPECT_GT(verified.count(plugin.name, Verdict::passed), 0u) << plugin.name;
  EXPECT_THROW(verify(config, testing::small_digits(), platform(DeviceKind::cpu), scope, [](const VerifyFinding&) {}), Error);
}

TEST(Verify, FailsARowWhoseOptionsThePluginRefuses) {
  const Verified verified = verify_faulty("liar", {{"lie_", "nothing", false, {}}}, {"sgd"});
  EXPECT_FALSE(verified.passed) << "a verification that checked nothing must not pass";
  ASSERT_EQ(verified.count("the row", Verdict::failed), 1u);
  EXPECT_EQ(verified.count("the row", Verdict::passed), 0u);
  EXPECT_NE(verified.findings.back().figure.find("lie_"), std::string::npos) << verified.findings.back().figure;
}

TEST(Verify, TrainsInRealTimeWhatHasNoOrderInVirtualTime) {
  Config config = config_with(testing::small_model(), {{"async_sgd", "unlocked", {{"rule", "hogwild", false, {}}}, {}}});
  VerifyScope scope;
  scope.plugins = testing::strategy_plugins();
  scope.ranks = {2, 3};
  scope.optimizers = {"sgd"};
  const Verified verified = verify_in(scope, config);
  EXPECT_TRUE(verified.passed) << failures(verified);
  EXPECT_EQ(std::count_if(verified.findings.begin(), verified.findings.end(),
                          [](const VerifyFinding& finding) { return finding.check.starts_with("in real time"); }),
            6) << "three for each number of ranks";
  config.deterministic = true;
  EXPECT_FALSE(verify_in(scope, config).passed) << "a run refuses the row, too";
}

TEST(Verify, TheSameSeedGivesTheSameFindings) {
  const auto text_of = [](std::uint64_t seed) {
    std::string text;
    for (const VerifyFinding& finding : verify_faulty("liar", {}, {"sgd"}, seed).findings)
      if (finding.ranks > 0) text += finding.check + ": " + finding.figure + "\n";  // the others have processor times
    return text;
  };
  const std::string first = text_of(7);
  EXPECT_EQ(text_of(7), first);
  EXPECT_NE(text_of(8), first);
}

TEST(VerifyScope, TrainingsDifferInLengthAndHaveUnequalBatches) {
  for (VerifyScope scope : {VerifyScope(), quick_scope()}) {
    std::set<std::size_t> lengths;
    for (scope.seed = 1; scope.seed <= 400; ++scope.seed) {
      for (const char* optimizer : {"sgd", "momentum", "adam", "adadelta"}) {
        const bool is_brief = scope.seed % 2 == 0;
        const Extent extent = extent_of(scope, optimizer, is_brief);
        const std::size_t steps = extent.epochs * extent.steps_per_epoch;
        lengths.insert(steps);
        ASSERT_GE(extent.epochs, 4u);
        ASSERT_GE(steps, (is_brief ? scope.brief : scope.full).steps.least);
        const auto [first, second] = extent.checkpoints;
        const std::size_t longest_part = std::max({first, second - first, extent.epochs - second}) * extent.steps_per_epoch;
        ASSERT_TRUE(is_brief || longest_part >= scope.full.steps.least);
        ASSERT_NE(scope.samples % extent.batch, 0u);
        ASSERT_EQ(extent.steps_per_epoch, scope.samples / extent.batch + 1);
        ASSERT_GE(first, 1u);
        ASSERT_LT(first, second);
        ASSERT_LT(second, extent.epochs);
        ASSERT_LT(extent.unsettled + 1, extent.epochs) << "the last epoch settles";
        for (const std::size_t checkpoint : extent.checkpoints) ASSERT_NE(extent.unsettled + 1, checkpoint) << "a checkpoint follows settle()";
        ASSERT_GT(extent.rate_changes[0], 0u);
        ASSERT_LT(extent.rate_changes[0], first * extent.steps_per_epoch);
        ASSERT_GT(extent.rate_changes[1], second * extent.steps_per_epoch);
        ASSERT_LT(extent.rate_changes[1], steps - 1);
      }
    }
    EXPECT_GT(lengths.size(), 10u);
  }
}

TEST(Verify, APluginThatIsWrongOnPurposeFails) {
  const Verified verified = verify_faulty("mean_of_means", {}, {"sgd"});
  EXPECT_FALSE(verified.passed);
  EXPECT_THAT(failures(verified), HasSubstr("equals one device on the global batch"));
}

TEST(Verify, APluginThatThrowsWhateverItLikesFailsInWords) {
  const Verified verified = verify_faulty("misbehave", {{"how", "throw number", false, {}}});
  EXPECT_FALSE(verified.passed);
  EXPECT_EQ(verified.count("the row", Verdict::failed), 2u) << "a check of one optimiser does not end the others";
  EXPECT_THAT(failures(verified), HasSubstr("something that is not an exception"));
}

struct Lie {
  const char* how;
  bool approximate;
  const char* check;                // that must fail
  const char* batch_norm = "";      // of the network; "": it has none
};

void PrintTo(const Lie& lie, std::ostream* stream) {
  *stream << lie.how << (lie.approximate ? " (approximate)" : "") << (*lie.batch_norm == 0 ? "" : ", batch_norm: ") << lie.batch_norm;
}

std::vector<OptionConfig> options_of(const Lie& lie) {
  return {{"how", lie.how, false, {}}, {"approximate", lie.approximate ? "true" : "false", false, {}}};
}

class VerifyLiar : public ::testing::TestWithParam<Lie> {};

TEST_P(VerifyLiar, Fails) {
  const Lie& lie = GetParam();
  const Verified verified = verify_faulty("liar", options_of(lie), {"sgd", "adam"}, 1, lie.batch_norm);
  EXPECT_FALSE(verified.passed);
  EXPECT_THAT(failures(verified), HasSubstr(lie.check));
}

// The same whatever is drawn.
class LongVerifyLiar : public VerifyLiar {};

TEST_P(LongVerifyLiar, FailsWhateverTheSeed) {
  const Lie& lie = GetParam();
  for (std::uint64_t seed = 2; seed <= 9; ++seed) {
    const Verified verified = verify_faulty("liar", options_of(lie), {"sgd", "adam"}, seed, lie.batch_norm);
    EXPECT_THAT(failures(verified), HasSubstr(lie.check)) << "seed " << seed;
  }
}

constexpr char kOneDevice[] = "equals one device on the global batch";
constexpr char kCounted[] = "the ranks' exchange is counted";
constexpr char kSettles[] = "settle() leaves the training as it was";
constexpr char kResumes[] = "interrupted and resumed, it ends with the same weights";
constexpr char kSaves[] = "save() leaves the training as it was";
constexpr char kWarmsUp[] = "the warm-up leaves the training as it was";
constexpr char kEveryRank[] = "the model depends on every rank's samples";
constexpr char kTraits[] = "strategy 'liar' changes its traits: promise was '";
constexpr char kLeft[] = "its threads, processes and descriptors end with the training";
constexpr char kSettlesStatistics[] = "settle() leaves the statistics of batch normalisation as they were";
constexpr char kStatistics[] = "the statistics of batch normalisation are those of the passes";

const auto kLies = ::testing::Values(
    Lie{"scaled gradients", false, kOneDevice}, Lie{"whole batch", false, "trains on each sample once per epoch"}, Lie{"dropped sample", false, kOneDevice},
    Lie{"mean of means", false, kOneDevice}, Lie{"mean of means", false, kOneDevice, "local"}, Lie{"skipped exchange", false, kOneDevice},
    Lie{"late noise", false, kOneDevice}, Lie{"trains apart", false, kOneDevice}, Lie{"trains apart", false, kCounted}, Lie{"trains apart", true, kEveryRank},
    Lie{"trains apart noisily", true, kEveryRank}, Lie{"uncounted exchange", false, kCounted}, Lie{"uncounted exchange", true, kCounted},
    Lie{"hidden exchange", false, kCounted}, Lie{"first rate", false, kOneDevice}, Lie{"largest rate", false, kOneDevice},
    Lie{"ignores a rank", true, kEveryRank}, Lie{"ignores ranks later", true, kEveryRank}, Lie{"ignores ranks late", true, kEveryRank},
    Lie{"ignores ranks first", true, kEveryRank}, Lie{"ignores ranks last", true, kEveryRank}, Lie{"ignores short batches", true, kEveryRank},
    Lie{"impossible traits", true, "has impossible traits: most_ranks is 0"},
    Lie{"meets at free pace", true, "all_reduce: ranks at free pace make different numbers of steps"}, Lie{"skips updates", true, kEveryRank},
    Lie{"freezes a layer", true, "it trains each tensor that one device trains"}, Lie{"skips passes", true, "trains on each sample once per epoch"},
    Lie{"burns a core", false, "only the threads of its ranks compute"}, Lie{"burns in a process", false, "only the threads of its ranks compute"},
    Lie{"burns uncounted", false, "changed the handling of SIGCHLD"}, Lie{"repeats samples", true, "trains on each sample once per epoch"},
    Lie{"leaves a thread", false, kLeft}, Lie{"leaves a process", false, kLeft}, Lie{"leaves a descriptor", false, kLeft}, Lie{"no save", false, kResumes},
    Lie{"no save", true, kResumes}, Lie{"static no save", true, kResumes}, Lie{"unique no save", true, kResumes},
    Lie{"restores once", false, "changes the weights in restore()"}, Lie{"restores once", true, "changes the weights in restore()"},
    Lie{"restores statistics", true, "changes the statistics of batch normalisation in restore()", "local"},
    Lie{"starts with statistics", true, "changes the statistics of batch normalisation in start()", "local"},
    Lie{"scales statistics", true, kStatistics, "local"}, Lie{"settle exchanges last", false, "settle() ran passes or updates"},
    Lie{"save scales weights", false, kSaves}, Lie{"save scales weights", true, kSaves}, Lie{"warms up ahead", true, kWarmsUp},
    Lie{"leaves a variable", true, kLeft}, Lie{"starts ahead", true, "changes the weights in start()"}, Lie{"changes traits", false, kTraits},
    Lie{"changes traits later", false, kTraits}, Lie{"settle scales weights", false, "one rank equals one device"},
    Lie{"settle scales weights", true, kSettles}, Lie{"settle averages weights", true, kSettles},
    Lie{"settles within epochs", false, "settle() returns the same weights as one device within epochs"},
    Lie{"settle averages ahead", true, "settle() takes no exchange over from steps"}, Lie{"settle clears statistics", false, kSettlesStatistics, "sync"},
    Lie{"settle clears statistics", false, kSettlesStatistics, "local"}, Lie{"settle clears statistics", true, kSettlesStatistics, "local"},
    Lie{"settle averages statistics", true, kSettlesStatistics, "local"}, Lie{"sums statistics", false, kStatistics, "sync"},
    Lie{"sums statistics", false, kStatistics, "local"}, Lie{"sums statistics", true, kStatistics, "local"});

INSTANTIATE_TEST_SUITE_P(All, VerifyLiar, kLies);
INSTANTIATE_TEST_SUITE_P(All, LongVerifyLiar, kLies);

// In one epoch only, or where values are small.
struct Occasion {
  const char* how;
  const char* check;                // that must fail
  const char* batch_norm = "";      // of the network; "": it has none
};

void PrintTo(const Occasion& occasion, std::ostream* stream) { *stream << occasion.how << " " << occasion.batch_norm; }

class VerifyOccasional : public ::testing::TestWithParam<Occasion> {
 protected:
  static Verified verify_seed(std::uint64_t seed) {
    return verify_faulty("occasional", {{"how", GetParam().how, false, {}}}, {"sgd"}, seed, GetParam().batch_norm);
  }
};

TEST_P(VerifyOccasional, Fails) { EXPECT_THAT(failures(verify_seed(1)), HasSubstr(GetParam().check)); }

class LongVerifyOccasional : public VerifyOccasional {};

TEST_P(LongVerifyOccasional, FailsWhateverTheSeed) {
  for (std::uint64_t seed = 2; seed <= 9; ++seed) EXPECT_THAT(failures(verify_seed(seed)), HasSubstr(GetParam().check)) << "seed " << seed;
}

const auto kOccasions = ::testing::Values(
    Occasion{"uncounted first epoch", "of epoch 1 sends 0 bytes"}, Occasion{"uncounted second epoch", "of epoch 2 sends 0 bytes"},
    Occasion{"settles larger first", "settle() returns the same weights as one device after each epoch: after epoch 1, rank 0"},
    Occasion{"settles apart first", "settle() returns the same weights as one device after each epoch: after epoch 1, rank 1"},
    Occasion{"passes in start", "start() ran passes or updates"}, Occasion{"updates in start", "start() ran passes or updates"},
    Occasion{"updates in restore", "restore() ran passes or updates"},
    Occasion{"passes in settle", "settle() ran passes or updates"}, Occasion{"updates in settle", "settle() ran passes or updates"},
    Occasion{"keeps the first epoch", "a pass in epoch 2 got a batch of epoch 1"},
    Occasion{"repeats passes first", "missed or repeated in epoch 1"},
    Occasion{"uncounted first epoch", "of epoch 1 sends 0 bytes", "local"}, Occasion{"uncounted first epoch", "of epoch 1 sends 0 bytes", "sync"},
    Occasion{"settles larger first", "after each epoch: after epoch 1, rank 0", "local"},
    Occasion{"scales unordered", "equals one device on the global batch"}, Occasion{"scales unordered", "equals one device on the global batch", "sync"},
    Occasion{"drops easy samples", "from weights that fit the samples"}, Occasion{"skips small exchanges", "from weights that fit the samples"},
    Occasion{"peeks first", "only samples that it learns from pass forward", "sync"},
    Occasion{"peeks first", "only samples that it learns from pass forward", "local"},
    Occasion{"passes mirrored first", "the statistics of batch normalisation are those of one device: after epoch 1, those of batch_norm", "sync"},
    Occasion{"passes mirrored first", "1 ranks: after each epoch, the statistics of batch normalisation are those of one device", "local"});

INSTANTIATE_TEST_SUITE_P(All, VerifyOccasional, kOccasions);
INSTANTIATE_TEST_SUITE_P(All, LongVerifyOccasional, kOccasions);

TEST(Verify, TrainsFromFittedWeightsWithEveryOptimizerAndOnOneRank) {
  const Verified verified = verify_faulty("occasional", {{"how", "drops easy samples", false, {}}});
  for (const char* place : {"sgd, 1 ranks", "sgd, 3 ranks", "adam, 1 ranks", "adam, 3 ranks"})
    EXPECT_THAT(failures(verified), HasSubstr(std::string(place) + ": equals one device on the global batch from weights that fit the samples"));
}

TEST(Verify, WeightsWithoutAGradientStillMove) {
  for (const char* optimizer : {"momentum", "adam"})
    EXPECT_THAT(failures(verify_faulty("occasional", {{"how", "keeps idle weights", false, {}}}, {optimizer})), HasSubstr("from weights that fit the samples"));
}

// A schedule may let the learning rate fall to a tenth at once.
TEST(Verify, TheLearningRateFallsToATenth) {
  for (const char* how : {"forgets at a fall", "halves small rates"})
    for (const std::uint64_t seed : {1u, 2u, 3u})
      EXPECT_THAT(failures(verify_faulty("occasional", {{"how", how, false, {}}}, {"sgd", "momentum"}, seed)), HasSubstr("momentum, 3 ranks: equals one device"))
          << how << ", seed " << seed;
}

TEST(Verify, WhatIsUnusualButHonestPasses) {
  for (const char* how : {"nothing", "computes losses twice"}) {
    for (const char* batch_norm : {"", "local", "sync"}) {
      const Verified verified = verify_faulty("occasional", {{"how", how, false, {}}}, {"sgd", "adam"}, 1, batch_norm);
      EXPECT_TRUE(verified.passed) << how << "\n" << failures(verified);
    }
  }
}

// Strategies may exchange the statistics of batch normalisation.
TEST(Verify, HonestExchangesOfStatisticsPass) {
  for (const char* how : {"nothing", "averages statistics", "broadcasts statistics"})
    for (const char* approximate : {"false", "true"})
      for (const char* batch_norm : {"local", "sync"}) {
        const Verified verified = verify_faulty("liar", {{"how", how, false, {}}, {"approximate", approximate, false, {}}},
                                                {"sgd", "adam"}, 1, batch_norm);
        EXPECT_TRUE(verified.passed) << how << ", batch_norm: " << batch_norm << "\n" << failures(verified);
      }
}

// The gradient of a bias before batch normalisation is rounding alone, and these optimisers divide it by its size.
TEST(Verify, JudgesABiasBeforeBatchNormalisationByItsRounding) {
  VerifyScope scope = quick_scope();
  scope.plugins = {faulty_plugin("liar")};
  scope.optimizers = {"adam", "adagrad"};
  Config config = config_with(testing::normalised_model(), {});
  std::swap(config.model.layers[1], config.model.layers[2]);
  ASSERT_EQ(config.model.layers[0].type, LayerType::conv);
  ASSERT_EQ(config.model.layers[1].type, LayerType::batch_norm);
  for (const BatchNormPolicy policy : {BatchNormPolicy::local, BatchNormPolicy::sync}) {
    config.batch_norm = policy;
    config.strategies = {{"liar", "honest", {{"how", "nothing", false, {}}}, {}}};
    const Verified honest = verify_in(scope, config);
    EXPECT_TRUE(honest.passed) << failures(honest);
    config.strategies = {{"liar", "wrong", {{"how", "mean of means", false, {}}}, {}}};
    EXPECT_THAT(failures(verify_in(scope, config)), HasSubstr(kOneDevice));
  }
}

// None of these numbers of ranks is in the scope.
TEST(Verify, ALiarIsFoundOnTheRanksThatItSupports) {
  for (const char* ranks : {"2", "5"}) {
    const Verified verified = verify_faulty("liar", {{"how", "scaled gradients", false, {}}, {"ranks", ranks, false, {}}}, {"sgd"});
    EXPECT_FALSE(verified.passed) << ranks;
    EXPECT_THAT(failures(verified), HasSubstr(std::string(ranks) + " ranks: " + kOneDevice));
  }
}

TEST(Verify, TheSamePluginPassesWithoutALie) {
  const Verified verified = verify_faulty("liar", {});
  EXPECT_TRUE(verified.passed) << failures(verified);
}

}  // namespace
}  // namespace mgcompare
