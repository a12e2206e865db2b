#pragma once

// Sets up what training runs on: devices with networks and data, communication contexts, and strategies on initial weights.
// Calls are collective unless noted: every rank makes them on its own thread.

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "platform/platform.h"
#include "runtime/graph_steps.h"
#include "train/training_state.h"

namespace mgcompare {

class Setup {
 public:
  explicit Setup(TrainingState& state) : state_(state) {}

  // Opens devices and loads data, then connects the devices.
  void open(std::size_t rank);
  // Creates replica, group and strategy on initial weights, for the training (`live`) or for the warm-up. Ends by entering
  // the start phase or the warm-up phase.
  // Throws Error if start() changes weights or buffers.
  void prepare(std::size_t rank, bool live);
  // Null if the host issues every step.
  std::unique_ptr<GraphSteps> make_graph_steps(std::size_t rank);
  // The training measures the parts of its steps where there are enough of them.
  void sample_parts(std::size_t rank);
  // Called by rank 0 only. Frees the shared objects of the warm-up: they hold memory of replicas that prepare() replaces.
  void end_warmup();
  // Called by rank 0 only, after the strategies of the training are destroyed.
  std::vector<Kept> release_shared_objects();
  CommContext& context(bool live) { return live ? *live_ : *warmup_; }
  AsyncScheduler& scheduler(bool live) { return context(live).scheduler(); }
  Collectives& collectives() { return *collectives_; }
  // Releases all ranks that wait, now and later, with Aborted. Any thread.
  void abort();

 private:
  void expect_initial(Rank& rank, Vec present, const std::vector<float>& initial, const char* what) const;
  std::unique_ptr<CommContext> make_context(bool live);
  void connect(const std::vector<Device*>& devices);
  std::unique_ptr<AsyncScheduler> make_scheduler(bool live);
  // Whether batch statistics are all-reduced inside of a pass.
  bool shares_norm() const { return state_.config.batch_norm == BatchNormPolicy::sync && state_.span.all > 1; }
  bool captures_steps() const;
  void make_replica(std::size_t rank, bool live);

  TrainingState& state_;
  std::unique_ptr<Collectives> collectives_;
  std::mutex mutex_;  // guards the contexts against abort()
  std::unique_ptr<CommContext> warmup_, live_;
};

}  // namespace mgcompare
