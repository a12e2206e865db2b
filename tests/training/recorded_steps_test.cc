#include "runtime/graph_steps.h"

#include <gtest/gtest.h>

namespace mgcompare {
namespace {

class NoRecorder : public GraphRecorder {
 public:
  void begin_epoch(std::size_t, const std::vector<std::uint32_t>&, const std::vector<float>&) override {}
  void begin() override {}
  void begin_step(std::size_t) override {}
  void end_step() override {}
  void begin_pass(std::size_t) override {}
  std::size_t end() override { return 0; }
  void seek(std::size_t) override {}
  void place(std::size_t, std::size_t) override {}
  void repeat(std::size_t) override {}
  double loss() const override { return 0; }
  std::vector<StepRecord> take_records() override { return {}; }
};

TEST(GraphSteps, NoRepetitionReachesIntoAnotherStage) {
  constexpr std::size_t kSteps = 30;
  Traits traits;
  traits.repeats_every = 1;
  traits.stages = {10, kSteps + 7, 3 * kSteps};
  GraphSteps recorded(std::make_unique<NoRecorder>(), {}, traits);
  const Shape shape = {1};
  for (std::size_t epoch = 0; epoch < 5; ++epoch) {
    // The last batch of an epoch is smaller.
    recorded.begin_epoch(epoch, kSteps, kSteps - 1,
                         [&](std::size_t step) { return Batch({epoch, step, step, 1, 0, 1, 0.1}, shape); });
    std::size_t repeated = 0;
    for (std::size_t step = 0; step < kSteps;) {
      const std::size_t at = epoch * kSteps + step, length = recorded.ready(step, at);
      if (length == 0) {
        ++step;
        continue;
      }
      const std::size_t last = at + length - 1;
      EXPECT_LE(step + length, kSteps);
      EXPECT_NE(at, 0u);
      for (const std::size_t stage : traits.stages) {
        EXPECT_EQ(at < stage, last < stage) << "from " << at << " to " << last;
        EXPECT_NE(at, stage) << "the host makes the first step of a stage";
        // The first smaller batch of a stage is not captured either.
        if (last == stage / kSteps * kSteps + kSteps - 1) { EXPECT_LT(at, stage); }
      }
      repeated += length;
      step += length;
    }
    EXPECT_GT(repeated, 0u) << epoch;
  }
}

TEST(GraphSteps, TheHostMakesFewStepsOfAnyEpoch) {
  Traits traits;
  traits.repeats_every = 1;
  for (const std::size_t full : {5u, 7u, 29u, 468u}) {
    GraphSteps recorded(std::make_unique<NoRecorder>(), {}, traits);
    const Shape shape = {1};
    for (std::size_t epoch = 0; epoch < 3; ++epoch) {
      recorded.begin_epoch(epoch, full + 1, full,
                           [&](std::size_t step) { return Batch({epoch, step, step, 1, 0, 1, 0.1}, shape); });
      std::size_t by_host = 0;
      for (std::size_t step = 0; step <= full;) {
        const std::size_t length = recorded.ready(step, epoch * (full + 1) + step);
        by_host += length == 0;
        step += std::max<std::size_t>(1, length);
      }
      // In the first epoch the host makes the first step, the smaller batch, and the steps left over by whole graphs;
      // in later epochs none.
      if (epoch == 0) EXPECT_LE(by_host, 4u) << full;
      else EXPECT_EQ(by_host, 0u) << full << " steps, epoch " << epoch;
    }
  }
}

}  // namespace
}  // namespace mgcompare
