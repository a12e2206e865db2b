#pragma once

// Throughput over the course of one trial: its steps, divided into windows of equally many steps. Windows follow one another
// in the same process and on the same weights, so they show how steady a trial was; they are not independent repeats.

#include <cstddef>
#include <utility>
#include <vector>

#include "results/result.h"

namespace mgcompare {

// The time between the starts of two consecutive steps of rank 0.
struct StepInterval {
  double samples = 0;               // trained by all ranks in that time
  double seconds = 0;
};

// The intervals of a trial. Uses times that are taken anyway. The last step of an epoch has no interval: its batch may be
// smaller, and free-running ranks finish it one after the other.
class StepIntervals {
 public:
  void begin_epoch() { is_open_ = false; }
  // The host starts a step at time `now` (seconds) with this sample of the epoch.
  void begin_step(std::size_t sample, double now);
  // Adds a step that the device replayed. Drops an open interval: the host did not see when its step ended.
  void add(double samples, double seconds);

  const std::vector<StepInterval>& all() const { return all_; }
  void set(std::vector<StepInterval> intervals) { all_ = std::move(intervals); }

 private:
  std::vector<StepInterval> all_;
  bool is_open_ = false;
  std::size_t sample_ = 0;          // of the start of the open interval
  double began_ = 0;
};

// At most 12 windows of at least 30 steps each; more than three only if each lasts at least 0.5 s. Empty if there would be
// fewer than two.
std::vector<WindowResult> windows_of(const std::vector<StepInterval>& intervals);

// The intervals from the last stage on (see Traits::stages) that begins within `steps`, all of the trial: each stage has a speed of its own.
std::vector<StepInterval> of_last_stage(const std::vector<StepInterval>& intervals, const std::vector<std::size_t>& stages, std::size_t steps);

}  // namespace mgcompare
