#pragma once

// Lockstep training without host work inside an epoch: whole steps of one rank, captured once as graphs and replayed by the
// device. Used by the rank's thread only.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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
  // From here on one of `every` replays has marks, if the training of `steps` steps has as many. `make_timeline` is called when the
  // first of them is captured.
  using MakeTimeline = std::function<std::unique_ptr<DeviceTimeline>()>;
  void sample_parts(StepClock& clock, MakeTimeline make_timeline, std::size_t steps, std::size_t every);
  // Breakdown of a step, by the replays with marks since the last call and the others; empty if there were none. Call it after
  // take_finished().
  std::optional<StepBreakdown> take_breakdown();

  // The next two change the weights, so call them in warm-up only. They require repeats().
  // Captures the steps of a replay, with and without marks. Collective. Returns the seconds of a replay.
  double prepare_measurement(DeviceTimeline& timeline, StepClock& clock);
  // Breakdown of a step. `pairs` of replays (at most DeviceTimeline::kRounds), with and without marks in turn, go through the epoch as
  // training does.
  std::optional<StepBreakdown> measure(DeviceTimeline& timeline, std::size_t pairs);
  // Seconds of a replay with marks over those of one without, in measure().
  double slowdown_by_marks() const { return slowdown_by_marks_; }

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
  // Takes the records of the queued replays.
  void finish();
  // Whether the next replay has marks.
  bool is_sampled(const Key& key) const;
  // In turn from step 0 of the epoch on, and over again.
  std::vector<Replay> replay_in_turn(std::size_t pairs);

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
  Graph plain_, marked_;            // of the measurement in the warm-up
  double slowdown_by_marks_ = 1;
  struct Sampling {
    StepClock* clock = nullptr;     // null: no replay has marks
    MakeTimeline make_timeline;
    std::size_t steps = 0;          // of the training
    std::size_t every = 1;          // replays
    std::size_t replays = 0;        // of body_ steps so far
    std::size_t due = 1;            // the first replay is after a pause
  };
  struct Marked {
    Graph graph;
    std::unique_ptr<DeviceTimeline> timeline;
    std::size_t rounds = 0;         // since the last take_breakdown()
  };
  Sampling sampling_;
  std::map<Key, Marked> marked_graphs_;
  struct Queued {
    Replay replay;
    std::size_t steps = 0;
    std::size_t stage = 0;
  };
  std::vector<Queued> queued_;      // since the last take_breakdown(); the last ones have no records yet
  std::size_t recorded_ = 0;        // of them with records
  bool running_ = false;            // replays are queued whose records were not taken
  std::vector<GraphRecorder::StepRecord> records_;  // for take_finished()
  RankReplica::Counts counts_;      // including the queued replays
  std::uint64_t bytes_ = 0;
  double capture_seconds_ = 0;
};

}  // namespace mgcompare
