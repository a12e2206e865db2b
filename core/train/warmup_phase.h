#pragma once

// Warm-up: steps on weights and strategies that are discarded afterwards, so that kernels are compiled, pages touched and
// connections made before the clock starts. On devices with a clock of their own, the last of these steps are measured;
// their breakdown is used for the steps of the training.

#include <cstddef>
#include <memory>
#include <optional>

#include "train/batch_scheduler.h"
#include "train/setup.h"
#include "train/training_state.h"
#include "measure/steady_state.h"

namespace mgcompare {

class WarmupPhase {
 public:
  WarmupPhase(TrainingState& state, Setup& setup, BatchScheduler& batches)
      : state_(state), setup_(setup), batches_(batches) {}
  // Collective: every rank calls it once, on its own thread.
  void run(std::size_t rank);

 private:
  // The objects of one rank that live from the first to the last step of the warm-up.
  struct Run {
    std::size_t number;                        // the rank's
    Rank& rank;
    std::unique_ptr<DeviceTimeline> timeline;  // null where the host's clock sees everything
    std::unique_ptr<GraphSteps> graph_steps;   // null where the host issues every step
    std::size_t steps = 0;                     // made before the steady state is looked for
  };
  void start_strategy(Run& run);
  void make_first_steps(Run& run);
  void capture_passes(Run& run);
  bool waits_for_steady_state() const;
  void step_until_steady(const Run& run);
  void measure_steps(Run& run);
  void end(Run& run);

  std::size_t epoch() const;
  double rate() const;
  Batch batch_at(std::size_t rank, std::size_t step) const;
  // The smaller batch at the end of an epoch: what depends on its size, such as plans of kernels, is made in the warm-up, too. Empty if all
  // batches have one size.
  std::optional<Batch> last_batch(std::size_t rank) const;
  void make_step(std::size_t rank, const Batch& batch);
  // Breakdown of a step that the host issues.
  StepBreakdown measure_host_steps(Run& run);
  // The same once. Returns how much longer marked steps take.
  double measure_host_steps(Run& run, StepBreakdown& breakdown);
  StepBreakdown measure_graph_steps(Run& run);
  // A number that rank 0 of host 0 chooses for all ranks. Collective.
  std::size_t agreed(std::size_t rank, std::size_t number);
  void split_waiting();

  TrainingState& state_;
  Setup& setup_;
  BatchScheduler& batches_;
  SteadyStateDetector detector_;
  bool is_steady_ = false;          // host 0 decides for all
  std::size_t agreed_ = 0;
};

}  // namespace mgcompare
