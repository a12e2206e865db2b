#pragma once

// Implements Replica for one rank: its network, data and optimiser, and the counters of what the strategy did.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/metered_device.h"
#include "model/network.h"
#include "model/optimizer.h"
#include "model/spec.h"
#include "platform/platform.h"
#include "runtime/gradient_sums.h"
#include "runtime/graph_pass.h"
#include "runtime/learned_samples.h"
#include "runtime/rate_range.h"
#include "runtime/schedule_log.h"
#include "results/result.h"
#include "runtime/rank_group.h"

namespace mgcompare {

// The objects that a replica uses. All of them must outlive it.
struct ReplicaParts {
  Platform* platform = nullptr;
  Device* device = nullptr;
  Network* network = nullptr;
  Feed* feed = nullptr;             // of the training data
  const NetworkSpec* spec = nullptr;
  const OptimizerConfig* optimizer = nullptr;
  CommContext* context = nullptr;
  RankGroup* group = nullptr;
  std::size_t rank = 0;
  std::uint64_t seed = 0;
  std::size_t largest_batch = 0;    // samples, over all ranks
  bool audit = false;               // sum up gradients, see pushed()
};

class RankReplica : public Replica {
 public:
  explicit RankReplica(const ReplicaParts& parts);
  ~RankReplica() override;

  Vec weights() override { return parts_.network->weights(); }
  Vec gradients() override {
    ++gradients_asked_;
    return parts_.network->gradients();
  }
  const std::vector<Part>& parts() const override { return parts_.spec->parts; }
  Vec buffers() override { return parts_.network->buffers(); }
  using Replica::backward;
  void backward(const Batch& batch, const Ready& ready, Scale scale) override;
  Vec forward(const Batch& batch) override;
  Vec forward(const Batch& batch, ConstVec inputs) override;
  void loss(const Batch& batch, ConstVec logits, Vec dlogits, Scale scale) override;
  void backward_from(const Batch& batch, ConstVec dlogits, const Ready& ready) override;
  std::size_t classes() const override { return parts_.network->classes(); }
  std::size_t outputs() const override { return parts_.network->outputs(); }
  std::size_t inputs() const override;
  void read(const Batch& batch, Vec to) override;
  using Replica::update;
  void update(Range range) override;
  Optimizer& optimizer() override;
  std::unique_ptr<Optimizer> host_optimizer(bool plain) override;
  std::unique_ptr<Optimizer> device_optimizer(bool plain) override;
  Device& device() override { return device_; }
  void metric(std::string_view name, double value) override;
  void histogram(std::string_view name, std::uint64_t value) override;
  void record(std::string_view name, const std::vector<double>& figures) override;
  Random random(std::uint64_t stream) const override;

  // The interface of the trial. Used by the rank's thread, or by any thread while the ranks stand still.
  void begin_step(const Batch& batch);
  // From now on, replays passes that capture_passes() has captured. `seen`: passes that the replica before this one has run,
  // which may be captured without running first.
  void enable_graph_passes(std::unique_ptr<GraphRecorder> recorder, const std::vector<GraphPass::Sample>& seen);
  bool uses_graph_passes() const { return graph_pass_.has_value(); }
  std::vector<GraphPass::Sample> seen_passes() const;
  // Captures the passes that were run since the last call. No rank may be in an exchange.
  void capture_passes();
  MeteredDevice& meter() { return device_; }
  std::uint64_t own_updates() const;                       // of optimizer()
  std::uint64_t strategy_updates() const;                      // of host_optimizer() and device_optimizer()
  std::uint64_t strategy_state_bytes(bool on_host) const;
  std::uint64_t issued_steps() const { return issued_steps_; }  // by the host; captured steps count once
  const std::map<std::string, MetricResult>& metrics() const { return metrics_; }
  void set_metrics(std::map<std::string, MetricResult> metrics) { metrics_ = std::move(metrics); }
  // Where record() writes to; null: nowhere.
  void set_lines(ScheduleLog::Lines* lines) { lines_ = lines; }
  // The counters that steps advance, to be adjusted after replays. set_counts() waits for the device.
  struct Counts {
    std::vector<UpdateCount> updates;    // of optimizer(), then of the strategy's own optimisers
    LearnedSamples learned;
    Counts operator-(const Counts& other) const;
    Counts operator+(const Counts& other) const;
    // Of the same steps on samples whose positions are larger by `distance`.
    Counts moved(std::uint64_t distance) const;
  };
  Counts counts() const;
  void set_counts(const Counts& counts);
  // The state that training changes, by name, for checkpoints.
  struct Saved {
    std::string name;
    Vec data;
    bool on_host;
    CountedOptimizer* counter;  // if not null: save its update count in place of `data`
  };
  std::vector<Saved> state();
  // Since the last reset_learned().
  const LearnedSamples& learned() const { return learned_; }
  void reset_learned() { learned_ = {}; }
  // Grows with each pass and each update, also of optimisers that the strategy asked for.
  std::uint64_t work() const;
  // In an audit: of all gradients that backward passes computed, and of all that optimisers applied.
  const GradientSums& pushed() const { return pushed_; }
  GradientSums applied() const;
  // In an audit: the factors on the learning rate with which optimisers that the strategy asked for were called.
  RateRange rates() const;
  Feed& feed() { return *parts_.feed; }
  // In an audit: how often each position of the epoch was trained on.
  const std::vector<std::uint32_t>& seen() const { return seen_; }
  void reset_seen() { seen_.assign(seen_.size(), 0); }

 private:
  class StrategyOptimizer;
  // `ready` must outlive the result.
  Ready timed(const Ready& ready);
  // Adds it to pushed(), before the strategy can change it.
  void add_shown(Vec slice);
  void pass(const Batch& batch, const Ready& ready, Scale scale);
  Vec pass_forward(const Batch& batch, ConstVec inputs = {});  // inputs: see Pass
  // Throws Error if the batch is of another epoch than the step.
  void expect_own_epoch(const Batch& batch) const;
  void before_backward();
  // `begin`, `size`: the samples of the pass.
  void after_backward(std::size_t begin, std::size_t size, bool was_shown);
  // That may have read the gradient.
  std::uint64_t calls() const;
  // Whether gradients() was called in the step of the last backward pass, if that is the present step.
  bool asked_in_step_of_pass() const { return passed_in_step_ && gradients_asked_ != asked_at_step_; }
  float factor(const Batch& batch, Scale scale) const;
  OptimizerConfig optimizer_config(bool plain) const;
  std::unique_ptr<Optimizer> add_optimizer(std::unique_ptr<Optimizer> optimizer, bool on_host);

  ReplicaParts parts_;
  MeteredDevice device_;
  std::atomic<std::uint64_t> updates_made_ = 0;  // of optimizer(); before shown_optimizer_, which counts there
  std::unique_ptr<Optimizer> optimizer_, shown_optimizer_;
  std::vector<std::shared_ptr<StrategyOptimizer>> optimizers_;
  std::optional<Batch> batch_;
  std::size_t forward_begin_ = 0, forward_size_ = 0;  // samples of the last forward pass
  bool updated_in_step_ = false;
  std::uint64_t issued_steps_ = 0;
  float share_ = 1;                 // of the batch in the global batch, if the last loss was scaled by it
  LearnedSamples learned_;
  std::uint64_t gradients_asked_ = 0, updates_asked_ = 0;
  std::uint64_t asked_at_step_ = 0; // gradients_asked_ when the step began
  bool passed_in_step_ = false;     // a backward pass
  std::uint64_t calls_at_pass_ = 0; // calls() after the last backward pass
  std::uint64_t unread_samples_ = 0;  // of that pass; 0 if the strategy may have read its gradient
  std::map<std::string, MetricResult> metrics_;
  ScheduleLog::Lines* lines_ = nullptr;
  GradientSums pushed_, applied_;
  bool was_audited_ = false;        // slices of the present pass are in pushed_
  std::vector<std::uint32_t> seen_;
  Array<float> dlogits_;
  std::optional<GraphPass> graph_pass_;
};

}  // namespace mgcompare
