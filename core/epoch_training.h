#pragma once

// One epoch under the training clock: in lockstep, where every rank takes its share of every batch, or freely, where ranks
// draw from a shared counter until the epoch is used up.

#include <cstddef>

#include "sampling.h"
#include "setup.h"
#include "training_state.h"

namespace mgcompare {

class EpochTraining {
 public:
  EpochTraining(TrainingState& state, Setup& setup, Sampling& sampling)
      : state_(state), setup_(setup), sampling_(sampling) {}
  // Every rank calls it. Throws Diverged for a loss that is not finite.
  void run(std::size_t rank, std::size_t epoch);

 private:
  // A rank's clocks as its epoch goes by.
  struct Clocks {
    double start = 0, done = 0, end = 0;  // end: of the last rank
    double updating = 0, reading = 0;     // before the epoch
    std::size_t first_step = 0;
  };
  void march(std::size_t rank, std::size_t epoch);
  void draw(std::size_t rank, std::size_t epoch);
  void step(std::size_t rank, const Batch& batch);
  // Of steps that the device repeated by itself, up to this one of the epoch; it is waited for.
  void take_records(std::size_t rank, std::size_t end);
  void account(std::size_t rank, const Clocks& clocks);

  TrainingState& state_;
  Setup& setup_;
  Sampling& sampling_;
  std::size_t drawn_ = 0, draws_ = 0;  // samples of the epoch, and how often; under the draw stripe
};

}  // namespace mgcompare
