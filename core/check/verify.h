#pragma once

// Holds every strategy to its promises; docs/strategies.md says what is checked. Runs the same train() as the benchmark, in this
// process, so it is called in a worker only.

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
  std::string figure;               // what was measured, and against which limit
};

struct VerifyScope {
  std::vector<PluginSummary> plugins;          // those that may be opened
  std::vector<int> ranks = {2, 3, 4, 8};
  std::vector<std::string> optimizers = {"sgd", "momentum", "adam", "adadelta"};
  DeviceKind device_kind = DeviceKind::cpu;
  // Ends the process after a trial in which a rank failed (see ranks.h). None: the checks go on.
  std::function<void()> leave;
};

// Strategies are the config's, with their options, and every other plugin with its defaults. Each finding is told as it
// is made; the return value is whether none failed.
bool verify(const Config& config, const Dataset& dataset, Platform& platform, const VerifyScope& scope,
            const std::function<void(const Finding&)>& tell);

// The samples that verify trains on: a number that none of its batches and rank counts divides.
DataConfig verify_data(const DataConfig& data);

}  // namespace mgcompare
