#include "measure/throughput_windows.h"

#include <algorithm>

namespace mgcompare {
namespace {

constexpr std::size_t kLeastSteps = 30, kFew = 3, kMost = 12;
constexpr double kLeastSeconds = 0.5;

}  // namespace

void Laps::begin_step(std::size_t sample, double now) {
  if (is_open_) all_.push_back({static_cast<double>(sample - sample_), now - began_});
  is_open_ = true;
  sample_ = sample;
  began_ = now;
}

void Laps::add(double samples, double seconds) {
  is_open_ = false;
  all_.push_back({samples, seconds});
}

std::vector<WindowResult> windows_of(const std::vector<Lap>& laps) {
  double seconds = 0;
  for (const Lap& lap : laps) seconds += lap.seconds;
  const std::size_t by_seconds = std::max(kFew, static_cast<std::size_t>(seconds / kLeastSeconds));
  const std::size_t count = std::min({kMost, laps.size() / kLeastSteps, by_seconds});
  if (count < 2) return {};
  std::vector<WindowResult> windows(count);
  for (std::size_t i = 0; i < laps.size(); ++i) {
    WindowResult& window = windows[i * count / laps.size()];
    ++window.steps;
    window.samples += laps[i].samples;
    window.seconds += laps[i].seconds;
  }
  return windows;
}

}  // namespace mgcompare
