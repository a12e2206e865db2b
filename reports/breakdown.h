#pragma once

// Where the time of a row's steps goes, and what would be left of it if some of that cost nothing.

#include <string>
#include <vector>

#include "results/results_store.h"

namespace mgcompare {

// Seconds of a step: the mean over steps, ranks and repeats; every moment of a rank counts for one part. On CPU devices one
// clock goes from part to part in every step, so the parts sum to the training clock unless a rank began or ended apart: there
// the sum shows little more than that nothing was counted twice. On GPUs the parts are those of some steps before the training,
// times the steps, and need not sum to it at all.
struct Breakdown {
  double compute = 0;               // forward, loss and backward
  double optimizer = 0;
  double exchange = 0;              // in which nothing was computed
  double input = 0;
  double waiting = 0;               // until other ranks came
  double strategy = 0;              // what strategies do in a step besides
  double host = 0;                  // outside of steps
  double step = 0;                  // the training clock over steps
  double overlapped = 0;            // exchange beside computing: in no part, and free
  bool unmeasured = false;          // something was exchanged, and nobody saw how long that took
  bool is_negative = false;         // a rank of a repeat computed for less than no time
  bool is_inferred = false;         // by an older program: compute is what its other clocks left, and holds what GPUs and
                                    // strategies do besides
  double worst = 1;                 // the parts over the training clock, of the rank and repeat where that is farthest from 1

  bool exists() const { return step > 0; }
  double sum() const { return compute + optimizer + exchange + input + waiting + strategy + host; }
  // Whether the optimiser and input of such devices were told apart from compute.
  bool has(DeviceKind kind) const { return !is_inferred || kind == DeviceKind::cpu; }
  // The parts are known, and in every repeat those of every rank are its training clock up to 2 %.
  bool reliable() const;
};

Breakdown breakdown_of(const std::vector<const Row*>& repeats);

// The speed-up that a row would have, one cost after the other taken away: never falling, and never beyond the ideal, one
// times for each device. Arithmetic on the breakdown alone. Nothing where that is not reliable, and for a row that is
// beyond the ideal as it is.
struct Rung {
  std::string name;                 // "measured", "communication free", ...
  double speed_up = 0;
};
std::vector<Rung> what_if(const Breakdown& breakdown, double speed_up, std::size_t devices);

}  // namespace mgcompare
