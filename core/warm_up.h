#pragma once

// When a machine has warmed up: when three windows of steps in a row took the same time up to 5 %, or after five
// seconds.

#include <cstddef>

namespace mgcompare {

class WarmUp {
 public:
  static constexpr std::size_t kSteps = 30;  // to be made between two calls of add()

  explicit WarmUp(double now = 0) : begin_(now), window_(now) {}
  // kSteps more were made by now, in seconds of any clock.
  void add(double now);
  bool is_over() const { return over_; }

 private:
  double begin_, window_;           // when all of it, and when this window began
  std::size_t rounds_ = 0;          // in this window
  double last_[3] = {0, 0, 0};      // seconds a round in the last three windows, the newest last
  bool over_ = false;
};

}  // namespace mgcompare
