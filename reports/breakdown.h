#pragma once

// The parts of the step time of a row, and the speed-up without some of them.

#include <string>
#include <vector>

#include "results/results_store.h"

namespace mgcompare {

// Seconds per step, mean over steps, ranks and repeats. Every moment of a rank counts for one part. On CPU devices one clock
// switches from part to part in every step, so the parts sum to the training clock unless something is counted twice. On GPUs
// the parts of some steps are extrapolated to all steps, so the sum may differ from the training clock.
struct Breakdown {
  double compute = 0;               // forward, loss and backward
  double optimizer = 0;
  double exchange = 0;              // that does not overlap compute
  double input = 0;
  double waiting = 0;               // for other ranks
  double strategy = 0;              // the strategy's own work in a step
  double host = 0;                  // outside of steps
  double step = 0;                  // the training clock divided by the steps
  double overlapped = 0;            // exchange that overlaps compute; in no part
  bool unmeasured = false;          // data were exchanged, but the time was not measured
  bool is_negative = false;         // the compute time of a rank is negative
  bool is_inferred = false;         // schema 1: compute is the step time less the other clocks; on GPUs it includes
                                    // optimiser and input, and always the strategy's own work
  double worst = 1;                 // sum of the parts / training clock, of the rank and repeat where it is farthest from 1

  bool exists() const { return step > 0; }
  double sum() const { return compute + optimizer + exchange + input + waiting + strategy + host; }
  // Whether optimiser and input were measured separately on such devices.
  bool has(DeviceKind kind) const { return !is_inferred || kind == DeviceKind::cpu; }
  // The parts are known, and in every repeat they sum to the training clock of every rank within 2 %.
  bool reliable() const;
};

Breakdown breakdown_of(const std::vector<const Row*>& repeats);

// The speed-up of a row with one cost after the other removed: never decreasing, and at most the number of devices. Computed
// from the breakdown. Empty if the breakdown is not reliable or the row is faster than ideal.
struct Rung {
  std::string name;                 // "measured", "communication free", ...
  double speed_up = 0;
};
std::vector<Rung> what_if(const Breakdown& breakdown, double speed_up, std::size_t devices);

}  // namespace mgcompare
