#pragma once

// Decides when a machine has warmed up: three consecutive windows of steps took the same time to within 5 %, or the time
// limit is reached.

#include <cstddef>

namespace mgcompare {

struct SteadyStateLimits {
  std::size_t steps;                // at least, between two calls of SteadyStateDetector::add()
  double window_seconds;            // shortest window
  double max_seconds;               // time limit
};
// For `measure: thorough` and for `normal`, where the warm-up must not prolong a short trial much.
inline constexpr SteadyStateLimits kThoroughLimits{30, 0.5, 5}, kNormalLimits{1, 0.02, 0.1};

class SteadyStateDetector {
 public:
  explicit SteadyStateDetector(double now = 0, const SteadyStateLimits& limits = kThoroughLimits)
      : limits_(limits), begin_(now), window_(now) {}
  // A round of steps ended at `now`, in seconds of any clock.
  void add(double now);
  bool is_over() const { return over_; }

 private:
  SteadyStateLimits limits_;
  double begin_, window_;           // when the detection and the present window began
  std::size_t rounds_ = 0;          // in the present window
  double last_[3] = {0, 0, 0};      // seconds per round in the last three windows, the newest last
  bool over_ = false;
};

}  // namespace mgcompare
