#pragma once

// Divides the time of steps by phase. A device may compute, exchange data and be waited for at the same time; each moment
// counts once, for the phase of the highest priority.

#include <cstddef>
#include <optional>
#include <vector>

#include "results/result.h"
#include "measure/step_clock.h"
#include "platform/device_timeline.h"
#include "results/exchange_call.h"

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
  // Of `call_steps` measured steps, one after the other.
  std::vector<ExchangeCall> calls;
  std::size_t call_steps = 0;

  // Scales everything so that the parts sum to `seconds`, the time of the same steps without marks. A change by more than a quarter
  // says that the marks changed the steps: then nothing is scaled, so that the parts do not sum to the training clock and the row is
  // marked.
  void fit(double seconds);
  static constexpr double kMostChange = 1.25;
  // Turns totals over `steps` steps into means per step.
  void divide(double steps);
};

// Breakdown of steps that the device replayed without the host: from the first to the last event that does not overlap, by
// the device's clock alone. Priority of phases: compute, optimiser, input, exchange, strategy. The overhead of the marks
// (`seconds_a_mark` each) is excluded from all phases.
StepBreakdown break_down(const std::vector<PhaseEvent>& marks, double seconds_a_mark);

// A replay of a captured graph.
struct Replay {
  bool is_marked = false;
  bool is_first = false;            // after a pause, so that ranks do not start at the same time
  double seconds = 0;
};

// Seconds of a replay with marks over those of one without; 1 where either is missing.
double slowdown_by_marks(const std::vector<Replay>& replays);
// Breakdown of a step from replays of the same `steps` steps with and without marks. `rounds`: the events of the marked replays, in
// their order. What a marked replay takes longer than another is the cost of its marks. The parts sum to the mean time of a replay
// without marks (see fit()). First replays count only where there are no others. Empty without replays of both kinds.
std::optional<StepBreakdown> break_down(const std::vector<Replay>& replays, const std::vector<std::vector<PhaseEvent>>& rounds, std::size_t steps);

// Breakdown of steps that the host issued: from the start of its first span to the end of its last. The phases of the host
// thread count where the device is idle. `ahead`: the host's clock minus the device's, in seconds.
StepBreakdown break_down(const std::vector<PhaseEvent>& marks, double seconds_a_mark, const std::vector<StepClock::Span>& host,
                      double ahead);

}  // namespace mgcompare
