#include "measure/steady_state.h"

#include <algorithm>

namespace mgcompare {
namespace {

constexpr double kSame = 1.05;

}  // namespace

void SteadyStateDetector::add(double now) {
  ++rounds_;
  if (now - begin_ >= limits_.most_seconds) over_ = true;
  if (now - window_ < limits_.window_seconds) return;
  std::rotate(last_, last_ + 1, last_ + 3);
  last_[2] = (now - window_) / static_cast<double>(rounds_);
  window_ = now;
  rounds_ = 0;
  const auto [least, most] = std::minmax_element(last_, last_ + 3);
  if (*least > 0 && *most <= kSame * *least) over_ = true;
}

}  // namespace mgcompare
