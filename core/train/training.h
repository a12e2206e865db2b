#pragma once

// One training run under one strategy: the path that the benchmark and `verify` share.

#include <functional>
#include <memory>
#include <vector>

#include "data/dataset.h"
#include "mgcompare/strategy.h"
#include "model/network.h"
#include "platform/platform.h"
#include "base/rank_threads.h"
#include "runtime/schedule_log.h"
#include "results/cause.h"
#include "results/result.h"
#include "results/trial_progress.h"
#include "plan/trial.h"

namespace mgcompare {

using MakeStrategy = std::function<std::unique_ptr<Strategy>(Options&, const Facts&)>;

struct TrainingRequest {
  const Trial* trial = nullptr;
  const Dataset* dataset = nullptr;
  Platform* platform = nullptr;
  MakeStrategy make;
  Numerics numerics;
  TrialFiles files;
  std::function<void(const Progress&)> report = [](const Progress&) {};
  std::function<bool()> stop = [] { return false; };
  std::size_t most_steps = 0;       // ends training in the middle of an epoch; 0: whole epochs
  bool evaluate = true;
  bool audit = false;
  bool record = false;              // keep what a replay needs, of free-running ranks
  const ScheduleLog* replay = nullptr;   // meet in this order
  Leave leave;                      // where a rank fails (see ranks.h); none: train() waits for the others and throws
};

struct TrainingOutcome {
  Result result;
  std::vector<std::vector<float>> weights;      // settled, a rank each
  // Of an audit:
  std::vector<double> pushed, applied;          // sums over ranks of gradients made, and over optimisers of those applied
  std::vector<std::uint32_t> times_seen;        // of each position of the last epoch, over ranks
  ScheduleLog record;                                // where one was asked for
};

// Throws Diverged, Interrupted, OutOfMemory, or what a rank threw first. The result's status is "done".
TrainingOutcome train(const TrainingRequest& request);

}  // namespace mgcompare
