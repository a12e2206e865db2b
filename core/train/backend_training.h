#pragma once

// One training by a backend (docs/backend-protocol.md). The program trains; this code times it and evaluates its weights.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backends/exported_trial.h"
#include "data/dataset.h"
#include "platform/platform.h"
#include "plan/trial.h"
#include "results/live_position.h"
#include "results/result.h"
#include "results/trial_progress.h"

namespace mgcompare {

struct BackendRequest {
  const Trial& trial;               // its plugin is the manifest of a backend
  const Dataset& dataset;
  Platform& platform;               // for the evaluation
  Numerics numerics;
  std::string scratch;              // folder for the files of the trial and the data
  std::function<void(const Progress&)> report;
  LivePosition& position;
  std::function<bool()> stop;
  const std::vector<float>* initial_weights = nullptr;  // null: drawn from the trial's seed
  std::function<void(std::size_t epoch, const BackendWeights& weights)> settled = {};  // called after each epoch; empty: not wanted
  // The samples of each epoch, which is trained as if the data had no others; null: all.
  const std::vector<std::uint32_t>* numbers = nullptr;
};

// Throws what ends the trial early, as cause_of() classifies it; otherwise the status of the result is "done". The program and its
// processes have ended when this returns or throws.
Result train_backend(const BackendRequest& request);

}  // namespace mgcompare
