#pragma once

// Where the time of a row's steps goes, and what would be left of it if some of that cost nothing.

#include <string>
#include <vector>

#include "results.h"

namespace mgcompare {

// Seconds of a step: the mean over steps, ranks and repeats. What overlaps something else is not counted twice: each
// part is the time in which nothing before it in this list went on.
struct Breakdown {
  double compute = 0;               // forward, backward and what the strategy computes
  double optimizer = 0;
  double exchange = 0;              // in which nothing was computed
  double input = 0;
  double waiting = 0;               // until other ranks came; measured
  double host = 0;                  // outside of steps
  double step = 0;                  // the training clock over steps
  double overlapped = 0;            // exchange beside computing: in no part, and free
  bool unmeasured = false;          // something was exchanged, and nobody saw how long that took

  bool exists() const { return step > 0; }
  double sum() const { return compute + optimizer + exchange + input + waiting + host; }
  // The parts are known and are the step up to 2 %.
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
