#pragma once

// Whether trials ran at one speed from beginning to end, from their windows. Windows of a trial are no repeats: nothing here
// enters a test or an interval of samples/s.

#include <optional>

#include "results/result.h"

namespace mgcompare {

// Windows of a trial that agree within this are one speed: what the warm-up waits for.
inline constexpr double kSteadySpread = 0.05;
// A change from the first to the last half of the windows that is beyond this in every repeat is the row's, not noise.
inline constexpr double kSteadyDrift = 0.03;

struct Steadiness {
  double spread = 0;                // samples/s of the fastest window less those of the slowest, over their median
  double drift = 0;                 // median samples/s of the last half of the windows over that of the first, less 1
};

// Nothing of a trial that was too short for two windows, or that stood still in one.
std::optional<Steadiness> steadiness_of(const Result& result);

}  // namespace mgcompare
