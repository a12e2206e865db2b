#include "recorded_steps.h"

#include <gtest/gtest.h>

namespace mgcompare {
namespace {

class NoRecorder : public Recorder {
 public:
  void begin_epoch(std::size_t, const std::vector<std::uint32_t>&, const std::vector<float>&) override {}
  void begin() override {}
  void begin_step(std::size_t) override {}
  void end_step() override {}
  void end() override {}
  void seek(std::size_t) override {}
  void repeat() override {}
  double loss() const override { return 0; }
  std::vector<StepRecord> take_records() override { return {}; }
};

TEST(RecordedSteps, NoRepetitionReachesIntoAnotherPhase) {
  constexpr std::size_t kSteps = 30;
  Traits traits;
  traits.repeats_every = 1;
  traits.phases = {10, kSteps + 7};
  RecordedSteps recorded(std::make_unique<NoRecorder>(), {}, traits, kSteps);
  const Shape shape = {1};
  for (std::size_t epoch = 0; epoch < 3; ++epoch) {
    recorded.begin_epoch(epoch, kSteps, [&](std::size_t step) { return Batch({epoch, step, step, 1, 0, 1, 0.1}, shape); });
    std::size_t repeated = 0;
    for (std::size_t step = 0; step < kSteps;) {
      const std::size_t at = epoch * kSteps + step;
      if (!recorded.ready(step, at)) {
        ++step;
        continue;
      }
      const std::size_t last = at + recorded.length() - 1;
      EXPECT_LT(step + recorded.length() - 1, kSteps);
      for (const std::size_t phase : traits.phases) {
        EXPECT_EQ(at < phase, last < phase) << "from " << at << " to " << last;
        // The first step of a phase is made by the host.
        EXPECT_NE(at, phase);
      }
      EXPECT_NE(at, 0u);
      repeated += recorded.length();
      step += recorded.length();
    }
    EXPECT_GT(repeated, 0u) << epoch;
  }
}

}  // namespace
}  // namespace mgcompare
