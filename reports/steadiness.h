#pragma once

// Whether the throughput of a trial was constant, from its windows. Windows are not independent repeats: they are not used in
// tests or intervals of samples/s.

#include <optional>

#include "results/result.h"

namespace mgcompare {

// Windows that differ by at most this are steady; the warm-up uses the same limit.
inline constexpr double kSteadySpread = 0.05;
// A larger change from the first to the last half of the windows, in every repeat, is a drift and not noise.
inline constexpr double kSteadyDrift = 0.03;

struct Steadiness {
  double spread = 0;                // (fastest - slowest) / median of the windows' samples/s
  double drift = 0;                 // median of the last half of the windows / median of the first half - 1
};

// Nothing if there are fewer than two windows, or the trial made no progress in one.
std::optional<Steadiness> steadiness_of(const Result& result);

}  // namespace mgcompare
