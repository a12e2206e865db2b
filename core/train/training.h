#pragma once

// One training run with one strategy. Used by trials and by `verify`.

#include <functional>
#include <memory>
#include <vector>

#include "data/dataset.h"
#include "mgcompare/strategy.h"
#include "model/network.h"
#include "platform/platform.h"
#include "base/rank_threads.h"
#include "runtime/gradient_sums.h"
#include "runtime/rate_range.h"
#include "runtime/schedule_log.h"
#include "results/cause.h"
#include "results/live_position.h"
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
  const std::vector<float>* initial_weights = nullptr;  // null: drawn from the trial's seed
  TrialFiles files;
  std::function<void(const Progress&)> report = [](const Progress&) {};
  LivePosition* position = nullptr;     // kept up to date; null: not wanted
  std::function<bool()> stop = [] { return false; };
  // Limit on steps in lockstep, may end within an epoch; 0: whole epochs. With `evaluate`, the last batch of the epoch and one pass
  // of the evaluation follow, so that a training of some steps needs the memory of a whole one.
  std::size_t most_steps = 0;
  bool evaluate = true;             // after each epoch; without, the result has no sketches of the weights
  bool audit = false;
  bool record = false;              // keep the schedule of free-running ranks for a replay
  const ScheduleLog* replay = nullptr;  // run in this order
  HostSpan hosts;                   // which take part; every host makes the same call, and the first one gets the result
  Leave leave;                      // called if a rank fails (see rank_threads.h); empty: train() waits for the others and throws
};

struct TrainingOutcome {
  Result result;
  std::vector<std::vector<float>> weights;      // of each rank, settled
  // Results of an audit:
  GradientSums pushed, applied;                 // gradients computed, of all ranks, and applied, by all optimisers
  RateRange rates;                              // see RankReplica::rates()
  std::vector<std::uint32_t> times_seen;        // of each position of the last epoch, summed over ranks
  ScheduleLog record;                           // if requested
};

// Throws Diverged, Interrupted, OutOfMemory, or the first error of a rank. Otherwise the status of the result is "done".
TrainingOutcome train(const TrainingRequest& request);

}  // namespace mgcompare
