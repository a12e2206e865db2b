#pragma once

// The trainings of a verification. They run the same train() as a trial, in this process: for workers only.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "check/observed_strategy.h"
#include "check/verify_scope.h"
#include "data/dataset.h"
#include "modules/strategy_options.h"
#include "platform/platform.h"
#include "results/finding.h"
#include "train/training.h"

namespace mgcompare {

// Called during a verification. Each may be empty.
struct VerifyListener {
  std::function<void(const Finding&)> found;
  std::function<void(const std::string& optimizer, int ranks)> training;  // one begins
  std::function<void(const Progress&)> progress;
  LivePosition* position = nullptr;  // kept up to date; null: not wanted
  // Must end the process: ranks may still be running after one has failed (see rank_threads.h). Empty: the training waits
  // for them, and throws.
  std::function<void()> leave;
};

struct TrainingCase {
  StrategyConfig strategy;
  std::string optimizer;
  int ranks = 1;
  bool smooth = false;              // average pooling for max pooling, tanh for relu: without the near-ties that amplify rounding
  bool audit = false;               // see TrainingRequest
  bool settles = false;             // see Disturbance
  bool resumes = false;             // interrupted at a checkpoint and resumed
  int altered_rank = -1;            // see Disturbance
};

struct ObservedTraining {
  TrainingOutcome outcome;
  Observation seen;
};

// What the threads of a strategy's trainings did.
struct ThreadUsage {
  double ranks_seconds = 0;         // processor time of rank threads
  double other_seconds = 0;         // of other threads of the process
  std::size_t left = 0;             // threads that did not end with their training
};

class Trainings {
 public:
  // `folder`: for checkpoints. All must outlive this object.
  Trainings(const Config& config, const Dataset& dataset, Platform& platform, const VerifyScope& scope, std::string folder);

  void listen(const VerifyListener& listener) { listener_ = listener; }
  Traits traits(const TrainingCase& of, StrategyOptions& options) const;
  ObservedTraining run(const TrainingCase& of);
  // With a strategy that is no plugin, on `of.ranks` ranks.
  TrainingOutcome run(const TrainingCase& of, const std::function<std::unique_ptr<Strategy>()>& make);
  // Weights of one rank on the global batch, or of one that accumulates several shares of it. Computed once each.
  const std::vector<float>& reference(const std::string& optimizer, std::size_t shares, bool smooth);
  bool normalises() const;          // whether the network has batch normalisation
  // Of all trainings of run() since the last call.
  ThreadUsage take_usage();

 private:
  struct ReferenceKey {
    std::string optimizer;
    std::size_t shares;
    bool smooth;
    auto operator<=>(const ReferenceKey&) const = default;
  };
  Trial trial_of(const TrainingCase& of) const;
  TrainingRequest request_of(const TrainingCase& of, const Trial& trial);
  // Trains until the checkpoint has been written.
  void run_first_part(const TrainingCase& of, TrainingRequest request, bool free_pace);
  void count_threads(const Observation& seen, double others, std::size_t before);
  std::string file_of(const StrategyConfig& strategy) const;

  Config config_;
  const Dataset& dataset_;
  Platform& platform_;
  const VerifyScope& scope_;
  std::string folder_;
  std::size_t devices_;
  VerifyListener listener_;
  ThreadUsage usage_;
  std::map<ReferenceKey, std::vector<float>> references_;
};

}  // namespace mgcompare
