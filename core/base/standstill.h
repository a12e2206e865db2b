#pragma once

// Time in which this process was stopped: by SIGSTOP, by a frozen control group, or because the machine was suspended or had no memory left.
// Clocks go on meanwhile, so it is part of every duration that was measured.

#include <limits>
#include <mutex>

#include "base/clock.h"

namespace mgcompare {

// A thread that wakes regularly notices it, because it wakes late. Any thread may call this.
class Standstill {
 public:
  // A busy machine wakes threads late, too, but by less than this.
  static constexpr double kLeastSeconds = 1;

  // Seconds since the process began, also those that the thread has not noticed yet because others were woken before it.
  static double seconds() {
    const std::lock_guard lock(mutex_);
    return total_ + late();
  }
  // The thread asks to be woken at this time (clock.h).
  static void sleeps_until(double due) {
    const std::lock_guard lock(mutex_);
    due_ = due;
  }
  static void woke() {
    const std::lock_guard lock(mutex_);
    total_ += late();
    due_ = kNever;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  static double late() {
    const double seconds = now() - due_;
    return seconds >= kLeastSeconds ? seconds : 0;
  }

  static inline std::mutex mutex_;
  static inline double total_ = 0, due_ = kNever;
};

}  // namespace mgcompare
