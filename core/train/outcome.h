#pragma once

// Assembles the result of a trial from what its ranks report. Called by one thread of the first host while the ranks wait.

#include <string>
#include <vector>

#include "train/rank.h"
#include "train/training.h"

namespace mgcompare {

struct HostReport;
struct RankEpoch;

// The SHA-256 of the weights, as in results.
std::string weights_hash(const std::vector<float>& weights);

// The properties that all ranks of a trial share.
struct TrialFacts {
  const Trial* trial = nullptr;
  const Dataset* dataset = nullptr;
  const NetworkSpec* spec = nullptr;
  Traits traits;
  bool capture_suppressed = false;  // a trace is written, so no graphs are captured
};

// Of the last evaluation, on all samples; with many models their mean. Throws Error if it did not cover every sample.
double evaluated_accuracy(const std::vector<RankEpoch>& ranks, const TrialFacts& facts);

// The accuracy of the last evaluation, which was within an epoch, and whether the ranks' copies of the weights were equal.
EvaluationResult evaluation_within(const std::vector<RankEpoch>& ranks, const TrialFacts& facts);

// Adds an epoch. `first`: rank 0. `within`: its evaluations before its end. Throws Error if the last evaluation did not cover every sample.
void add_epoch(Result& result, const std::vector<RankEpoch>& ranks, const Rank& first, const TrialFacts& facts, bool evaluated,
               double seconds_training, double seconds_evaluation, std::vector<EvaluationResult> within);

// Completes the result at the end of the trial. `ranks`: those of this host.
void conclude(TrainingOutcome& outcome, const std::vector<Rank>& ranks, const HostReport& report, const TrialFacts& facts, bool audit);

}  // namespace mgcompare
