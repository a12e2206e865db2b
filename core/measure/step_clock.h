#pragma once

// Where a rank's time goes as its host thread sees it: every moment is of one phase, the innermost that it is in. A CPU
// device computes before a call returns, so there this is all there is to know; a GPU has a timeline besides.

#include <vector>

#include "platform/phase.h"
#include "results/result.h"
#include "platform/device_timeline.h"

namespace mgcompare {

// The part of a rank's time to which a phase belongs.
double& part_of(RankTimes& times, Phase phase);

class StepClock {
 public:
  // A stretch of one phase by the host's clock.
  struct Span {
    Phase phase = Phase::outside;
    const char* name = nullptr;     // of the call, where the phase is one of calls
    double begin = 0, end = 0;
  };

  // Counts from here on, outside of steps, and up to here.
  void open(double now);
  void close(double now);
  // What was counted since the last call.
  RankTimes take();

  // Keeps stretches from here on, or hands out those that were kept.
  void keep_spans(double now);
  std::vector<Span> take_spans(double now);

  // The strategy is about to queue work of its own on the device.
  static void strategy_queues();

  // Within its life the thread's rank is in this phase. Without a clock it does nothing.
  class In {
   public:
    explicit In(Phase phase, const char* name = nullptr);
    ~In();
    In(const In&) = delete;
    In& operator=(const In&) = delete;
    // The stretch since the last boundary began with so many seconds of another phase.
    void began_with(Phase phase, double seconds);

   private:
    StepClock* clock_ = nullptr;
    Phase former_ = Phase::outside;
    const char* former_name_ = nullptr;
  };

  // Within its life this is the clock of the calling thread, whose rank it is: calls do not say on whose behalf they are
  // made, and an optimiser may serve several ranks.
  class OfThread {
   public:
    explicit OfThread(StepClock& clock);
    ~OfThread();
    OfThread(const OfThread&) = delete;
    OfThread& operator=(const OfThread&) = delete;

   private:
    StepClock* former_;
  };

  // Within its life the thread's phases are marked on its device too. While steps are recorded a mark of the strategy's is
  // made only when the strategy queues work: where it queues none, two marks in a row would be one too many.
  class Marked {
   public:
    Marked(StepClock& clock, DeviceTimeline& timeline, bool recording);
    ~Marked();
    Marked(const Marked&) = delete;
    Marked& operator=(const Marked&) = delete;

   private:
    StepClock& clock_;
  };

  // Within its life nothing is counted.
  class Paused {
   public:
    Paused();
    ~Paused();
    Paused(const Paused&) = delete;
    Paused& operator=(const Paused&) = delete;

   private:
    StepClock* clock_;
    bool was_open_ = false;
  };

 private:
  void spend(double now);
  void go_to(Phase phase, const char* name);

  double seconds_[kPhases] = {};
  Phase phase_ = Phase::outside;
  const char* name_ = nullptr;
  double last_ = 0;                 // the last boundary
  bool is_open_ = false, keeps_spans_ = false;
  std::vector<Span> spans_;
  DeviceTimeline* timeline_ = nullptr;
  bool recording_ = false, is_owed_ = false;  // a mark of the strategy's
};

}  // namespace mgcompare
