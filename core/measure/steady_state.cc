#include "measure/steady_state.h"

#include <algorithm>

namespace mgcompare {
namespace {

constexpr double kMaxRatio = 1.05;

}  // namespace

void SteadyStateDetector::add(double now) {
  ++rounds_;
  if (now - begin_ >= limits_.max_seconds) over_ = true;
  if (now - window_ < limits_.window_seconds) return;
  std::rotate(last_, last_ + 1, last_ + 3);
  last_[2] = (now - window_) / static_cast<double>(rounds_);
  window_ = now;
  rounds_ = 0;
  const auto [fastest, slowest] = std::minmax_element(last_, last_ + 3);
  if (*fastest > 0 && *slowest <= kMaxRatio * *fastest) over_ = true;
}

}  // namespace mgcompare
