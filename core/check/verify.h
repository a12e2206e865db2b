#pragma once

// Checks the promises of strategies; docs/strategies.md lists the checks. Runs the same train() as a trial, in this process:
// call in a worker only.

#include <functional>
#include <string>
#include <vector>

#include "config/config.h"
#include "data/dataset.h"
#include "mgcompare/strategy.h"
#include "platform/platform.h"
#include "discovery/capabilities.h"

namespace mgcompare {

struct Finding {
  enum class Verdict { passed, failed, printed, skipped } verdict = Verdict::passed;
  std::string strategy;             // the row's label, or "planted"
  std::string check;                // "equals one device (average pooling)"
  std::string optimizer;            // "sgd", "momentum", "adam", "adadelta"
  int ranks = 1;
  std::string figure;               // the measured value and its limit
};

struct VerifyScope {
  std::vector<PluginSummary> plugins;          // that may be opened
  std::vector<int> ranks = {2, 3, 4, 8};
  std::vector<std::string> optimizers = {"sgd", "momentum", "adam", "adadelta"};
  std::size_t samples = 730;                   // training samples of each trial; see verify_data()
  DeviceKind device_kind = DeviceKind::cpu;
  // Ends the process after a trial in which a rank failed (see rank_threads.h). Empty: the checks continue.
  std::function<void()> leave;
};

// Checks the strategies of the config with their options, and every other plugin with its default options. Calls `report`
// with each finding. Returns whether no check failed.
bool verify(const Config& config, const Dataset& dataset, Platform& platform, const VerifyScope& scope,
            const std::function<void(const Finding&)>& report);

// The scope of `verify --quick`: the same checks with the same limits, on one rank count, two optimisers and a third of
// the steps.
VerifyScope quick_scope();

// The data that verify trains on: the first `samples` training samples. Neither the batch size nor a rank count divides
// 730 or 230, so that the last batch and the shares of the ranks are unequal.
DataConfig verify_data(const DataConfig& data, std::size_t samples);

}  // namespace mgcompare
