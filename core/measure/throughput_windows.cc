#include "measure/throughput_windows.h"

#include <algorithm>
#include <iterator>

namespace mgcompare {
namespace {

constexpr std::size_t kMinSteps = 30, kFewWindows = 3, kMaxWindows = 12;
constexpr double kMinSeconds = 0.5;

}  // namespace

void StepIntervals::begin_step(std::size_t sample, double now) {
  if (is_open_) all_.push_back({static_cast<double>(sample - sample_), now - began_});
  is_open_ = true;
  sample_ = sample;
  began_ = now;
}

void StepIntervals::add(double samples, double seconds) {
  is_open_ = false;
  all_.push_back({samples, seconds});
}

std::vector<WindowResult> windows_of(const std::vector<StepInterval>& intervals) {
  double seconds = 0;
  for (const StepInterval& interval : intervals) seconds += interval.seconds;
  const std::size_t by_seconds = std::max(kFewWindows, static_cast<std::size_t>(seconds / kMinSeconds));
  const std::size_t count = std::min({kMaxWindows, intervals.size() / kMinSteps, by_seconds});
  if (count < 2) return {};
  std::vector<WindowResult> windows(count);
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    WindowResult& window = windows[i * count / intervals.size()];
    ++window.steps;
    window.samples += intervals[i].samples;
    window.seconds += intervals[i].seconds;
  }
  return windows;
}

std::vector<StepInterval> of_last_stage(const std::vector<StepInterval>& intervals, const std::vector<std::size_t>& stages, std::size_t steps) {
  const auto later = std::lower_bound(stages.begin(), stages.end(), steps);
  if (later == stages.begin()) return intervals;
  // Some steps have no interval, the last of each epoch among them.
  const std::size_t skipped = (intervals.size() * *std::prev(later) + steps - 1) / steps;
  return {intervals.begin() + static_cast<std::ptrdiff_t>(skipped), intervals.end()};
}

}  // namespace mgcompare
