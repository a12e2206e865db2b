#pragma once

// Time in which this process was stopped: by SIGSTOP, by a frozen control group, or because the machine was suspended or had no memory left.
// Clocks go on meanwhile, so it is part of every duration that was measured.

#include <atomic>

namespace mgcompare {

// A thread that wakes regularly notices it, because it wakes late. Safe to call from any thread.
class Standstill {
 public:
  // A busy machine wakes threads late, too, but by less than this.
  static constexpr double kLeastSeconds = 1;

  // Seconds noticed since the process began.
  static double seconds() { return total_; }
  // `late`: seconds after the moment for which the thread asked.
  static void woke(double late) {
    if (late >= kLeastSeconds) total_ += late;
  }

 private:
  static inline std::atomic<double> total_{0};
};

}  // namespace mgcompare
