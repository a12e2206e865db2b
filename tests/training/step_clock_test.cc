#include "measure/step_clock.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/clock.h"

namespace mgcompare {
namespace {

// Much longer than the overhead of a scope.
void work() { std::this_thread::sleep_for(std::chrono::milliseconds(4)); }

TEST(StepClock, CountsTheInnermostPhaseAndEveryMomentOnce) {
  StepClock clock;
  const StepClock::ThreadScope of_thread(clock);
  const double begin = now();
  clock.open(begin);
  work();
  {
    const StepClock::PhaseScope step(Phase::strategy);
    work();
    {
      const StepClock::PhaseScope pass(Phase::compute);
      work();
      {
        const StepClock::PhaseScope part(Phase::strategy);
        const StepClock::PhaseScope exchange(Phase::exchange, "all_reduce");
        work();
      }
      const StepClock::PhaseScope copy(Phase::transfer, "copy to host");
      work();
    }
    const StepClock::PhaseScope update(Phase::optimizer);
    work();
  }
  const double end = now();
  clock.close(end);
  const RankTimes times = clock.take();
  EXPECT_NEAR(times.sum(), end - begin, 1e-9);
  for (const double part : {times.harness, times.strategy, times.compute, times.optimizer}) EXPECT_GE(part, 0.004);
  EXPECT_GE(times.exchange, 0.008) << "of a collective and of a copy";
  EXPECT_EQ(times.input, 0);
  EXPECT_EQ(times.waiting, 0);
  EXPECT_EQ(clock.take().sum(), 0) << "it was taken";
}

TEST(StepClock, CountsNothingWhileItIsClosedOrPaused) {
  StepClock clock;
  const StepClock::ThreadScope of_thread(clock);
  {
    const StepClock::PhaseScope update(Phase::optimizer);
    work();
  }
  clock.open(now());
  {
    const StepClock::PauseScope paused;
    const StepClock::PhaseScope update(Phase::optimizer);
    work();
  }
  clock.close(now());
  EXPECT_EQ(clock.take().optimizer, 0);
}

TEST(StepClock, TellsWhatAStretchBeganWith) {
  StepClock clock;
  const StepClock::ThreadScope of_thread(clock);
  clock.open(now());
  {
    StepClock::PhaseScope exchange(Phase::exchange, "all_reduce");
    work();
    exchange.began_with(Phase::waiting, 0.003);
    exchange.began_with(Phase::waiting, 1e6);  // more than has passed
    work();
  }
  clock.close(now());
  const RankTimes times = clock.take();
  EXPECT_GE(times.waiting, 0.004);
  EXPECT_GE(times.exchange, 0.004);
  EXPECT_LT(times.waiting, 1);
}

// Any rank may apply an optimiser that rank 0 created.
TEST(StepClock, IsThatOfTheThread) {
  StepClock mine, other;
  const StepClock::ThreadScope of_thread(mine);
  mine.open(now());
  std::thread([&] {
    const StepClock::ThreadScope of_other(other);
    other.open(now());
    const StepClock::PhaseScope update(Phase::optimizer);
    work();
    other.close(now());
  }).join();
  std::thread([] { const StepClock::PhaseScope nobodys(Phase::optimizer); }).join();
  mine.close(now());
  EXPECT_EQ(mine.take().optimizer, 0);
  EXPECT_GE(other.take().optimizer, 0.004);
}

TEST(StepClock, KeepsStretchesWithoutGaps) {
  StepClock clock;
  const StepClock::ThreadScope of_thread(clock);
  const double begin = now();
  clock.keep_spans(begin);
  {
    const StepClock::PhaseScope step(Phase::strategy);
    const StepClock::PhaseScope exchange(Phase::exchange, "all_reduce");
    work();
  }
  const double end = now();
  const std::vector<StepClock::Span> spans = clock.take_spans(end);
  double at = begin;
  bool named = false;
  for (const StepClock::Span& span : spans) {
    EXPECT_EQ(span.begin, at);
    at = span.end;
    if (span.phase == Phase::exchange) named = span.name == std::string("all_reduce");
  }
  EXPECT_EQ(at, end);
  EXPECT_TRUE(named);
  EXPECT_TRUE(clock.take_spans(end).empty());
}

class Listed : public DeviceTimeline {
 public:
  void open(bool) override { is_open = true; }
  void close() noexcept override { is_open = false; }
  void mark(Phase phase, const ExchangeSize& = {}) noexcept override { phases.push_back(phase); }
  void end_round() override {}
  std::vector<std::vector<PhaseEvent>> take() override { return {}; }
  double seconds_a_mark() const override { return 0; }
  double ahead() override { return 0; }
  std::vector<Phase> phases;
  bool is_open = false;
};

std::vector<Phase> marks_of_a_step(bool recording, bool queues) {
  StepClock clock;
  const StepClock::ThreadScope of_thread(clock);
  Listed timeline;
  {
    const StepClock::TimelineScope marked(clock, timeline, recording);
    EXPECT_TRUE(timeline.is_open);
    const StepClock::PhaseScope step(Phase::strategy);
    { const StepClock::PhaseScope pass(Phase::compute); }
    if (queues) StepClock::before_strategy_work(), StepClock::before_strategy_work();
    const StepClock::PhaseScope update(Phase::optimizer);
  }
  EXPECT_FALSE(timeline.is_open);
  StepClock::before_strategy_work();
  return timeline.phases;
}

TEST(StepClock, MarksTheStrategysWorkOnlyWhereItQueuesSome) {
  using enum Phase;
  EXPECT_EQ(marks_of_a_step(true, false), (std::vector<Phase>{compute, optimizer, outside}));
  EXPECT_EQ(marks_of_a_step(true, true), (std::vector<Phase>{compute, strategy, optimizer, outside}));
  EXPECT_EQ(marks_of_a_step(false, false), (std::vector<Phase>{compute, outside, optimizer, outside}));
  EXPECT_EQ(marks_of_a_step(false, true), (std::vector<Phase>{compute, outside, strategy, optimizer, outside}));
}

// A lock for each part of the model, and an update by the host in it.
TEST(StepClock, MarksNoPhaseInWhichOnlyTheHostWorks) {
  StepClock clock;
  const StepClock::ThreadScope of_thread(clock);
  Listed timeline;
  {
    const StepClock::TimelineScope marked(clock, timeline, false);
    const StepClock::PhaseScope step(Phase::strategy);
    { const StepClock::PhaseScope pass(Phase::compute); }
    for (int part = 0; part < 100; ++part) {
      const StepClock::PhaseScope lock(Phase::waiting);
      const StepClock::PhaseScope inside(Phase::strategy);
      const StepClock::PhaseScope update(Phase::optimizer, nullptr, true);
    }
    const StepClock::PhaseScope copy(Phase::transfer);
  }
  using enum Phase;
  EXPECT_EQ(timeline.phases, (std::vector<Phase>{compute, outside, transfer, outside}));
}

}  // namespace
}  // namespace mgcompare
