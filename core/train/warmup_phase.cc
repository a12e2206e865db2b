#include "train/warmup_phase.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "measure/comm_wait_split.h"
#include "measure/exchange_calls.h"

namespace mgcompare {
namespace {

// Parts are measured over steps of about this many seconds, without marks and with them each, within the bounds.
constexpr double kMeasuredSeconds = 0.05;
constexpr std::size_t kLeastSteps = 16, kMostSteps = 64, kLeastPairs = 4, kMostAttempts = 3;
// So much may the measured steps of the training prolong it, in all. At least one of kMostEvery is measured.
constexpr double kMostCost = 0.005;
constexpr std::size_t kLeastEvery = 16, kMostEvery = 256;

std::size_t multiple(std::size_t number, std::size_t of) { return (number + of - 1) / of * of; }

std::size_t every_for(double slowdown) {
  return static_cast<std::size_t>(std::clamp((slowdown - 1) / kMostCost, static_cast<double>(kLeastEvery), static_cast<double>(kMostEvery)));
}

// How many times `seconds` fit into kMeasuredSeconds.
std::size_t fitting(double seconds, std::size_t least, std::size_t most) {
  return static_cast<std::size_t>(std::clamp(kMeasuredSeconds / seconds, static_cast<double>(least), static_cast<double>(most)));
}

}  // namespace

void WarmupPhase::run(std::size_t number) {
  Run run{number, state_.ranks[number], {}, {}};
  start_strategy(run);
  make_first_steps(run);
  if (run.rank.replica->uses_graph_passes()) capture_passes(run);
  if (waits_for_steady_state()) step_until_steady(run);
  measure_steps(run);
  end(run);
}

void WarmupPhase::start_strategy(Run& run) {
  if (run.number == 0) batches_.take_order(epoch());
  state_.wait_for_ranks(run.number);
  batches_.set_order(run.number);
  setup_.prepare(run.number, false);
  run.timeline = state_.request.platform->timeline(*run.rank.device);
  setup_.scheduler(false).enter(state_.global(run.number), epoch());
  // No exclusive section may run before every rank has entered the scheduler.
  state_.wait_for_all(run.number);
  run.graph_steps = setup_.make_graph_steps(run.number);
  // Graph steps allocate, which could wait for an exchange that waits for this rank: so all do before the first step.
  state_.wait_for_ranks(run.number);
}

void WarmupPhase::make_first_steps(Run& run) {
  const auto period = static_cast<std::size_t>(std::max(0, state_.trial_facts.traits.repeats_every));
  // Until the group of the warm-up is destroyed.
  run.rank.group->forbid_collectives(state_.free_pace);
  run.steps = std::max(state_.config.measure.warm_up_steps, run.graph_steps == nullptr ? 0 : period);
  for (std::size_t step = 0; step < run.steps; ++step) {
    state_.report_progress(run.number, step, 0);
    make_step(run.number, batch_at(run.number, step));
  }
  const std::optional<Batch> last = last_batch(run.number);
  // Whole periods, so that the strategy goes on as if there had been none.
  for (std::size_t step = 0; last && step < std::max<std::size_t>(1, period); ++step) make_step(run.number, *last);
}

// Capturing allocates. Meanwhile no rank may be in an exchange or, in virtual time, wait for the turn of a rank that waits
// here.
void WarmupPhase::capture_passes(Run& run) {
  AsyncScheduler& scheduler = setup_.scheduler(false);
  scheduler.leave(state_.global(run.number));
  run.rank.device->synchronize();
  state_.enter(TrainingPhase::capture, run.number);
  run.rank.replica->capture_passes();
  scheduler.enter(state_.global(run.number), epoch());
  state_.enter(TrainingPhase::warm_up, run.number);
}

// In virtual time ranks must not wait for each other here, and speed does not count.
bool WarmupPhase::waits_for_steady_state() const {
  return state_.config.measure.level != MeasureLevel::quick && !(state_.free_pace && state_.config.deterministic);
}

void WarmupPhase::step_until_steady(const Run& run) {
  const SteadyStateLimits& limits = state_.config.measure.level == MeasureLevel::thorough ? kThoroughLimits : kNormalLimits;
  // Steps differ within a period of the strategy, so whole periods are timed.
  const auto period = static_cast<std::size_t>(std::max(1, state_.trial_facts.traits.repeats_every));
  const std::size_t steps = (limits.steps + period - 1) / period * period;
  std::size_t step = run.steps;
  if (run.number == 0) detector_ = SteadyStateDetector(now(), limits);
  do {
    state_.wait_for_ranks(run.number);
    state_.report_progress(run.number, step, 0);
    for (const std::size_t end = step + steps; step < end; ++step) make_step(run.number, batch_at(run.number, step));
    run.rank.device->synchronize();
    state_.wait_for_ranks(run.number);
    if (run.number == 0) {
      detector_.add(now());
      is_steady_ = detector_.is_over();
      broadcast(state_.request.hosts, &is_steady_, sizeof(is_steady_));
    }
    state_.wait_for_ranks(run.number);
  } while (!is_steady_);
}

void WarmupPhase::measure_steps(Run& run) {
  Rank& rank = run.rank;
  if (run.graph_steps != nullptr) batches_.begin_epoch(*run.graph_steps, run.number, epoch());
  const bool replays = run.graph_steps != nullptr && run.graph_steps->repeats();
  if (run.timeline != nullptr && !replays) rank.breakdown = measure_host_steps(run);
  if (state_.free_pace) rank.strategy->rest(*rank.replica, *rank.group);
  setup_.scheduler(false).leave(state_.global(run.number));
  if (run.timeline != nullptr && replays) rank.breakdown = measure_graph_steps(run);
  rank.device->synchronize();
}

void WarmupPhase::end(Run& run) {
  state_.enter(TrainingPhase::warm_up_end, run.number);
  // Ranks of other hosts may reach the memory of this one until here.
  state_.meet_hosts(run.number);
  if (run.number == 0) split_waiting();
  run.timeline.reset();
  run.graph_steps.reset();
  run.rank.network->take_tally();
  run.rank.strategy.reset();
  run.rank.network->synchronize_batch_norm({});
  // Other ranks' strategies may use the shared objects until here.
  state_.wait_for_ranks(run.number);
  if (run.number == 0) setup_.end_warmup();
  state_.enter(TrainingPhase::setup, run.number);
}

// Where the work of a step changes during the training, the last stage is the longest.
std::size_t WarmupPhase::epoch() const {
  const std::vector<std::size_t>& stages = state_.trial_facts.traits.stages;
  if (stages.empty()) return 0;
  const std::size_t steps = state_.facts.steps_per_epoch;
  return std::min(state_.config.epochs - 1, (stages.back() + steps - 1) / steps);
}

// A schedule may begin at 0, with which steps would change nothing.
double WarmupPhase::rate() const { return std::max(batches_.rate_at(0, 0), batches_.rate_at(1, 0)); }

// Full batches only; starts over at the end of the data.
Batch WarmupPhase::batch_at(std::size_t rank, std::size_t step) const {
  const std::size_t samples = state_.data.train.samples, global_batch = state_.facts.global_batch;
  const std::size_t batches = samples / global_batch;
  Batch::Position at{epoch(), step, batches == 0 ? 0 : step % batches * global_batch,
                     std::min(global_batch, samples), state_.global(rank), state_.span.all, rate()};
  if (state_.free_pace) {
    const std::size_t begin = at.begin + Batch(at, state_.spec.sample_shape).size() * state_.global(rank);
    at = {epoch(), step, begin, batches_.draw_size(), 0, 1, rate()};
  }
  at.begin = std::min(at.begin, samples - at.global_size);
  return Batch(at, state_.spec.sample_shape);
}

std::optional<Batch> WarmupPhase::last_batch(std::size_t rank) const {
  const std::size_t samples = state_.data.train.samples;
  const std::size_t full = state_.free_pace ? batches_.draw_size() : state_.facts.global_batch;
  const std::size_t size = samples % full;
  if (size == 0 || samples < full) return std::nullopt;
  Batch::Position at{epoch(), samples / full, samples - size, size, state_.global(rank), state_.span.all, rate()};
  if (state_.free_pace) at.rank = 0, at.ranks = 1;
  return Batch(at, state_.spec.sample_shape);
}

void WarmupPhase::make_step(std::size_t number, const Batch& batch) {
  Rank& rank = state_.ranks[number];
  state_.mark(number, batch.whole().begin() / state_.facts.global_batch + 1);
  rank.replica->begin_step(batch);
  const StepClock::PhaseScope scope(Phase::strategy);
  rank.strategy->step(*rank.replica, *rank.group, batch);
}

std::size_t WarmupPhase::agreed(std::size_t rank, std::size_t number) {
  state_.wait_for_ranks(rank);
  if (rank == 0) {
    agreed_ = number;
    broadcast(state_.request.hosts, &agreed_, sizeof(agreed_));
  }
  state_.wait_for_ranks(rank);
  return agreed_;
}

StepBreakdown WarmupPhase::measure_graph_steps(Run& run) {
  const double seconds = run.graph_steps->prepare_measurement(*run.timeline, run.rank.clock);
  const std::size_t most = state_.config.measure.level == MeasureLevel::quick ? kLeastPairs : DeviceTimeline::kRounds;
  const auto breakdown = run.graph_steps->measure(*run.timeline, agreed(run.number, fitting(seconds, kLeastPairs, most)));
  run.rank.sample_every = agreed(run.number, every_for(run.graph_steps->slowdown_by_marks()));
  return breakdown.value_or(StepBreakdown());
}

// A machine that is busy for a moment makes some steps much longer than the others: then they are measured again.
StepBreakdown WarmupPhase::measure_host_steps(Run& run) {
  StepBreakdown breakdown;
  for (std::size_t attempt = 1; attempt <= kMostAttempts; ++attempt) {
    const double slowdown = measure_host_steps(run, breakdown);
    // Ranks whose scheduler is in virtual time cannot wait for each other here.
    if (!waits_for_steady_state() || agreed(run.number, slowdown < StepBreakdown::kMostChange ? 1 : 0) == 1) break;
  }
  return breakdown;
}

double WarmupPhase::measure_host_steps(Run& run, StepBreakdown& breakdown) {
  Rank& rank = run.rank;
  DeviceTimeline& timeline = *run.timeline;
  const auto period = static_cast<std::size_t>(std::max(1, state_.trial_facts.traits.repeats_every));
  std::size_t step = run.steps;
  const auto make_steps = [&](std::size_t count) {
    const double start = now();
    for (const std::size_t end = step + count; step < end; ++step) {
      make_step(run.number, batch_at(run.number, step));
      rank.network->take_tally();  // waits for the device, as in training
    }
    return now() - start;
  };
  // The first replays of a graph take longer.
  make_steps(multiple(2, period));
  // Steps without marks come before and after the marked ones, so that a steady change of the machine's speed cancels out.
  std::size_t count = multiple(kLeastSteps, period);
  double unmarked = make_steps(count);
  if (state_.config.measure.level != MeasureLevel::quick && waits_for_steady_state()) {
    count = multiple(agreed(run.number, fitting(unmarked / static_cast<double>(count), kLeastSteps, kMostSteps)), period);
    unmarked = make_steps(count);
  }
  const double ahead = timeline.ahead();
  double marked = 0;
  const std::vector<StepClock::Span> spans = [&] {
    const StepClock::TimelineScope marking(rank.clock, timeline, false);
    timeline.mark(Phase::outside);
    rank.clock.keep_spans(now());
    marked = make_steps(count);
    return rank.clock.take_spans(now());
  }();
  const std::vector<PhaseEvent> marks = std::move(timeline.take().front());
  breakdown = break_down(marks, timeline.seconds_a_mark(), spans, ahead);
  breakdown.calls = exchange_calls(marks);
  breakdown.call_steps = count;
  unmarked = (unmarked + make_steps(count)) / 2;
  if (waits_for_steady_state()) rank.sample_every = agreed(run.number, every_for(marked / unmarked));
  breakdown.fit(unmarked);
  breakdown.divide(static_cast<double>(count));
  run.steps = step;
  return marked / unmarked;
}

// Takes the breakdowns of all ranks: how long a rank waits in an exchange follows from how long the others take.
void WarmupPhase::split_waiting() {
  std::vector<StepBreakdown> breakdowns;
  for (const Rank& rank : state_.ranks) breakdowns.push_back(rank.breakdown);
  const std::vector<RankTimes> times = split_exchanges(breakdowns);
  for (std::size_t k = 0; k < times.size(); ++k) state_.ranks[k].step_times = times[k];
}

}  // namespace mgcompare
