#pragma once

// Where a rank's time goes, by the clock of its host thread. Every moment counts for one phase, the innermost open scope. On
// a CPU device work is done when a call returns, so this clock sees everything; a GPU has a DeviceTimeline in addition.

#include <vector>

#include "platform/phase.h"
#include "results/activity.h"
#include "results/result.h"
#include "platform/device_timeline.h"

namespace mgcompare {

// The field of `times` that the phase counts for.
double& part_of(RankTimes& times, Phase phase);

// Used by the rank's thread only. All times are seconds of now() (base/clock.h).
class StepClock {
 public:
  // A stretch of time in one phase.
  struct Span {
    Phase phase = Phase::outside;
    const char* name = nullptr;     // of the call, for phases that are calls
    double begin = 0, end = 0;
  };

  // Starts and stops counting. Time outside of any scope counts as Phase::outside.
  void open(double now);
  void close(double now);
  // Seconds counted since the last call.
  RankTimes take();

  // Starts to keep spans; take_spans() ends that and returns them.
  void keep_spans(double now);
  std::vector<Span> take_spans(double now);

  // Called before the strategy queues work on the device: places the mark that a TimelineScope with capture delays.
  static void before_strategy_work();

  // The thread's rank is in this phase while the scope exists. Does nothing on a thread without a clock.
  class PhaseScope {
   public:
    // `on_host`: the phase queues nothing on the device, so that it needs no marks there. `size`: of an exchange.
    explicit PhaseScope(Phase phase, const char* name = nullptr, bool on_host = false, const ExchangeSize& size = {});
    ~PhaseScope();
    PhaseScope(const PhaseScope&) = delete;
    PhaseScope& operator=(const PhaseScope&) = delete;
    // Counts the first `seconds` since the last phase change for another phase.
    void began_with(Phase phase, double seconds);

   private:
    StepClock* clock_ = nullptr;
    Phase former_ = Phase::outside;
    const char* former_name_ = nullptr;
    bool former_on_host_ = false;
  };

  // Makes `clock` the clock of the calling thread while the scope exists, and `activity`, unless it is null, the place where it
  // shows its phases. The clock belongs to the thread, because calls do not name the rank that makes them and an optimiser may
  // serve several ranks.
  class ThreadScope {
   public:
    explicit ThreadScope(StepClock& clock, Activity* activity = nullptr);
    ~ThreadScope();
    ThreadScope(const ThreadScope&) = delete;
    ThreadScope& operator=(const ThreadScope&) = delete;

   private:
    StepClock* former_;
  };

  // Marks the thread's phases on its device, too, while the scope exists. Phase::strategy is marked only once the strategy queues
  // work: without work, two marks in a row would cost the time of one too many. Where the host issues the steps, the device is
  // marked as idle once when it may have ended its work, and not again in phases in which only the host works: a strategy
  // with a lock for each part of the model changes its phase some hundred times a step.
  class TimelineScope {
   public:
    TimelineScope(StepClock& clock, DeviceTimeline& timeline, bool capturing);
    ~TimelineScope();
    TimelineScope(const TimelineScope&) = delete;
    TimelineScope& operator=(const TimelineScope&) = delete;

   private:
    StepClock& clock_;
  };

  // Stops the clock of the calling thread while the scope exists.
  class PauseScope {
   public:
    PauseScope();
    ~PauseScope();
    PauseScope(const PauseScope&) = delete;
    PauseScope& operator=(const PauseScope&) = delete;

   private:
    StepClock* clock_;
    bool was_open_ = false;
  };

 private:
  void count_until(double now);
  void go_to(Phase phase, const char* name, bool on_host, const ExchangeSize& size = {});
  void mark_on_device(const ExchangeSize& size);

  double seconds_[kPhases] = {};
  Activity* activity_ = nullptr;
  Phase phase_ = Phase::outside;
  const char* name_ = nullptr;
  bool on_host_ = false;            // the phase queues nothing on the device
  double last_ = 0;                 // when the phase last changed
  bool is_open_ = false, keeps_spans_ = false;
  std::vector<Span> spans_;
  DeviceTimeline* timeline_ = nullptr;
  bool capturing_ = false;
  bool mark_is_pending_ = false;    // of Phase::strategy
  bool device_is_idle_ = true;      // by the last mark, where the host issues the steps
};

}  // namespace mgcompare
