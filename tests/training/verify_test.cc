#include "check/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "discovery/plugin_files.h"
#include "fixture.h"

namespace mgcompare {
namespace {

using Verdict = Finding::Verdict;

struct Verified {
  bool passed = false;
  std::vector<Finding> findings;
  std::size_t count(const std::string& strategy, Verdict verdict) const {
    return static_cast<std::size_t>(std::count_if(findings.begin(), findings.end(), [&](const Finding& finding) {
      return finding.strategy == strategy && finding.verdict == verdict;
    }));
  }
};

Verified verify_with(const ModelConfig& model, const std::vector<PluginSummary>& plugins, const std::vector<int>& ranks,
                     const std::vector<std::string>& optimizers, const std::vector<StrategyConfig>& strategies = {}) {
  Config config;
  config.model = model;
  config.optimizer.weight_decay = 1e-4;
  config.strategies = strategies;
  VerifyScope scope;
  scope.plugins = plugins;
  scope.ranks = ranks;
  scope.optimizers = optimizers;
  Verified verified;
  verified.passed = verify(config, testing::small_digits(), platform(DeviceKind::cpu), scope,
                           [&](const Finding& finding) { verified.findings.push_back(finding); });
  return verified;
}

std::string failures(const Verified& verified) {
  std::string text;
  for (const Finding& finding : verified.findings)
    if (finding.verdict == Verdict::failed)
      text += finding.strategy + ", " + finding.optimizer + ", " + std::to_string(finding.ranks) + " ranks: " + finding.check + ": " + finding.figure + "\n";
  return text;
}

void expect_every_plugin_passes(const std::vector<int>& ranks, const std::vector<std::string>& optimizers) {
  StrategyConfig parameters = {"tower", "tower of parameters", {{"average", "parameters", false, {}}}, {}};
  const Verified verified = verify_with(testing::small_model(), find_plugins({}), ranks, optimizers,
                                        {{"serial", "serial", {}, {}}, {"tower", "tower", {}, {}}, parameters});
  EXPECT_TRUE(verified.passed) << failures(verified);
  for (const PluginSummary& plugin : find_plugins({})) EXPECT_GT(verified.count(plugin.name, Verdict::passed), 0u) << plugin.name;
}

// EveryStrategy.KeepsItsPromises covers the other optimisers and three ranks.
TEST(Verify, PassesForEveryPlugin) { expect_every_plugin_passes({2, 4}, {"sgd", "adadelta"}); }

TEST(LongVerify, PassesForEveryPluginEveryOptimizerAndEveryRankCount) {
  expect_every_plugin_passes({2, 3, 4, 8}, {"sgd", "momentum", "adam", "adadelta"});
}

// The ctest test verify_lenet_quick does the same with fewer steps.
TEST(LongVerify, PassesOnLeNet) {
  const Verified verified = verify_with(testing::lenet_model(), find_plugins({}), {3}, {"momentum", "adam"});
  EXPECT_TRUE(verified.passed) << failures(verified);
}

TEST(Verify, JudgesNetworksOfReluWithoutTheirNearTies) {
  ModelConfig model = testing::small_model();
  for (LayerConfig& layer : model.layers)
    if (layer.type == LayerType::tanh) layer.type = LayerType::relu;
  const Verified verified = verify_with(model, find_plugins({}), {2, 4}, {"adam"});
  EXPECT_TRUE(verified.passed) << failures(verified);
}

// The deliberately wrong strategy is detected, and no other strategy fails, although training is shorter.
TEST(Verify, QuickMakesTheSameChecks) {
  Config config;
  config.model = testing::small_model();
  VerifyScope scope = quick_scope();
  scope.plugins = find_plugins({});
  const Dataset data = testing::first_digits(scope.samples);
  std::vector<Finding> findings;
  EXPECT_TRUE(verify(config, data, platform(DeviceKind::cpu), scope, [&](const Finding& finding) { findings.push_back(finding); }));
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].strategy, "planted");
  for (const PluginSummary& plugin : scope.plugins)
    EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
      return finding.strategy == plugin.name && finding.verdict == Verdict::passed;
    })) << plugin.name;
  EXPECT_THROW(verify(config, testing::small_digits(), platform(DeviceKind::cpu), scope, [](const Finding&) {}), Error);
}

TEST(Verify, APluginThatIsWrongOnPurposeFails) {
  const PluginSummary wrong = inspect_plugin(std::string(MGCOMPARE_BINARY_DIR) + "/lib/mgcompare/bad_plugins/strategy_mean_of_means.so");
  ASSERT_EQ(wrong.problem, "");
  const Verified verified = verify_with(testing::small_model(), {wrong}, {3}, {"sgd"});
  EXPECT_FALSE(verified.passed);
  EXPECT_THAT(failures(verified), ::testing::HasSubstr("equals one device on the global batch"));
}

TEST(Verify, APluginThatThrowsWhateverItLikesFailsInWords) {
  const PluginSummary plugin = inspect_plugin(std::string(MGCOMPARE_BINARY_DIR) + "/lib/mgcompare/bad_plugins/strategy_misbehave.so");
  ASSERT_EQ(plugin.problem, "");
  const StrategyConfig row = {plugin.name, "a number", {{"how", "throw number", false, {}}}, {}};
  const Verified verified = verify_with(testing::small_model(), {plugin}, {2}, {"sgd", "adam"}, {row});
  EXPECT_FALSE(verified.passed);
  EXPECT_EQ(verified.count("a number", Verdict::failed), 2u) << "a check of one optimiser does not end the others";
  EXPECT_THAT(failures(verified), ::testing::HasSubstr("something that is not an exception"));
}

}  // namespace
}  // namespace mgcompare
