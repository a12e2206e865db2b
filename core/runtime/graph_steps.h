#pragma once

// Lockstep training without the host inside an epoch: whole steps of one rank, recorded once and repeated by the device.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "measure/step_breakdown.h"
#include "base/abortable_barrier.h"
#include "mgcompare/strategy.h"
#include "platform/platform.h"
#include "runtime/rank_group.h"
#include "runtime/rank_replica.h"

namespace mgcompare {

// What a step is made of; everything outlives it.
struct StepParts {
  Strategy* strategy = nullptr;
  RankReplica* replica = nullptr;
  RankGroup* group = nullptr;
  AbortableBarrier* barrier = nullptr;           // of all ranks
};

class GraphSteps {
 public:
  // `traits`: steps t and t + repeats_every issue the same device work, within a stage.
  GraphSteps(std::unique_ptr<GraphRecorder> recorder, const StepParts& parts, const Traits& traits);

  // An epoch of `steps`, of which the first `full` have batches of the same size; batch_of gives them.
  void begin_epoch(std::size_t epoch, std::size_t steps, std::size_t full,
                   const std::function<Batch(std::size_t step)>& batch_of);
  // How many steps the device makes by itself from this step of the epoch on; 0: the host makes this one. `made` steps
  // were made in all epochs together.
  std::size_t ready(std::size_t step, std::size_t made) const;
  // Queues the steps that ready() has counted from this one on, recording them first where that was not done. All ranks
  // call it together.
  void repeat(std::size_t step, std::size_t count);
  // The mean loss of the repeated steps, as far as the device has come.
  double loss() const { return recorder_->loss(); }
  // Before the host steps again, and at the end of an epoch: waits for the device, brings all counts up to date, and
  // returns the records of the steps since the last call.
  std::vector<GraphRecorder::StepRecord> settle();
  // Seconds spent on recording since the last call: set-up, not training.
  double take_recording_seconds() { return std::exchange(recording_seconds_, 0.0); }

  // Whether an epoch has a whole repetition.
  bool repeats() const { return body_ <= full_; }
  // Marks the phases of repetitions from step 0 of the epoch, on weights that are thrown away; then repeats() must hold. Of a
  // step: the mean over all repetitions but the first, which finds ranks that begin apart.
  StepBreakdown read(DeviceTimeline& timeline, StepClock& clock);

 private:
  // Steps of one stage of the traits; its first one, counted over all epochs.
  struct Stage {
    std::size_t number = 0, begin = 0;
  };
  Stage stage_of(std::size_t step) const;
  // What tells recordings apart: the stage, how many steps, and whether the last one is the epoch's last.
  struct Key {
    std::size_t stage, length;
    bool last;
    auto operator<=>(const Key&) const = default;
  };
  struct Recording {
    std::size_t number = 0;         // the recorder's
    RankReplica::Counts counts;     // what its steps count
    std::uint64_t bytes = 0;
  };
  Key key(std::size_t step, std::size_t length) const;
  Recording record(std::size_t step, std::size_t length, DeviceTimeline* timeline = nullptr);
  // Of the last of a few repetitions from step 0 of the epoch on.
  double seconds_repeating(const Recording& recording);

  std::unique_ptr<GraphRecorder> recorder_;
  StepParts parts_;
  std::size_t period_;
  std::vector<std::size_t> stages_;
  std::size_t epoch_ = 0;
  std::size_t body_ = 0;            // steps of most repetitions
  std::size_t steps_ = 0, full_ = 0;
  std::size_t epochs_ = 0;          // begun
  std::function<Batch(std::size_t)> batch_of_;
  std::map<Key, Recording> recordings_;
  bool running_ = false;            // repetitions are queued and not settled
  RankReplica::Counts counts_;      // of what is queued and not counted
  std::uint64_t bytes_ = 0;
  double recording_seconds_ = 0;
};

}  // namespace mgcompare
