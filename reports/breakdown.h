#pragma once

// Where the time of a row's steps goes, and what would be left of it if some of that cost nothing.

#include <string>
#include <vector>

#include "results.h"

namespace mgcompare {

// Seconds of a step: the mean over steps, ranks and repeats. Compute has no clock of its own: it is what the others leave
// of a rank's steps. So the parts of a rank sum to its steps by themselves, and that they sum to the training clock says
// no more than that every rank was seen all the time; what nobody timed is compute too. A clock that counted something
// twice shows as compute below zero.
struct Breakdown {
  double compute = 0;               // forward, backward, what the strategy computes, and whatever has no clock
  double optimizer = 0;             // of CPU devices; on GPUs part of compute
  double exchange = 0;              // in which nothing was computed; of recorded steps as one step before training had it
  double input = 0;                 // of CPU devices; on GPUs part of compute
  double waiting = 0;               // until other ranks came; of recorded steps like exchange
  double host = 0;                  // outside of steps
  double step = 0;                  // the training clock over steps
  double overlapped = 0;            // exchange beside computing: in no part, and free
  bool unmeasured = false;          // something was exchanged, and nobody saw how long that took
  bool is_negative = false;         // a rank of a repeat computed for less than no time
  double worst = 1;                 // the parts over the training clock, of the rank and repeat where that is farthest from 1

  bool exists() const { return step > 0; }
  double sum() const { return compute + optimizer + exchange + input + waiting + host; }
  // The parts are known, and in every repeat those of every rank are its training clock up to 2 %.
  bool reliable() const;
};

// Where the figures come from, for readers.
inline constexpr char kOriginOfParts[] =
    "Compute is what the other clocks leave of the steps. On GPUs the update and making batches are inside of it, and "
    "exchange and waiting of recorded steps are those of a step that was timed before training, times the steps.";

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
