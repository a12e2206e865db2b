#include "measure/throughput_windows.h"

#include <gtest/gtest.h>

#include <string>

#include "fixture.h"

namespace mgcompare {
namespace {

using testing::run;
using testing::run_in_two_parts;
using testing::small_trial;

std::vector<StepInterval> intervals(std::size_t count, double seconds) { return std::vector<StepInterval>(count, {100, seconds}); }

TEST(Windows, HaveThirtyStepsAndHalfASecond) {
  EXPECT_TRUE(windows_of({}).empty());
  EXPECT_TRUE(windows_of(intervals(59, 1)).empty());
  EXPECT_EQ(windows_of(intervals(60, 1)).size(), 2u);
  EXPECT_EQ(windows_of(intervals(1000, 1e-4)).size(), 3u) << "a short trial still has a beginning, a middle and an end";
  EXPECT_EQ(windows_of(intervals(1000, 2.6e-3)).size(), 5u);
  EXPECT_EQ(windows_of(intervals(10000, 1e-2)).size(), 12u);
}

TEST(Windows, HoldEveryIntervalOnce) {
  std::vector<StepInterval> all = intervals(100, 0.01);
  all[99].seconds = 0.5;
  const std::vector<WindowResult> windows = windows_of(all);
  ASSERT_EQ(windows.size(), 3u);
  EXPECT_EQ(windows[0].steps + windows[1].steps + windows[2].steps, 100u);
  for (const WindowResult& window : windows) EXPECT_NEAR(static_cast<double>(window.steps), 33.5, 0.6);
  EXPECT_NEAR(windows[0].samples_per_second(), 10'000, 1e-6);
  EXPECT_NEAR(windows[2].samples_per_second(), 3'300 / 0.82, 1e-6);
}

// 4 epochs of 26 steps, of which the last has no interval.
TEST(Windows, AreOfTheLastStageThatBegins) {
  std::vector<StepInterval> all = intervals(100, 0.01);
  for (std::size_t i = 0; i < 50; ++i) all[i].seconds = 0.04;
  EXPECT_EQ(of_last_stage(all, {}, 104).size(), 100u);
  EXPECT_EQ(of_last_stage(all, {104, 200}, 104).size(), 100u);
  for (const std::vector<std::size_t>& stages : {std::vector<std::size_t>{52}, {26, 52}, {26, 52, 104}}) {
    const std::vector<StepInterval> last = of_last_stage(all, stages, 104);
    ASSERT_EQ(last.size(), 50u);
    EXPECT_EQ(last.front().seconds, 0.01);
  }
  EXPECT_TRUE(of_last_stage({}, {0}, 1).empty());
}

TEST(StepIntervals, AreFromStepToStep) {
  StepIntervals intervals;
  intervals.begin_epoch();
  intervals.begin_step(0, 10);
  intervals.begin_step(50, 11);
  intervals.begin_step(150, 14);
  intervals.begin_epoch();       // the last step of an epoch has no interval
  intervals.begin_step(0, 100);
  intervals.add(64, 0.5);        // nor has a step issued by the host before replayed steps
  intervals.begin_step(200, 110);
  intervals.begin_step(250, 111);
  ASSERT_EQ(intervals.all().size(), 4u);
  EXPECT_EQ(intervals.all()[1].samples, 100);
  EXPECT_EQ(intervals.all()[1].seconds, 3);
  EXPECT_EQ(intervals.all()[2].samples, 64);
  EXPECT_EQ(intervals.all()[3].samples, 50);
}

// 8 epochs of 15 steps of 50, without the last step of each epoch, whose batch has 30. Free-running ranks use virtual
// time: in a trial of milliseconds one of them might otherwise make most of the steps.
TEST(Windows, AgreeWithTheTrial) {
  for (const char* plugin : {"replicated", "async_sgd"}) {
    Trial trial = small_trial(2, plugin);
    trial.config.epochs = 8;
    const Result result = run(trial).result;
    ASSERT_GE(result.windows.size(), 2u) << plugin;
    double samples = 0, seconds = 0;
    for (const WindowResult& window : result.windows) samples += window.samples, seconds += window.seconds;
    EXPECT_LT(samples, static_cast<double>(result.samples)) << plugin;
    EXPECT_GT(samples, 0.8 * static_cast<double>(result.samples)) << plugin;
    EXPECT_LT(seconds, result.seconds_training) << plugin;
    EXPECT_GT(seconds, 0.5 * result.seconds_training) << plugin;
    if (std::string(plugin) == "replicated") { EXPECT_EQ(samples, 8 * 14 * 50); }
  }
}

TEST(Windows, AreKeptWithACheckpoint) {
  Trial trial = small_trial(2, "replicated");
  trial.config.epochs = 8;
  trial.config.checkpoint_epochs = 4;
  const Result resumed = run_in_two_parts(trial).result;
  std::uint64_t steps = 0;
  for (const WindowResult& window : resumed.windows) steps += window.steps;
  EXPECT_EQ(steps, 8 * 14u);
}

}  // namespace
}  // namespace mgcompare
