#pragma once

// The trainings of a verification. They run the same train() as a trial, in this process: for workers only.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/footprint.h"
#include "check/observed_strategy.h"
#include "check/verify_scope.h"
#include "check/weight_difference.h"
#include "data/dataset.h"
#include "modules/strategy_options.h"
#include "platform/platform.h"
#include "results/verify_finding.h"
#include "train/training.h"

namespace mgcompare {

// How much farther than the control, which sums in another order, weights or statistics may be from one device. Where rounding grows, it grows
// exponentially: other orders of summation were up to 33 times as far as one control.
inline constexpr double kDriftFactor = 100;
// Controls that are trained where the first one does not explain a difference: one control may end near by chance.
inline constexpr int kControls = 5;
// Where kDriftFactor times the distance of a control is beyond this, rounding decides.
inline constexpr double kLargestLimit = 3e-2;

// Called during a verification. Each may be empty.
struct VerifyListener {
  std::function<void(const VerifyFinding&)> found;
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
  std::size_t hosts = 1;            // see run_on_hosts()
  bool is_brief = false;            // see extent_of()
  std::size_t epochs = 0;           // in lockstep: ends after so many; 0: all
  std::size_t all_epochs = 0;       // of the whole training, at any pace; 0: see extent_of()
  bool smooth = false;              // average pooling for max pooling, tanh for relu, larger epsilons: without what amplifies rounding
  int control = 0;                  // 1: the samples of each batch in reverse order; more: initial weights with other last bits; 0: none of this
  bool shares_norm = false;         // batch normalisation over all ranks, whatever the config says
  bool audit = false;               // see TrainingRequest
  bool settles = false;             // see Disturbance
  bool resumes = false;             // interrupted at checkpoints and resumed; it writes one after each epoch
  bool saves = false;               // writes a checkpoint after each epoch
  bool warms_up = false;            // begins with steps on weights that are discarded
  // As in a run without numerics.deterministic: Facts::ordered is false, and the order of free-running ranks is not that of virtual time.
  bool in_real_time = false;
  bool has_other_seed = false;      // than that of the scope, for its order of samples and random numbers
  bool fitted = false;              // from weights that fit the samples, in place of random ones; with a blank batch
  // See Disturbance.
  const std::vector<SettledModel>* settled = nullptr;
  double limit = 0;
  std::optional<Alteration> alteration = {};
  const MarkedSamples* marks = nullptr;  // trains these with their network, at free pace; null: the config's network with its data
};

struct ObservedTraining {
  TrainingOutcome outcome;
  Observation seen;
  // That a rank sent per step, mean over ranks; without what settle() sent.
  double bytes_per_step = 0;
};

// What the trainings of a strategy used besides the threads of the ranks.
struct Usage {
  double ranks_seconds = 0;         // processor time of rank threads
  double other_seconds = 0;         // of other threads and of processes that were started
  std::string left;                 // what the first training that left anything behind left: "left 1 thread"
};

// A config for comparing trainings by other programs, with this optimiser ("momentum": sgd with that of the config, or 0.9): tanh for relu, average
// pooling for max pooling and no dropout, whose random numbers are each program's own.
Config smooth_config(Config config, const std::string& optimizer);

// On one host, or on several that are threads of this process: the outcome of the first one, with the weights of all ranks.
TrainingOutcome train_on(std::size_t hosts, const TrainingRequest& request);

class Trainings {
 public:
  // `folder`: for checkpoints. All must outlive this object.
  Trainings(const Config& config, const Dataset& dataset, Platform& platform, const VerifyScope& scope, std::string folder);

  void listen(const VerifyListener& listener) { listener_ = listener; }
  // Throws Error if the strategy has answered otherwise before.
  Traits traits(const TrainingCase& of, StrategyOptions& options);
  ObservedTraining run(const TrainingCase& of);
  // With a strategy that is no plugin, on `of.ranks` ranks. Only TrainingOutcome::weights and Observation::Epoch::weights count.
  ObservedTraining run(const TrainingCase& of, const std::function<std::unique_ptr<Strategy>()>& make, bool keeps_weights = false);
  // On `of.hosts` hosts, which are threads of this process: the outcome of the first one, with the weights of all ranks. In the order of runs, or
  // added in rank order if not `of.in_real_time`. If `of.resumes`, interrupted after the first epoch; it can also be altered. CPU only.
  ObservedTraining run_on_hosts(const TrainingCase& of);
  // Why the case cannot run on its hosts; empty if it can.
  std::string refused_hosts(const TrainingCase& of, const Traits& traits) const;
  // For another process: what this training ends with, and its first checkpoint, as files in the folder. One of each row.
  void keep(const TrainingCase& of);
  // How the last training of run() with `of.saves` ends, if its last checkpoint is resumed with static variables of its own.
  TrainingOutcome resume_saved(const TrainingCase& of);
  // What keep() of another process kept: the weights of all ranks, and how the training ends if its checkpoint is resumed here.
  std::vector<std::vector<float>> kept_weights(const TrainingCase& of) const;
  TrainingOutcome resume_kept(const TrainingCase& of);
  // Weights of one rank on the global batch, or of one that accumulates several shares of it. Computed once each. Of the case
  // only the optimiser, the length, the network and its initial weights matter.
  const std::vector<float>& reference(const TrainingCase& of, std::size_t shares);
  // The same after each epoch. Valid until the next call with another case: these are many.
  const std::vector<SettledModel>& reference_epochs(const TrainingCase& of, std::size_t shares);
  // How far each tensor of the weights may differ from reference(of, 1): by `least`, and by kDriftFactor times what the first controls change
  // there. Throws Diverged if a control does. Rounding decides weights whose true gradient is 0, such as a bias before batch normalisation,
  // if the optimiser divides gradients by their size.
  std::vector<TensorLimit> limits(const TrainingCase& of, double least, int controls);
  // See untrained_tensor(): a tensor that these weights, at the end of the case, have not changed, but one device has.
  std::string untrained_tensor(const TrainingCase& of, const std::vector<float>& weights);
  // reference_epochs() of a control.
  std::vector<SettledModel> control_epochs(const TrainingCase& of, int control);
  // Where they differ most; of all buffers of the case's network.
  StatisticsGap statistics_gap(const TrainingCase& of, const std::vector<float>& expected, const std::vector<float>& buffers) const;
  // The largest difference of the first controls from reference(of, 1). The first one is one device with the samples of each batch in reverse order.
  double control_drift(const TrainingCase& of, int controls = 1);
  // Whether one device ends with other weights if it gets another sample in the place of `of.alteration`.
  bool reference_depends(const TrainingCase& of);
  bool has_equal_samples() const;   // whether all are the same one
  bool normalises() const;          // whether the network has batch normalisation
  std::size_t parameters() const;
  // Of all trainings of run() since the last call.
  Usage take_usage();

 private:
  struct ReferenceKey {
    std::string optimizer;
    std::size_t shares, epochs;
    int control;
    bool is_brief, smooth, fitted;
    auto operator<=>(const ReferenceKey&) const = default;
  };
  static ReferenceKey key_of(const TrainingCase& of, std::size_t shares);
  static TrainingCase alone(const TrainingCase& of);
  // Random, or after a training on one device that learns the samples.
  const std::vector<float>& initial(const TrainingCase& of);
  Trial trial_of(const TrainingCase& of) const;
  // As the plan would make it for a strategy with these traits.
  Trial planned_trial_of(const TrainingCase& of, const Traits& traits) const;
  TrainingRequest request_of(const TrainingCase& of, const Trial& trial);
  NetworkSpec spec_of(const TrainingCase& of) const;
  const Dataset& data_of(const TrainingCase& of) const;
  // What changes a training, also that on one device, whatever the strategy.
  Disturbance disturbance_of(const TrainingCase& of) const;
  // The epochs after which it is interrupted and resumed.
  std::vector<std::size_t> interruptions_of(const TrainingCase& of, bool is_lockstep) const;
  // Steps that are captured for replays cannot be disturbed or watched. An audit prevents the capture.
  bool sees_steps(const TrainingCase& of) const;
  Observation new_observation(const TrainingCase& of, bool is_lockstep) const;
  // Trains until the checkpoint after this number of epochs has been written.
  void run_part(TrainingRequest request, std::size_t epochs, bool free_pace, std::size_t hosts = 1);
  Leave leave_of_hosts(const TrainingCase& of) const;
  void add_usage(const Observation& seen, double others, const Footprint& before);
  TrainingOutcome resume(const TrainingCase& of, const std::string& checkpoint, const std::string& plugin);
  // The file in the folder that keep() writes: "weights" or "checkpoint".
  std::string kept_file(const TrainingCase& of, std::string_view what) const;
  std::string file_of(const StrategyConfig& strategy) const;
  // Of its plugin. Opened, it has static variables of its own, as in another process.
  std::string copy_of(const StrategyConfig& strategy) const;
  bool on_cpu() const { return scope_.device_kind == DeviceKind::cpu; }

  Config config_;
  const Dataset& dataset_;
  // The same, but for one sample whose values are 0. In a batch of it alone, the gradients of the first layer's weights are exactly 0 while
  // momentum moves them. A network with batch normalisation has none: it would divide by a deviation of nearly 0.
  std::optional<Dataset> blanked_;
  Platform& platform_;
  const VerifyScope& scope_;
  std::string folder_;
  std::size_t devices_;
  VerifyListener listener_;
  Usage usage_;
  std::optional<Footprint> footprint_;  // after the last training of a strategy
  std::map<ReferenceKey, std::vector<float>> references_;
  std::optional<std::pair<ReferenceKey, std::vector<SettledModel>>> reference_epochs_;  // of the last call
  std::map<std::pair<bool, bool>, std::vector<float>> initial_;  // weights, by TrainingCase::smooth and fitted
  std::map<std::string, TraitTexts> traits_;    // first answers, by row and facts
};

}  // namespace mgcompare
