#pragma once

// Lockstep training without host work inside an epoch: whole steps of one rank, captured once as graphs and replayed by the
// device. Used by the rank's thread only.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "measure/step_breakdown.h"
#include "mgcompare/strategy.h"
#include "platform/platform.h"
#include "runtime/rank_group.h"
#include "runtime/rank_replica.h"

namespace mgcompare {

// The objects that a step uses. All of them must outlive GraphSteps.
struct StepParts {
  Strategy* strategy = nullptr;
  RankReplica* replica = nullptr;
  RankGroup* group = nullptr;
  std::function<void()> wait_for_ranks;  // returns when every rank has called it
};

class GraphSteps {
 public:
  // `traits`: within a stage, steps t and t + repeats_every issue the same device work.
  GraphSteps(std::unique_ptr<GraphRecorder> recorder, const StepParts& parts, const Traits& traits);

  // An epoch of `steps` steps. The first `full` have batches of equal size. `batch_of` returns the batch of a step.
  void begin_epoch(std::size_t epoch, std::size_t steps, std::size_t full,
                   const std::function<Batch(std::size_t step)>& batch_of);
  // How many steps can be replayed from this step of the epoch on; 0: the host issues this step. `made`: steps made so far in
  // all epochs.
  std::size_t ready(std::size_t step, std::size_t made) const;
  // Queues the steps that ready() has counted from this one on, and captures them first if needed. Collective: capture waits
  // for all ranks.
  void repeat(std::size_t step, std::size_t count);
  // Mean loss of the replayed steps that the device has completed. Does not wait.
  double loss() const { return recorder_->loss(); }
  // Call before the host issues a step again, and at the end of an epoch. Waits for the device, updates all counters, and
  // returns the records of the steps since the last call.
  std::vector<GraphRecorder::StepRecord> take_finished();
  // Seconds spent on capture since the last call. They count as set-up, not as training.
  double take_capture_seconds() { return std::exchange(capture_seconds_, 0.0); }

  // Whether an epoch has enough steps for a replay.
  bool repeats() const { return body_ <= full_; }
  // Breakdown of a step, by marks in replays from step 0 of the epoch. Changes the weights, so call it in warm-up only.
  // Requires repeats(). The mean over all replays but the first, which ranks do not start at the same time.
  StepBreakdown measure(DeviceTimeline& timeline, StepClock& clock);

 private:
  // A stage of the traits; `begin` is its first step, counted over all epochs.
  struct Stage {
    std::size_t number = 0, begin = 0;
  };
  Stage stage_of(std::size_t step) const;
  // Identifies a graph: the stage, the number of steps, and whether it includes the end of the epoch.
  struct Key {
    std::size_t stage, length;
    bool last;
    auto operator<=>(const Key&) const = default;
  };
  struct Graph {
    std::size_t number = 0;         // in the recorder
    std::size_t begin = 0;          // position of the first sample of the captured steps
    RankReplica::Counts counts;     // that these add
    std::uint64_t bytes = 0;
  };
  Key key(std::size_t step, std::size_t length) const;
  Graph capture(std::size_t step, std::size_t length, DeviceTimeline* timeline = nullptr);
  // Seconds of the last of several replays from step 0 of the epoch.
  double replay_seconds(const Graph& graph);

  std::unique_ptr<GraphRecorder> recorder_;
  StepParts parts_;
  std::size_t period_;
  std::vector<std::size_t> stages_;
  std::size_t epoch_ = 0;
  std::size_t body_ = 0;            // steps of most graphs
  std::size_t steps_ = 0, full_ = 0;
  std::size_t epochs_ = 0;          // begun so far
  std::function<Batch(std::size_t)> batch_of_;
  std::map<Key, Graph> graphs_;
  bool running_ = false;            // replays are queued whose records were not taken
  RankReplica::Counts counts_;      // including the queued replays
  std::uint64_t bytes_ = 0;
  double capture_seconds_ = 0;
};

}  // namespace mgcompare
