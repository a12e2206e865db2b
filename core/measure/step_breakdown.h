#pragma once

// Which part of a step each of its moments is: a device may compute while it exchanges and while the host waits, and every
// moment counts once.

#include <vector>

#include "results/result.h"
#include "measure/step_clock.h"
#include "platform/device_timeline.h"

namespace mgcompare {

struct Stretch {
  double begin = 0, end = 0;
};

// Of every layer: the seconds between `from` and `to` that its stretches cover and no layer before it covers. Stretches may
// overlap, touch, nest and be empty.
std::vector<double> seconds_by_layer(const std::vector<std::vector<Stretch>>& layers, double from, double to);

// What the marks of some steps say of one rank.
struct StepBreakdown {
  RankTimes times;                  // exchange includes waiting for others inside of it
  std::vector<double> exchanges;    // seconds of every collective in the order of the calls, beside or not

  // Of a single step.
  void divide(double steps);
};

// From the first of the rank's own marks to the last, by the device's clock alone: of steps that the device made by itself. A
// moment is computing if anything computes in it, else the optimiser's, else input, else exchange, and the strategy's only
// if it is nothing of that. What the marks cost (`seconds_a_mark` each) is in no part.
StepBreakdown break_down(const std::vector<PhaseEvent>& marks, double seconds_a_mark);

// The same of steps that the host made, from the first of its stretches to the last: what its thread was in counts where the
// device had nothing to do. `ahead`: the host's clock less the device's.
StepBreakdown break_down(const std::vector<PhaseEvent>& marks, double seconds_a_mark, const std::vector<StepClock::Span>& host,
                      double ahead);

}  // namespace mgcompare
