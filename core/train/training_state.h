#pragma once

// What the ranks of one training run share, each on its thread. Each phase of training has a file of its own and works on
// this.

#include <cstddef>
#include <vector>

#include "base/abortable_barrier.h"
#include "train/outcome.h"
#include "train/rank.h"
#include "train/training.h"

namespace mgcompare {

struct TrainingState {
  // Throws Error for an option that the strategy refuses.
  explicit TrainingState(const TrainingRequest& request);

  bool tracing() const { return !request.files.trace.empty(); }
  // In lockstep all ranks have made the same number of steps here; in free pace a limit is not needed.
  bool out_of_steps() const { return request.most_steps != 0 && steps >= request.most_steps; }
  // Whether a device may repeat what it did: audits look at every pass, and samples on the host are the host's to gather.
  bool device_repeats() const { return !request.audit && config.data.on != "host"; }
  // Tells the user how far rank 0 has come, and throws Interrupted where he wants no more. Other ranks say nothing.
  void report_progress(std::size_t rank, TrialPhase phase, std::size_t epoch, std::size_t step, double loss);
  Result& result() { return outcome.result; }

  const TrainingRequest& request;
  const Trial& trial;
  const Config& config;
  const Dataset& data;
  NetworkSpec spec;
  Facts facts;
  TrialFacts trial_facts;
  bool free = false, many = false;  // the traits' pace, and their models
  std::vector<Rank> ranks;
  AbortableBarrier barrier;                        // of all ranks
  // Written by rank 0 alone.
  std::size_t first_epoch = 0;
  std::size_t steps = 0;
  double epoch_seconds = 0;         // of the last one
  double next_report = 0;
  TrainingOutcome outcome;
};

}  // namespace mgcompare
