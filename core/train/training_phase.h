#pragma once

// The phases of a trial and the barrier that all ranks pass to get from one to the next.

#include <cstddef>
#include <functional>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/abortable_barrier.h"
#include "results/status.h"

namespace mgcompare {

enum class TrainingPhase {
  setup,        // devices, networks, data; then replicas and strategies on initial weights
  warm_up,      // steps on discarded weights
  capture,      // during warm-up: passes are captured as graphs, no rank is in an exchange
  warm_up_end,  // every rank has its step breakdown; the objects of the warm-up are freed
  start,        // the trial's own strategies have started; a checkpoint is restored
  epoch,        // training under the clock
  evaluation,   // the strategies settle, the weights are evaluated
  checkpoint,   // the state after an epoch is written
  teardown      // the result is assembled, the strategies are freed
};

std::string_view to_string(TrainingPhase phase);

// What the progress of a trial reports during this phase.
TrialPhase reported(TrainingPhase phase);

// Whether `to` may follow `from`. A phase never follows itself.
bool may_follow(TrainingPhase from, TrainingPhase to);

// Every rendezvous of the ranks of a trial outside of its collectives. Each rank calls it on its own thread, and all ranks
// make the same calls in the same order. A rank that does not throws std::logic_error before it waits; abort() must then
// release the others. The checks are always on.
class PhaseBarrier {
 public:
  // `entered` is called with each new phase, before any rank is in it. Ranks are only waiting then.
  explicit PhaseBarrier(std::size_t ranks, std::function<void(TrainingPhase)> entered = {});

  // Waits until all ranks enter `next`. Throws std::logic_error where the transition is illegal or another rank waits for
  // a different phase, and Aborted after abort().
  void enter(TrainingPhase next, std::size_t rank);
  // Waits for all ranks within their present phase. Throws the same errors.
  void wait(std::size_t rank);
  // Releases all ranks that wait, now and later, with Aborted. Any thread.
  void abort() { barrier_.abort(); }
  TrainingPhase phase_of(std::size_t rank) const { return phases_[rank]; }

 private:
  void arrive(TrainingPhase next, std::size_t rank);

  AbortableBarrier barrier_;
  std::function<void(TrainingPhase)> entered_;
  std::vector<TrainingPhase> phases_;  // of each rank; each is written by its rank's thread only
  std::mutex mutex_;
  std::size_t arrived_ = 0;            // ranks at the coming rendezvous
  TrainingPhase expected_ = TrainingPhase::setup;  // where the first of them goes
};

}  // namespace mgcompare
