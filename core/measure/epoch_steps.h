#pragma once

// The steps of one rank's epoch, counted in steps of the rehearsal whose parts are known.

#include <cstddef>

namespace mgcompare {

class EpochSteps {
 public:
  // `alike`: it does the work of those that were read; others are shorter, or made in another way.
  void add(double seconds, bool alike) {
    seconds_ += seconds;
    if (!alike) return;
    ++alike_;
    alike_seconds_ += seconds;
  }
  double seconds() const { return seconds_; }
  // As how many steps they count: one that is alike as one, however long it took, so that the parts do not fit the time where
  // the steps that were read were not like these. Others count by their time; without any that is alike all do, measured by
  // what a step took that was read.
  double count(double seconds_read) const {
    const double one = alike_ > 0 ? alike_seconds_ / static_cast<double>(alike_) : seconds_read;
    return static_cast<double>(alike_) + (one > 0 ? (seconds_ - alike_seconds_) / one : 0.0);
  }

 private:
  std::size_t alike_ = 0;
  double seconds_ = 0, alike_seconds_ = 0;
};

}  // namespace mgcompare
