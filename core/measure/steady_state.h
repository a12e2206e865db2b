#pragma once

// When a machine has warmed up: when three windows of steps in a row took the same time up to 5 %, or when it has been
// waited for long enough.

#include <cstddef>

namespace mgcompare {

// How closely that is looked at, and for how long.
struct SteadyStateLimits {
  std::size_t steps;                // at least, between two calls of SteadyStateDetector::add()
  double window_seconds;
  double most_seconds;
};
// Of `measure: thorough`, and of `normal`: there a short trial must not last much longer for it.
inline constexpr SteadyStateLimits kThoroughLimits{30, 0.5, 5}, kNormalLimits{1, 0.02, 0.1};

class SteadyStateDetector {
 public:
  explicit SteadyStateDetector(double now = 0, const SteadyStateLimits& limits = kThoroughLimits)
      : limits_(limits), begin_(now), window_(now) {}
  // The steps of a round were made by now, in seconds of any clock.
  void add(double now);
  bool is_over() const { return over_; }

 private:
  SteadyStateLimits limits_;
  double begin_, window_;           // when all of it, and when this window began
  std::size_t rounds_ = 0;          // in this window
  double last_[3] = {0, 0, 0};      // seconds a round in the last three windows, the newest last
  bool over_ = false;
};

}  // namespace mgcompare
