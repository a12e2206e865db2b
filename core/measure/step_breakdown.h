#pragma once

// Divides the time of steps by phase. A device may compute, exchange data and be waited for at the same time; each moment
// counts once, for the phase of the highest priority.

#include <vector>

#include "results/result.h"
#include "measure/step_clock.h"
#include "platform/device_timeline.h"

namespace mgcompare {

struct Stretch {
  double begin = 0, end = 0;
};

// For each layer: the seconds between `from` and `to` that its stretches cover and that no earlier layer covers. Stretches
// may overlap, touch, nest and be empty.
std::vector<double> seconds_by_layer(const std::vector<std::vector<Stretch>>& layers, double from, double to);

// The breakdown of one rank's steps.
struct StepBreakdown {
  RankTimes times;                  // `exchange` includes the wait for other ranks
  std::vector<double> exchanges;    // seconds of each collective in the order of the calls, overlapped or not

  // Turns totals over `steps` steps into means per step.
  void divide(double steps);
};

// Breakdown of steps that the device replayed without the host: from the first to the last event that does not overlap, by
// the device's clock alone. Priority of phases: compute, optimiser, input, exchange, strategy. The overhead of the marks
// (`seconds_a_mark` each) is excluded from all phases.
StepBreakdown break_down(const std::vector<PhaseEvent>& marks, double seconds_a_mark);

// Breakdown of steps that the host issued: from the start of its first span to the end of its last. The phases of the host
// thread count where the device is idle. `ahead`: the host's clock minus the device's, in seconds.
StepBreakdown break_down(const std::vector<PhaseEvent>& marks, double seconds_a_mark, const std::vector<StepClock::Span>& host,
                      double ahead);

}  // namespace mgcompare
