#include "measure/step_clock.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.h"

namespace mgcompare {
namespace {

thread_local StepClock* clock_of_thread = nullptr;

// Of phases whose calls have no names, in the order of Phase.
constexpr auto kActivities = std::to_array<const char*>(
    {"a pass", "an update", "the input", "an exchange", "a transfer", "a wait", "own code", nullptr});
static_assert(kActivities.size() == kPhases);

}  // namespace

double& part_of(RankTimes& times, Phase phase) {
  switch (phase) {
    case Phase::compute: return times.compute;
    case Phase::optimizer: return times.optimizer;
    case Phase::input: return times.input;
    case Phase::exchange:
    case Phase::transfer: return times.exchange;
    case Phase::waiting: return times.waiting;
    case Phase::strategy: return times.strategy;
    case Phase::outside: break;
  }
  return times.harness;
}

void StepClock::open(double now) {
  is_open_ = true;
  last_ = now;
}

void StepClock::close(double now) {
  count_until(now);
  is_open_ = false;
}

RankTimes StepClock::take() {
  RankTimes times;
  for (int phase = 0; phase < kPhases; ++phase)
    part_of(times, static_cast<Phase>(phase)) += std::exchange(seconds_[phase], 0.0);
  return times;
}

void StepClock::keep_spans(double now) {
  count_until(now);
  last_ = now;
  keeps_spans_ = true;
}

std::vector<StepClock::Span> StepClock::take_spans(double now) {
  count_until(now);
  keeps_spans_ = false;
  return std::exchange(spans_, {});
}

void StepClock::count_until(double now) {
  if (is_open_) seconds_[static_cast<int>(phase_)] += now - last_;
  if (keeps_spans_ && now > last_) spans_.push_back({phase_, name_, last_, now});
  last_ = now;
}

void StepClock::go_to(Phase phase, const char* name, bool on_host, const ExchangeSize& size) {
  if (is_open_ || keeps_spans_) count_until(now());
  phase_ = phase;
  name_ = name;
  on_host_ = on_host;
  if (activity_ != nullptr) activity_->set(name != nullptr ? name : kActivities[static_cast<std::size_t>(phase)]);
  if (timeline_ == nullptr) return;
  mark_on_device(size);
  // Exclude the overhead of the mark from all phases.
  last_ = now();
}

void StepClock::mark_on_device(const ExchangeSize& size) {
  mark_is_pending_ = phase_ == Phase::strategy;
  if (capturing_) {
    if (!mark_is_pending_) timeline_->mark(phase_, size);
    return;
  }
  const bool only_host = on_host_ || mark_is_pending_ || phase_ == Phase::waiting || phase_ == Phase::outside;
  if (only_host && device_is_idle_) return;
  timeline_->mark(only_host ? Phase::outside : phase_, size);
  device_is_idle_ = only_host;
}

void StepClock::before_strategy_work() {
  StepClock* const clock = clock_of_thread;
  if (clock == nullptr || !clock->mark_is_pending_) return;
  clock->mark_is_pending_ = false;
  clock->device_is_idle_ = false;
  clock->timeline_->mark(Phase::strategy);
}

StepClock::PhaseScope::PhaseScope(Phase phase, const char* name, bool on_host, const ExchangeSize& size) {
  StepClock* const clock = clock_of_thread;
  if (clock == nullptr || (clock->phase_ == phase && clock->name_ == name)) return;
  clock_ = clock;
  former_ = clock->phase_;
  former_name_ = clock->name_;
  former_on_host_ = clock->on_host_;
  clock->go_to(phase, name, on_host, size);
}

StepClock::PhaseScope::~PhaseScope() {
  if (clock_ != nullptr) clock_->go_to(former_, former_name_, former_on_host_);
}

void StepClock::PhaseScope::began_with(Phase phase, double seconds) {
  StepClock* const clock = clock_of_thread;
  if (clock == nullptr || !(seconds > 0) || !(clock->is_open_ || clock->keeps_spans_)) return;
  const Phase own = std::exchange(clock->phase_, phase);
  clock->count_until(std::min(now(), clock->last_ + seconds));
  clock->phase_ = own;
}

StepClock::ThreadScope::ThreadScope(StepClock& clock, Activity* activity) : former_(std::exchange(clock_of_thread, &clock)) {
  clock.activity_ = activity;
}
StepClock::ThreadScope::~ThreadScope() {
  if (Activity* const activity = std::exchange(clock_of_thread->activity_, nullptr)) activity->set(nullptr);
  clock_of_thread = former_;
}

StepClock::TimelineScope::TimelineScope(StepClock& clock, DeviceTimeline& timeline, bool capturing) : clock_(clock) {
  timeline.open(capturing);
  clock.timeline_ = &timeline;
  clock.capturing_ = capturing;
  clock.mark_is_pending_ = false;
  clock.device_is_idle_ = true;
}

StepClock::TimelineScope::~TimelineScope() {
  std::exchange(clock_.timeline_, nullptr)->close();
  clock_.mark_is_pending_ = false;
}

StepClock::PauseScope::PauseScope() : clock_(clock_of_thread) {
  if (clock_ == nullptr) return;
  was_open_ = clock_->is_open_;
  clock_->close(now());
}

StepClock::PauseScope::~PauseScope() {
  if (clock_ != nullptr && was_open_) clock_->open(now());
}

}  // namespace mgcompare
