#pragma once

// From what the ranks counted to the result of the trial. Called by one thread, while the ranks stand still.

#include <vector>

#include "train/rank.h"
#include "train/training.h"

namespace mgcompare {

// What all ranks of a trial have in common.
struct TrialFacts {
  const Trial* trial = nullptr;
  const Dataset* dataset = nullptr;
  const NetworkSpec* spec = nullptr;
  Traits traits;
  bool unrecorded = false;          // for the sake of a trace the host makes steps that a device could repeat
};

// One more epoch, trained and evaluated. Throws Error when the evaluation did not count every sample.
void add_epoch(Result& result, const std::vector<Rank>& ranks, const TrialFacts& facts, bool evaluated,
               double seconds_training, double seconds_evaluation);

// The end of the trial: everything that is not known epoch by epoch.
void conclude(TrainingOutcome& outcome, const std::vector<Rank>& ranks, const TrialFacts& facts,
              const Platform& platform, bool audit);

}  // namespace mgcompare
