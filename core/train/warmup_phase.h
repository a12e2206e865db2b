#pragma once

// Steps on weights that are thrown away, with a strategy that is thrown away: libraries compile their kernels, pages are
// touched, connections made, before the clock starts. Where devices have a clock of their own, it is read in the last of
// these steps: where their time goes stands for the training's.

#include <cstddef>

#include "train/batch_scheduler.h"
#include "train/setup.h"
#include "train/training_state.h"
#include "measure/steady_state.h"

namespace mgcompare {

class WarmupPhase {
 public:
  WarmupPhase(TrainingState& state, Setup& setup, BatchScheduler& batches)
      : state_(state), setup_(setup), batches_(batches) {}
  // Every rank calls it, once.
  void run(std::size_t rank);

 private:
  std::size_t epoch() const;
  Batch batch_at(std::size_t rank, std::size_t step) const;
  void learn(std::size_t rank, std::size_t step);
  void record_passes(std::size_t rank);
  void learn_until_steady(std::size_t rank, std::size_t step);
  // Of a step that the host makes.
  StepBreakdown read_steps(std::size_t rank, std::size_t step, DeviceTimeline& timeline);
  void share_readings();

  TrainingState& state_;
  Setup& setup_;
  BatchScheduler& batches_;
  SteadyStateDetector detector_;
};

}  // namespace mgcompare
