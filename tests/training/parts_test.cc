// The breakdown of whole trials, on CPU devices and on devices with a clock of their own.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "fakes/clocked_platform.h"
#include "fixture.h"

namespace mgcompare {
namespace {

using testing::run;
using testing::small_trial;

constexpr const char* kPlugins[] = {"serial", "replicated", "tower", "async_sgd", "onebit"};

std::size_t ranks_of(const std::string& plugin) { return plugin == "serial" ? 1 : 2; }

// A rank that has to wait for a processor reads its clock later than the others.
TEST(Parts, OfCpuDevicesSumToTheTrainingClock) {
  constexpr int kMostTrials = 4;    // until other programs do not disturb one
  for (const char* plugin : kPlugins) {
    const std::size_t ranks = ranks_of(plugin);
    double beyond = INFINITY;
    for (int trial = 0; trial == 0 || (trial < kMostTrials && beyond > 0); ++trial) {
      const Result result = run(small_trial(ranks, plugin)).result;
      ASSERT_EQ(result.ranks.size(), ranks);
      RankTimes all;
      double largest = -INFINITY;
      for (const RankTimes& times : result.ranks) {
        largest = std::max(largest, std::abs(times.sum() - result.seconds_training) - 0.02 * result.seconds_training - 1e-3);
        EXPECT_GT(times.compute, 0) << plugin;
        EXPECT_GT(times.input, 0) << plugin;
        all += times;
      }
      beyond = std::min(beyond, largest);
      EXPECT_GT(all.optimizer, 0) << plugin << ", whoever made the optimiser";
      EXPECT_EQ(all.exchange > 0, ranks > 1) << plugin;
    }
    EXPECT_LE(beyond, 0) << plugin << ", seconds more than the parts may differ from the clock";
  }
}

// Other programs can only add to a time, so the minimum over several trials counts.
TEST(Parts, OfCpuDevicesHaveLessInputThanCompute) {
  constexpr int kMostTrials = 20;
  for (const char* plugin : kPlugins)
    for (std::size_t rank = 0; rank < ranks_of(plugin); ++rank) {
      double input = INFINITY, compute = INFINITY;
      for (int trial = 0; trial == 0 || (trial < kMostTrials && input >= compute); ++trial) {
        const RankTimes times = run(small_trial(ranks_of(plugin), plugin)).result.ranks[rank];
        input = std::min(input, times.input), compute = std::min(compute, times.compute);
      }
      EXPECT_LT(input, compute) << plugin << ", rank " << rank;
    }
}

// Sleeps in every place where a strategy's own work can occur: in its step, inside of `ready` and under a lock.
class Sleeper : public Strategy {
 public:
  Traits traits() const override { return {.promise = Traits::Promise::exact}; }
  void step(Replica& replica, Group& group, const Batch& batch) override {
    bool slept = false;
    replica.backward(batch, [&](Vec) {
      if (!std::exchange(slept, true)) sleep();
    });
    group.exclusive(0, [] { sleep(); });
    sleep();
    replica.update();
  }
  static void sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }
};

TEST(Parts, WhatAStrategyDoesBesidesIsItsOwn) {
  const Result result = run(small_trial(1), [](Options&, const Facts&) { return std::make_unique<Sleeper>(); }).result;
  EXPECT_GE(result.ranks[0].strategy, 3e-3 * static_cast<double>(result.steps));
  EXPECT_NEAR(result.ranks[0].sum(), result.seconds_training, 0.02 * result.seconds_training + 1e-3);
}

Result run_on(ClockedPlatform& platform, const Trial& trial) {
  return run(trial, {}, [&](TrainingRequest& request) { request.platform = &platform; }).result;
}

double covered(const Result& result, std::size_t rank = 0) { return result.ranks[rank].sum() / result.seconds_training; }

// A busy machine may slow down training relative to the measured steps, so only the parts themselves are checked here.
TEST(Parts, OfStepsByTheHostAreReadOnTheDevice) {
  for (const char* plugin : {"tower", "async_sgd"}) {
    ClockedPlatform platform;
    Trial trial = small_trial(2, plugin);
    trial.config.deterministic = plugin == std::string("tower");
    const Result result = run_on(platform, trial);
    RankTimes all;
    for (const RankTimes& times : result.ranks) {
      EXPECT_GT(times.compute, 0) << plugin;
      all += times;
    }
    EXPECT_GT(all.optimizer, 0) << plugin;
    EXPECT_GT(all.exchange, 0) << plugin;
    EXPECT_GT(all.strategy, 0) << plugin;
    EXPECT_GT(all.compute, all.exchange) << plugin << ": a pass that is asked for is not the copy behind it";
  }
}

TEST(Parts, ThatAreNotThoseOfTheStepsDoNotSumToThem) {
  ClockedPlatform platform;
  // The reported cost of one second per mark exceeds every duration, so nothing is left after the subtraction.
  platform.make_marker = [] { return std::make_unique<HostTimeline>(1); };
  EXPECT_LT(covered(run_on(platform, small_trial(2, "tower"))), 0.9);
}

TEST(Parts, AreTheHostsAloneWhereNoStepWasRead) {
  ClockedPlatform platform;
  Trial trial = small_trial(2, "tower");
  trial.config.measure.warm_up_steps = 0;
  const Result result = run_on(platform, trial);
  EXPECT_EQ(result.ranks[0].compute, 0);
  EXPECT_LT(covered(result), 0.9);
}

// Replayed steps take a millisecond each on this device.
constexpr double kStep = 1e-3;

class ClockedRecorder : public GraphRecorder {
 public:
  void begin_epoch(std::size_t, const std::vector<std::uint32_t>&, const std::vector<float>&) override {}
  void begin() override {
    EXPECT_EQ(queued_, 0u) << "the time of a capture would be in the step behind it";
    lengths_.push_back(0);
  }
  void begin_step(std::size_t) override {}
  void end_step() override { ++lengths_.back(); }
  void begin_pass(std::size_t) override {}
  std::size_t end() override { return lengths_.size() - 1; }
  void seek(std::size_t) override { queued_ = 0; }
  void place(std::size_t, std::size_t) override {}
  void repeat(std::size_t recording) override { queued_ += lengths_.at(recording); }
  double loss() const override { return 1; }
  std::vector<StepRecord> take_records() override {
    return std::vector<StepRecord>(std::exchange(queued_, 0), {kStep, 1});
  }

 private:
  std::vector<std::size_t> lengths_;
  std::size_t queued_ = 0;
};

// Every phase takes the same time in every round.
class ScriptedMarker : public HostTimeline {
 public:
  explicit ScriptedMarker(double scale, double share_of_compute = 0.75) : scale_(scale), compute_(share_of_compute) {}
  void mark(Phase phase, const ExchangeSize& = {}) noexcept override {
    marks_.push_back({phase, false, at_});
    at_ += scale_ * kStep * (phase == Phase::compute ? compute_ : phase == Phase::optimizer ? 1 - compute_ : 0.0);
  }
  void end_round() override {}
  std::vector<std::vector<PhaseEvent>> take() override {
    std::vector<std::vector<PhaseEvent>> rounds;
    for (std::size_t round = 0; round < kRounds; ++round) {
      rounds.push_back(marks_);
      for (PhaseEvent& mark : rounds.back()) mark.at += static_cast<double>(round) * at_;
    }
    return rounds;
  }

 private:
  double scale_, compute_, at_ = 0;
  std::vector<PhaseEvent> marks_;
};

// Each epoch has 14 full steps and a shorter one.
TEST(Parts, OfRecordedStepsAreThoseOfTheRepetitionsBefore) {
  ClockedPlatform platform;
  platform.make_recorder = [] { return std::make_unique<ClockedRecorder>(); };
  platform.make_marker = [] { return std::make_unique<ScriptedMarker>(1); };
  const Result good = run_on(platform, small_trial(1, "serial"));
  const RankTimes& times = good.ranks[0];
  EXPECT_NEAR(times.compute / times.optimizer, 3, 1e-6);
  EXPECT_EQ(times.strategy, 0);
  EXPECT_NEAR(covered(good), 1, 1e-6);

  platform.make_marker = [] { return std::make_unique<ScriptedMarker>(1.5); };
  EXPECT_GT(covered(run_on(platform, small_trial(1, "serial"))), 1.1) << "steps that took longer while they were read";
}

// One timeline in the warm-up, and one in the training.
TEST(Parts, OfRecordedStepsAreThoseOfTheTrainingIfItIsLong) {
  for (const std::size_t epochs : {5u, 20u}) {
    ClockedPlatform platform;
    platform.make_recorder = [] { return std::make_unique<ClockedRecorder>(); };
    int made = 0;
    platform.make_marker = [&made] { return std::make_unique<ScriptedMarker>(1, made++ == 0 ? 0.75 : 0.5); };
    Trial trial = small_trial(1, "serial");
    trial.config.epochs = epochs;
    const Result result = run_on(platform, trial);
    const bool is_long = epochs == 20;
    EXPECT_EQ(made, is_long ? 2 : 1) << epochs;
    // All but the first epoch have a sample or follow one.
    EXPECT_NEAR(result.ranks[0].compute / result.ranks[0].optimizer, is_long ? 1 : 3, is_long ? 0.2 : 1e-6);
    EXPECT_NEAR(covered(result), 1, 1e-6);
  }
}

}  // namespace
}  // namespace mgcompare
