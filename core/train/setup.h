#pragma once

// What training runs on: devices with networks and data, where the ranks meet, and strategies on fresh weights. Ranks call
// together.

#include <cstddef>
#include <memory>
#include <mutex>

#include "platform/platform.h"
#include "runtime/graph_steps.h"
#include "train/training_state.h"

namespace mgcompare {

class Setup {
 public:
  explicit Setup(TrainingState& state) : state_(state) {}

  void open(std::size_t rank);
  // A strategy on fresh weights: of the training itself, or of the rehearsal before it.
  void prepare(std::size_t rank, bool live);
  // None where the host makes every step.
  std::unique_ptr<GraphSteps> recorded_steps(std::size_t rank);
  // Rank 0 calls it: shared objects of the rehearsal hold memory of replicas that prepare() is about to replace.
  void end_warmup();
  AsyncScheduler& scheduler(bool live) { return (live ? live_ : warmup_)->scheduler(); }
  Collectives& collectives() { return *collectives_; }
  // Wakes every rank that waits, now and later, with Aborted. Any thread.
  void abort();

 private:
  std::unique_ptr<CommContext> make_context(bool live);
  std::unique_ptr<AsyncScheduler> make_scheduler(bool live);
  bool repeats_steps() const;

  TrainingState& state_;
  std::unique_ptr<Collectives> collectives_;
  std::mutex mutex_;  // of the contexts as abort() finds them
  std::unique_ptr<CommContext> warmup_, live_;
};

}  // namespace mgcompare
