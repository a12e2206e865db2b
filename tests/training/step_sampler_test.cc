#include "measure/step_sampler.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "base/clock.h"
#include "fakes/host_marker.h"

namespace mgcompare {
namespace {

// Measures a step that computes for 2 ms, or longer on a busy machine. Returns its seconds.
double measured_step(StepSampler& sampler, StepClock& clock) {
  const double start = now();
  {
    const StepSampler::Scope measured(sampler, clock);
    const StepClock::PhaseScope strategy(Phase::strategy);
    const StepClock::PhaseScope pass(Phase::compute);
    while (now() < start + 2e-3) continue;
  }
  return now() - start;
}

// A strategy that exchanges every fourth step is measured in as many of these steps as in the others.
TEST(StepSampler, SpreadsItsStepsEvenlyOverAnyPeriod) {
  const StepSampler sampler(std::make_unique<HostTimeline>(), 16);
  for (const std::size_t period : {1u, 2u, 4u, 5u, 8u, 16u}) {
    std::array<std::size_t, 16> measured{};
    for (std::size_t step = 0; step < 6400; ++step) measured[step % period] += sampler.is_due(step) ? 1 : 0;
    // Steps drawn at random would differ by up to 15.
    for (std::size_t k = 0; k < period; ++k) EXPECT_NEAR(static_cast<double>(measured[k]), 400.0 / static_cast<double>(period), 6) << k << " of " << period;
  }
  EXPECT_FALSE(sampler.is_due(0)) << "the first step has what happens once";
}

TEST(StepSampler, ScalesThePartsToTheStepsThatItDidNotMeasure) {
  StepClock clock;
  const StepClock::ThreadScope of_thread(clock);
  StepSampler sampler(std::make_unique<HostTimeline>(), 16);
  sampler.prepare();
  EXPECT_FALSE(sampler.take().has_value());
  const double first = measured_step(sampler, clock), second = measured_step(sampler, clock);
  sampler.add(0.9 * first);
  sampler.add(0.9 * second);
  const auto step = sampler.take();
  ASSERT_TRUE(step.has_value());
  EXPECT_NEAR(step->times.sum(), 0.45 * (first + second), 1e-9);
  EXPECT_GT(step->times.compute, 0.8 * step->times.sum());
  EXPECT_FALSE(sampler.take().has_value());
  // Later steps correct the mean.
  const double third = measured_step(sampler, clock);
  sampler.add(0.9 * third);
  EXPECT_NEAR(sampler.take().value().times.sum(), 0.3 * (first + second + third), 1e-9);
}

TEST(StepSampler, LeavesPartsThatTheMarksHaveChangedMuch) {
  StepClock clock;
  const StepClock::ThreadScope of_thread(clock);
  StepSampler sampler(std::make_unique<HostTimeline>(), 16);
  const double seconds = measured_step(sampler, clock);
  sampler.add(0.5 * seconds);
  EXPECT_GT(sampler.take().value().times.sum(), 0.7 * seconds) << "the row is marked";
}

}  // namespace
}  // namespace mgcompare
