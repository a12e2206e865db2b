#pragma once

// Timed epochs of training: in lockstep, where every rank computes its share of every batch, or asynchronously, where ranks
// draw samples from a shared counter until the epoch is used up.

#include <cstddef>
#include <vector>

#include "measure/processor_time.h"
#include "train/batch_scheduler.h"
#include "train/setup.h"
#include "train/training_state.h"

namespace mgcompare {

class EpochTraining {
 public:
  EpochTraining(TrainingState& state, Setup& setup, BatchScheduler& batches)
      : state_(state), setup_(setup), batches_(batches), others_(state.ranks.size()), made_(state.ranks.size()) {}
  // An epoch is begin() and run() until it returns true: the epoch is over. It returns false where an evaluation within the epoch is due
  // (Config::evaluate), which the clocks leave out. Collective. Each run() enters the epoch phase, and the evaluation phase at its end. Throws
  // Diverged for a loss that is not finite.
  void begin(std::size_t rank, std::size_t epoch);
  bool run(std::size_t rank, std::size_t epoch);
  // The share of the epoch that is trained, in lockstep.
  double share_made(std::size_t rank) const;

 private:
  // When this rank started, when it finished, and when the last rank finished.
  struct Clocks {
    double start = 0, done = 0, end = 0;
  };
  // Before which step the next evaluation is due, or else the number of steps of the epoch.
  std::size_t due_step(std::size_t made) const;
  void run_lockstep(std::size_t rank, std::size_t epoch);
  void run_async(std::size_t rank, std::size_t epoch);
  void step(std::size_t rank, const Batch& batch);
  // Accounts for the steps that the device replayed before step `end` of the epoch. Waits for the device.
  void take_records(std::size_t rank, std::size_t end);
  // Whether steps of this part of the epoch were measured: in lockstep on all ranks or on none.
  bool take_breakdown(Rank& rank) const;
  std::vector<StepBreakdown> breakdowns() const;
  void account(std::size_t rank, const Clocks& clocks);
  // The time by phase, on a device with a clock of its own. `seconds`: from the start until the rank finished.
  RankTimes device_times(Rank& rank, double seconds) const;

  TrainingState& state_;
  Setup& setup_;
  BatchScheduler& batches_;
  OtherThreads others_;
  double stood_still_ = 0;          // of the process when the epoch began
  std::vector<std::size_t> made_;   // steps of the epoch by rank, in lockstep
};

}  // namespace mgcompare
