#pragma once

// Lockstep training without the host inside an epoch: whole steps of one rank, recorded once and repeated by the device.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gate.h"
#include "mgcompare/strategy.h"
#include "platform.h"
#include "rank_group.h"
#include "rank_replica.h"

namespace mgcompare {

// What a step is made of; everything outlives it.
struct StepParts {
  Strategy* strategy = nullptr;
  RankReplica* replica = nullptr;
  RankGroup* group = nullptr;
  Gate* gate = nullptr;             // of all ranks
};

class RecordedSteps {
 public:
  // `traits`: steps t and t + repeats_every issue the same device work, within a phase.
  RecordedSteps(std::unique_ptr<Recorder> recorder, const StepParts& parts, const Traits& traits,
                std::size_t steps_per_epoch);

  // `full` steps of the epoch have batches of the same size; batch_of gives them.
  void begin_epoch(std::size_t epoch, std::size_t full, const std::function<Batch(std::size_t step)>& batch_of);
  // Steps of one repetition.
  std::size_t length() const { return length_; }
  // Whether a repetition may begin at this step of the epoch; `made` steps were made in all epochs together.
  bool ready(std::size_t step, std::size_t made);
  // Queues length() steps from this one on, recording them first where that was not done. All ranks call it together.
  void repeat(std::size_t step, std::size_t made);
  // The mean loss of the repeated steps, as far as the device has come.
  double loss() const { return recorder_->loss(); }
  // Before the host steps again, and at the end of an epoch: waits for the device, brings all counts up to date, and
  // returns the records of the steps since the last call.
  std::vector<Recorder::StepRecord> settle();

 private:
  void record(std::size_t step, std::size_t made);
  std::size_t phase_of(std::size_t step) const;

  std::unique_ptr<Recorder> recorder_;
  StepParts parts_;
  std::size_t period_;
  std::vector<std::size_t> phases_;
  std::size_t steps_per_epoch_;
  std::size_t epoch_ = 0;
  std::size_t phase_ = 0;
  std::size_t phase_begins_ = 0;    // steps made before its first
  std::size_t length_ = 0;          // steps of a repetition
  std::size_t full_ = 0;            // steps of the epoch whose batches are whole
  std::function<Batch(std::size_t)> batch_of_;
  bool recorded_ = false;
  bool running_ = false;            // repetitions are queued and not settled
  std::size_t recorded_at_ = 0;     // steps made before the first recorded one
  std::size_t repeats_ = 0;         // queued and not counted
  RankReplica::Counts replica_counts_;
  std::uint64_t bytes_ = 0;
};

}  // namespace mgcompare
