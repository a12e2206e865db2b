// Data and networks with which verify cannot judge some of its checks: it must accuse nobody of that.

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "check/drawn_samples.h"
#include "check/verify_size.h"
#include "check/weight_difference.h"
#include "strategy_plugins.h"
#include "verified.h"

namespace mgcompare {
namespace {

using ::testing::HasSubstr;
using testing::Verified, testing::failures;
using Verdict = VerifyFinding::Verdict;

ModelConfig dense_model(const std::vector<LayerType>& types, InitializerKind weights = InitializerKind::xavier) {
  ModelConfig model{"dense", {}};
  for (const LayerType type : types) {
    LayerConfig layer{.type = type, .name = "layer" + std::to_string(model.layers.size())};
    if (type == LayerType::dense) layer.channels = model.layers.empty() ? 32 : 10;
    if (model.layers.empty()) layer.weights.kind = weights;
    model.layers.push_back(layer);
  }
  return model;
}

// In all sizes, as the command does.
Verified verify_quickly(const Config& config, const Dataset& all, std::uint64_t seed, std::vector<PluginSummary> plugins = testing::strategy_plugins()) {
  VerifyScope scope = quick_scope();
  scope.seed = seed;
  scope.plugins = std::move(plugins);
  Verified verified{true, {}};
  VerifyListener listener;
  listener.found = [&](const VerifyFinding& finding) {
    verified.passed = verified.passed && finding.verdict != Verdict::failed;
    verified.findings.push_back(finding);
  };
  const TemporaryFolder folder;
  const Dataset data = with_drawn_samples(all, scope.samples, seed);
  Verification verification(config, data, platform(DeviceKind::cpu), scope, folder.path());
  verification.listen(listener);
  verification.check_planted();
  for (const StrategyConfig& row : config.strategies) verification.check(row);
  for (const VerifySize& size : sizes_of(scope, config, all.train.samples, true)) {
    const Dataset part = with_drawn_samples(all, size.scope.samples, seed);
    Verification sized(config, part, platform(DeviceKind::cpu), size.scope, folder.path());
    sized.listen(listener);
    for (const StrategyConfig& row : config.strategies) sized.check_size(row, size);
  }
  return verified;
}

// Units are saturated there, and rounding grows by thousands in single steps.
TEST(VerifyData, InputsThatAreNotScaledAccuseNobody) {
  Config config = testing::config_with(dense_model({LayerType::dense, LayerType::relu, LayerType::dense}), {{"replicated", "replicated", {}, {}}});
  config.data.prepare.scale = 1;
  config.scaling.automatic = false;
  config.scaling.devices = {{"cpu", 2, {}}};
  config.scaling.batch = {24};
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Verified verified = verify_quickly(config, testing::small_digits(), seed);
    EXPECT_TRUE(verified.passed) << "seed " << seed << "\n" << failures(verified);
    EXPECT_GT(verified.count("replicated", Verdict::passed), 0u);
  }
}

// Where one device is far from itself, too, nothing can be said of a strategy; elsewhere a wrong one is found, whatever the inputs.
TEST(VerifyData, WhatRoundingDecidesIsNotJudged) {
  Config config = testing::config_with(dense_model({LayerType::dense, LayerType::relu, LayerType::dense}), {{"mean_of_means", "the row", {}, {}}});
  config.data.prepare.scale = 1;
  std::size_t skipped = 0, failed = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Verified verified = verify_quickly(config, testing::small_digits(), seed, {testing::faulty_plugin("mean_of_means")});
    failed += verified.count("the row", Verdict::failed);
    skipped += static_cast<std::size_t>(std::count_if(verified.findings.begin(), verified.findings.end(), [](const VerifyFinding& finding) {
      return finding.verdict == Verdict::skipped && finding.figure.starts_with("cannot be judged: rounding decides");
    }));
  }
  EXPECT_GT(skipped, 0u);
  EXPECT_GT(failed, 0u);
}

TEST(VerifyData, EqualSamplesShowNoMeanOfMeans) {
  Dataset data = testing::small_digits();
  data.train = samples_at(data.train, std::vector<std::uint32_t>(data.train.samples, 3));
  const Verified verified = verify_quickly(testing::config_with(testing::small_model(), {}), data, 1);
  ASSERT_EQ(verified.findings.size(), 1u);
  EXPECT_EQ(verified.findings[0].verdict, Verdict::skipped);
  EXPECT_THAT(verified.findings[0].figure, HasSubstr("are equal"));
}

// Its units begin at 0 and stay there: only the last bias learns, from the targets.
TEST(VerifyData, ANetworkThatDependsOnFewSamplesAccusesNobody) {
  Config config = testing::config_with(dense_model({LayerType::dense, LayerType::batch_norm, LayerType::relu, LayerType::dense}, InitializerKind::zeros),
                                       {{"replicated", "replicated", {}, {}}});
  const Verified verified = verify_quickly(config, testing::small_digits(), 2);
  EXPECT_TRUE(verified.passed) << failures(verified);
  const auto is_unchecked = [](const VerifyFinding& finding) { return finding.figure.find("one device does not depend") != std::string::npos; };
  EXPECT_TRUE(std::any_of(verified.findings.begin(), verified.findings.end(), is_unchecked));
}

TEST(VerifyData, ANudgeIsAsSmallAsRounding) {
  const std::vector<float> weights = {1, -0.5f, 0, 3e-5f}, nudged = nudged_weights(weights, 2);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_EQ(nudged[i] == weights[i], weights[i] == 0);
    EXPECT_NEAR(nudged[i], weights[i], 3e-7 * std::abs(weights[i]));
  }
  EXPECT_EQ(nudged_weights(weights, 2), nudged);
}

}  // namespace
}  // namespace mgcompare
