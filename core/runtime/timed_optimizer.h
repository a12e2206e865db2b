#pragma once

// An optimiser whose calls are counted, and are part of Phase::optimizer. The optimiser and the count must outlive it.

#include <atomic>
#include <cstdint>
#include <vector>

#include "measure/step_clock.h"
#include "mgcompare/strategy.h"

namespace mgcompare {

// Counts calls of apply() in `calls`. `on_host`: its vectors are host memory, also on a GPU.
class TimedOptimizer : public Optimizer {
 public:
  TimedOptimizer(Optimizer& optimizer, std::atomic<std::uint64_t>& calls, bool on_host = false)
      : optimizer_(optimizer), calls_(calls), on_host_(on_host) {}
  std::vector<Vec> state() override { return optimizer_.state(); }
  void reset() override { optimizer_.reset(); }
  void advance() override {
    const StepClock::PhaseScope in(Phase::optimizer, nullptr, on_host_);
    optimizer_.advance();
  }
  void apply(Vec weights, ConstVec gradients, Range range, const Batch& batch, double rate_scale) override {
    const StepClock::PhaseScope in(Phase::optimizer, nullptr, on_host_);
    ++calls_;
    optimizer_.apply(weights, gradients, range, batch, rate_scale);
  }

 private:
  Optimizer& optimizer_;
  std::atomic<std::uint64_t>& calls_;
  bool on_host_;
};

}  // namespace mgcompare
