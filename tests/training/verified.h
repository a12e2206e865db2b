#pragma once

// Verifications of small networks in this process, and what they found.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "check/verify.h"
#include "discovery/plugin_files.h"
#include "fixture.h"

namespace mgcompare::testing {

struct Verified {
  bool passed = false;
  std::vector<VerifyFinding> findings;
  std::size_t count(const std::string& strategy, VerifyFinding::Verdict verdict) const {
    return static_cast<std::size_t>(std::count_if(findings.begin(), findings.end(), [&](const VerifyFinding& finding) {
      return finding.strategy == strategy && finding.verdict == verdict;
    }));
  }
};

inline Config config_with(const ModelConfig& model, const std::vector<StrategyConfig>& strategies) {
  Config config;
  config.model = model;
  config.optimizer.weight_decay = 1e-4;
  config.strategies = strategies;
  return config;
}

inline Verified verify_in(const VerifyScope& scope, const Config& config) {
  Verified verified;
  const Dataset data = first_digits(scope.samples);
  verified.passed = verify(config, data, platform(DeviceKind::cpu), scope,
                           [&](const VerifyFinding& finding) { verified.findings.push_back(finding); });
  return verified;
}

inline PluginSummary faulty_plugin(const std::string& name) {
  return inspect_plugin(std::string(MGCOMPARE_BINARY_DIR) + "/lib/mgcompare/bad_plugins/strategy_" + name + ".so");
}

// How the faulty plugin `server` lies, for as long as this lives.
class ServerLie {
 public:
  explicit ServerLie(const char* lie) { setenv("SERVER_LIE", lie, 1); }
  ~ServerLie() { unsetenv("SERVER_LIE"); }
};

// A faulty plugin, in the scope of --quick.
inline Verified verify_faulty(const std::string& name, const std::vector<OptionConfig>& options,
                              const std::vector<std::string>& optimizers = {"sgd", "adam"}, std::uint64_t seed = 1,
                              const std::string& batch_norm = "") {
  VerifyScope scope = quick_scope();
  scope.seed = seed;
  scope.plugins = {faulty_plugin(name)};
  scope.optimizers = optimizers;
  EXPECT_EQ(scope.plugins[0].problem, "");
  Config config = config_with(small_model(), {{name, "the row", options, {}}});
  if (!batch_norm.empty()) {
    config.model = normalised_model();
    config.batch_norm = kind_named<BatchNormPolicy>(batch_norm);
  }
  return verify_in(scope, config);
}

inline std::string failures(const Verified& verified) {
  std::string text;
  for (const VerifyFinding& finding : verified.findings)
    if (finding.verdict == VerifyFinding::Verdict::failed)
      text += finding.strategy + ", " + finding.optimizer + ", " + std::to_string(finding.ranks) + " ranks: " + finding.check + ": " + finding.figure + "\n";
  return text;
}

}  // namespace mgcompare::testing
