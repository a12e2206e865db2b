#pragma once

// A timeline for devices that compute before a call returns. It uses the host's clock.

#include <utility>
#include <vector>

#include "base/clock.h"
#include "platform/device_timeline.h"

namespace mgcompare {

class HostTimeline : public DeviceTimeline {
 public:
  // `lie`: the cost of a mark that it reports.
  explicit HostTimeline(double lie = 0) : lie_(lie) {}
  void open(bool) override { is_open_ = true; }
  void close() noexcept override { is_open_ = false; }
  void mark(Phase phase, const ExchangeSize& = {}) noexcept override {
    if (is_open_) marks_.push_back({phase, false, now()});
  }
  void end_round() override { rounds_.push_back(std::exchange(marks_, {})); }
  std::vector<std::vector<PhaseEvent>> take() override {
    if (rounds_.empty()) end_round();
    return std::exchange(rounds_, {});
  }
  double seconds_a_mark() const override { return lie_; }
  double ahead() override { return 0; }

 private:
  double lie_;
  bool is_open_ = false;
  std::vector<PhaseEvent> marks_;
  std::vector<std::vector<PhaseEvent>> rounds_;
};

}  // namespace mgcompare
