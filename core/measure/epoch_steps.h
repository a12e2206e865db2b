#pragma once

// The steps of one rank's epoch, as a number of steps whose breakdown was measured in some of them, or in the warm-up.

#include <cstddef>

namespace mgcompare {

class EpochSteps {
 public:
  // `equivalent`: the step does the same work as the measured ones. Others are shorter, or are issued in another way.
  void add(double seconds, bool equivalent) {
    seconds_ += seconds;
    if (!equivalent) return;
    ++equivalent_;
    equivalent_seconds_ += seconds;
  }
  double seconds() const { return seconds_; }
  // Number of equivalent full steps in this epoch. An equivalent step counts as one, however long it took: if the measured
  // steps were faster or slower, the parts do not sum to the epoch's time, which reveals it. Other steps count by their
  // time, relative to the mean equivalent step, or to `measured_seconds` if there is none.
  double count(double measured_seconds) const {
    const double one = equivalent_ > 0 ? equivalent_seconds_ / static_cast<double>(equivalent_) : measured_seconds;
    return static_cast<double>(equivalent_) + (one > 0 ? (seconds_ - equivalent_seconds_) / one : 0.0);
  }

 private:
  std::size_t equivalent_ = 0;
  double seconds_ = 0, equivalent_seconds_ = 0;
};

}  // namespace mgcompare
