#pragma once

// An optimiser whose calls are counted, and are part of Phase::optimizer. The optimiser and the count must outlive it.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "measure/step_clock.h"
#include "mgcompare/error.h"
#include "mgcompare/strategy.h"

namespace mgcompare {

inline void expect_within(Range range, std::size_t size) {
  if (range.begin > range.end || range.end > size)
    throw Error("an update of elements " + std::to_string(range.begin) + " to " + std::to_string(range.end) + " of " + std::to_string(size) + " weights");
}

// Counts calls of apply() in `calls`. `size`: of its state, beyond which nothing is updated. `on_host`: its vectors are host memory, also on a
// GPU. apply() throws Error for a range outside of its vectors.
class TimedOptimizer : public Optimizer {
 public:
  TimedOptimizer(Optimizer& optimizer, std::size_t size, std::atomic<std::uint64_t>& calls, bool on_host = false)
      : optimizer_(optimizer), size_(size), calls_(calls), on_host_(on_host) {}
  std::vector<Vec> state() override { return optimizer_.state(); }
  void reset() override { optimizer_.reset(); }
  void advance() override {
    const StepClock::PhaseScope in(Phase::optimizer, nullptr, on_host_);
    optimizer_.advance();
  }
  void apply(Vec weights, ConstVec gradients, Range range, const Batch& batch, double rate_scale) override {
    expect_within(range, std::min({weights.size(), gradients.size(), size_}));
    const StepClock::PhaseScope in(Phase::optimizer, nullptr, on_host_);
    ++calls_;
    optimizer_.apply(weights, gradients, range, batch, rate_scale);
  }

 private:
  Optimizer& optimizer_;
  std::size_t size_;
  std::atomic<std::uint64_t>& calls_;
  bool on_host_;
};

}  // namespace mgcompare
