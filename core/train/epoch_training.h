#pragma once

// One epoch under the training clock: in lockstep, where every rank takes its share of every batch, or freely, where ranks
// draw from a shared counter until the epoch is used up.

#include <cstddef>

#include "train/batch_scheduler.h"
#include "train/setup.h"
#include "train/training_state.h"

namespace mgcompare {

class EpochTraining {
 public:
  EpochTraining(TrainingState& state, Setup& setup, BatchScheduler& batches)
      : state_(state), setup_(setup), batches_(batches) {}
  // Every rank calls it. Throws Diverged for a loss that is not finite.
  void run(std::size_t rank, std::size_t epoch);

 private:
  // When a rank's epoch began, when it was done, and when the last rank was.
  struct Clocks {
    double start = 0, done = 0, end = 0;
  };
  void run_lockstep(std::size_t rank, std::size_t epoch);
  void run_async(std::size_t rank, std::size_t epoch);
  void step(std::size_t rank, const Batch& batch);
  // Of steps that the device repeated by itself, up to this one of the epoch; it is waited for.
  void take_records(std::size_t rank, std::size_t end);
  void account(std::size_t rank, const Clocks& clocks);
  // Where the time of this epoch's steps went on a device with a clock of its own.
  RankTimes by_device(Rank& rank, double inside) const;

  TrainingState& state_;
  Setup& setup_;
  BatchScheduler& batches_;
  std::size_t drawn_ = 0, draws_ = 0;  // samples of the epoch, and how often; under the draw stripe
};

}  // namespace mgcompare
