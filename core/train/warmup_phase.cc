#include "train/warmup_phase.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "measure/comm_wait_split.h"

namespace mgcompare {
namespace {

constexpr std::size_t kReadSteps = 16;
// What steps with marks may take of those without, and still show where these spend their time.
constexpr double kBearable = 1.25;

}  // namespace

// Where the steps' work becomes another, it is the last that most of the training does.
std::size_t WarmupPhase::epoch() const {
  const std::vector<std::size_t>& stages = state_.trial_facts.traits.stages;
  if (stages.empty()) return 0;
  const std::size_t steps = state_.facts.steps_per_epoch;
  return std::min(state_.config.epochs - 1, (stages.back() + steps - 1) / steps);
}

// Full batches only, round and round.
Batch WarmupPhase::batch_at(std::size_t rank, std::size_t step) const {
  const std::size_t samples = state_.data.train.samples, global_batch = state_.facts.global_batch;
  const std::size_t batches = samples / global_batch;
  const double rate = batches_.rate_at(0, 0);
  Batch::Position at{epoch(), step, batches == 0 ? 0 : step % batches * global_batch,
                     std::min(global_batch, samples), rank, state_.ranks.size(), rate};
  if (state_.free) {
    const std::size_t begin = at.begin + Batch(at, state_.spec.sample_shape).size() * rank;
    at = {epoch(), step, begin, batches_.draw_size(), 0, 1, rate};
  }
  at.begin = std::min(at.begin, samples - at.global_size);
  return Batch(at, state_.spec.sample_shape);
}

void WarmupPhase::learn(std::size_t number, std::size_t step) {
  Rank& rank = state_.ranks[number];
  const Batch batch = batch_at(number, step);
  rank.replica->begin_step(batch);
  const StepClock::In in(Phase::strategy);
  rank.strategy->step(*rank.replica, *rank.group, batch);
}

// Nobody may be in an exchange then, or, in virtual time, wait for a rank that waits here.
void WarmupPhase::record_passes(std::size_t number) {
  Rank& rank = state_.ranks[number];
  AsyncScheduler& scheduler = setup_.scheduler(false);
  scheduler.leave(number);
  rank.device->synchronize();
  state_.barrier.wait();
  rank.replica->record_passes();
  scheduler.enter(number, epoch());
  state_.barrier.wait();
}

void WarmupPhase::learn_until_steady(std::size_t number, std::size_t step) {
  const SteadyStateLimits& limits = state_.config.measure.level == "thorough" ? kThoroughLimits : kNormalLimits;
  // Where not all steps issue the same work, rounds do.
  const auto period = static_cast<std::size_t>(std::max(1, state_.trial_facts.traits.repeats_every));
  const std::size_t steps = (limits.steps + period - 1) / period * period;
  if (number == 0) detector_ = SteadyStateDetector(now(), limits);
  do {
    state_.barrier.wait();
    state_.report_progress(number, TrialPhase::warm_up, 0, step, 0);
    for (const std::size_t end = step + steps; step < end; ++step) learn(number, step);
    state_.ranks[number].device->synchronize();
    state_.barrier.wait();
    if (number == 0) detector_.add(now());
    state_.barrier.wait();
  } while (!detector_.is_over());
}

void WarmupPhase::run(std::size_t number) {
  Rank& rank = state_.ranks[number];
  const MeasureConfig& measure = state_.config.measure;
  if (number == 0) batches_.take_order(epoch());
  state_.barrier.wait();
  batches_.set_order(number);
  setup_.prepare(number, false);
  std::unique_ptr<DeviceTimeline> timeline = state_.request.platform->timeline(*rank.device);
  setup_.scheduler(false).enter(number, epoch());
  state_.barrier.wait();
  std::unique_ptr<GraphSteps> recorded = setup_.recorded_steps(number);
  state_.barrier.wait();  // it allocates: before the first exchange, which could wait for this rank
  const auto period = static_cast<std::size_t>(std::max(0, state_.trial_facts.traits.repeats_every));
  const std::size_t steps = std::max(measure.warm_up_steps, recorded == nullptr ? 0 : period);
  for (std::size_t step = 0; step < steps; ++step) {
    state_.report_progress(number, TrialPhase::warm_up, 0, step, 0);
    learn(number, step);
  }
  if (rank.replica->repeats_passes()) record_passes(number);
  // In virtual time ranks must not wait for each other, and speed does not count.
  if (measure.level != "quick" && !(state_.free && state_.config.deterministic)) learn_until_steady(number, steps);
  if (recorded != nullptr) batches_.begin_epoch(*recorded, number, epoch());
  const bool repeats = recorded != nullptr && recorded->repeats();
  if (timeline != nullptr && !repeats) rank.reading = read_steps(number, steps, *timeline);
  if (state_.free) rank.strategy->rest(*rank.replica, *rank.group);
  setup_.scheduler(false).leave(number);
  if (timeline != nullptr && repeats) rank.reading = recorded->read(*timeline, rank.clock);
  rank.device->synchronize();
  state_.barrier.wait();
  if (number == 0) share_readings();
  timeline.reset();
  recorded.reset();
  rank.network->take_tally();
  rank.strategy.reset();
  rank.network->synchronize_batch_norm({});
  state_.barrier.wait();
  if (number == 0) setup_.end_warmup();
  state_.barrier.wait();
}

StepBreakdown WarmupPhase::read_steps(std::size_t number, std::size_t step, DeviceTimeline& timeline) {
  Rank& rank = state_.ranks[number];
  const auto make_steps = [&](std::size_t count) {
    for (const std::size_t end = step + count; step < end; ++step) {
      learn(number, step);
      rank.network->take_tally();  // waits for the device, as in training
    }
  };
  // A device takes longer for what it repeats for the first time.
  make_steps(2);
  const double start = now();
  make_steps(kReadSteps);
  const double without_marks = now() - start;
  const double ahead = timeline.ahead();
  const std::vector<StepClock::Span> spans = [&] {
    const StepClock::Marked marking(rank.clock, timeline, false);
    timeline.mark(Phase::outside);
    rank.clock.keep_spans(now());
    make_steps(kReadSteps);
    return rank.clock.take_spans(now());
  }();
  StepBreakdown reading = break_down(timeline.take().front(), timeline.seconds_a_mark(), spans, ahead);
  // Marks delay the host too, and a device that waits for it. A little of that is taken off all parts alike; much is left in
  // them, so that they do not sum to the training's steps and nobody believes them.
  const double longer = reading.times.sum() / without_marks;
  reading.divide(longer > 1 && longer < kBearable ? kReadSteps * longer : kReadSteps);
  return reading;
}

// What of a rank's exchanges is waiting, all of them tell together.
void WarmupPhase::share_readings() {
  std::vector<StepBreakdown> readings;
  for (const Rank& rank : state_.ranks) readings.push_back(rank.reading);
  const std::vector<RankTimes> times = split_exchanges(readings);
  for (std::size_t k = 0; k < times.size(); ++k) state_.ranks[k].of_step = times[k];
}

}  // namespace mgcompare
