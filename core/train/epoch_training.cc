#include "train/epoch_training.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/standstill.h"
#include "measure/comm_wait_split.h"

namespace mgcompare {
namespace {

constexpr double kAlmost = 1e-6;    // of a step

void add(Tally& sum, const Tally& tally) {
  sum.loss += tally.loss;
  sum.correct += tally.correct;
  sum.predictions += tally.predictions;
}

void check_loss(const Rank& rank, double loss) {
  if (!std::isfinite(loss))
    throw Diverged("step " + std::to_string(rank.step_seconds.size()) + ", loss " + (std::isnan(loss) ? "nan" : "infinite"));
}

}  // namespace

void EpochTraining::begin(std::size_t number, std::size_t epoch) {
  Rank& rank = state_.ranks[number];
  if (number == 0) {
    state_.epoch = epoch;
    state_.epoch_seconds = 0;
  }
  made_[number] = 0;
  rank.epoch_tally = {};
  rank.exclusive_sections = 0;
  rank.replica->reset_learned();
  if (state_.request.audit) rank.replica->reset_seen();
}

bool EpochTraining::run(std::size_t number, std::size_t epoch) {
  Rank& rank = state_.ranks[number];
  const bool is_first = made_[number] == 0;
  rank.intervals.begin_epoch();
  rank.group->reset_counts();
  rank.replica->meter().reset_bytes();
  rank.steps = {};
  Clocks clocks;
  rank.replica->capture_passes();
  if (rank.sampler != nullptr) rank.sampler->prepare();
  // Before the rendezvous, which saves another one. Its time is included in the epoch's all the same.
  if (number == 0) {
    others_.prepare();
    if (is_first) batches_.take_order(epoch);
  }
  state_.enter(TrainingPhase::epoch, number);
  state_.meet_hosts(number);
  others_.begin(number);
  if (number == 0) stood_still_ = Standstill::seconds();
  clocks.start = now() - (is_first ? batches_.seconds_taking() : 0);
  rank.clock.take();
  rank.clock.open(clocks.start);
  if (is_first) batches_.set_order(number);
  if (state_.free_pace) run_async(number, epoch);
  else run_lockstep(number, epoch);
  rank.device->synchronize();
  clocks.done = now();
  rank.clock.close(clocks.done);
  state_.enter(TrainingPhase::evaluation, number);
  state_.meet_hosts(number);
  clocks.end = now();
  others_.end(number);
  // Before settle(), in which the strategy might put them back.
  rank.compare_settings();
  const bool sampled = take_breakdown(rank);
  state_.wait_for_ranks(number);
  if (sampled) rank.step_times = split_exchanges(breakdowns()).at(number);
  account(number, clocks);
  return state_.free_pace || state_.out_of_steps() || made_[number] == state_.facts.steps_per_epoch;
}

double EpochTraining::share_made(std::size_t number) const {
  const std::size_t samples = state_.data.train.samples;
  return static_cast<double>(std::min(samples, made_[number] * state_.facts.global_batch)) / static_cast<double>(samples);
}

std::size_t EpochTraining::due_step(std::size_t made) const {
  const std::size_t steps = state_.facts.steps_per_epoch;
  if (!(state_.config.evaluate < 1) || !state_.request.evaluate || state_.request.most_steps != 0) return steps;
  // Products such as 0.07 x 100 are not whole numbers.
  const double every = state_.config.evaluate * static_cast<double>(steps), past = std::floor(static_cast<double>(made) / every + kAlmost);
  const double next = std::ceil((past + 1) * every - kAlmost);
  return next < static_cast<double>(steps) ? static_cast<std::size_t>(next) : steps;
}

void EpochTraining::take_records(std::size_t number, std::size_t end) {
  Rank& rank = state_.ranks[number];
  if (rank.graph_steps == nullptr) return;
  const std::vector<GraphRecorder::StepRecord> records = rank.graph_steps->take_finished();
  for (std::size_t k = 0; k < records.size(); ++k) {
    rank.step_seconds.push_back(records[k].seconds);
    check_loss(rank, records[k].loss);
    const std::size_t index = end - records.size() + k;
    rank.steps.add(records[k].seconds, index < state_.data.train.samples / state_.facts.global_batch);
    const bool is_last = index + 1 == state_.facts.steps_per_epoch;
    if (number == 0 && !is_last) rank.intervals.add(static_cast<double>(state_.facts.global_batch), records[k].seconds);
  }
  if (!records.empty()) add(rank.epoch_tally, rank.network->take_tally());
}

void EpochTraining::step(std::size_t number, const Batch& batch) {
  Rank& rank = state_.ranks[number];
  // In global batches. Free-running ranks count draws, which are smaller.
  const std::size_t index = batch.whole().begin() / state_.facts.global_batch;
  state_.mark(number, index + 1);
  rank.replica->begin_step(batch);
  const double start = now();
  if (number == 0) rank.intervals.begin_step(batch.whole().begin(), start);
  const bool traced = state_.tracing() && rank.trace.wants_more();
  if (traced) rank.clock.keep_spans(start);
  std::optional<StepSampler::Scope> measured;
  if (rank.sampler != nullptr && rank.sampler->is_due(rank.step_seconds.size())) measured.emplace(*rank.sampler, rank.clock);
  {
    const StepClock::PhaseScope in(Phase::strategy);
    rank.strategy->step(*rank.replica, *rank.group, batch);
  }
  const Tally tally = rank.network->take_tally();  // waits for the device
  const bool was_measured = measured.has_value();
  measured.reset();
  const double end = now();
  if (traced) rank.trace.add(rank.step_seconds.size(), start, end, rank.clock.take_spans(end));
  rank.step_seconds.push_back(end - start);
  // If most steps are replayed, the few that the host issues are not equivalent to them.
  const std::size_t full = state_.free_pace ? batches_.draw_size() : state_.facts.global_batch;
  if (rank.sampler != nullptr && !was_measured && batch.global_size() == full) rank.sampler->add(end - start);
  rank.steps.add(end - start, batch.global_size() == full && (rank.graph_steps == nullptr || !rank.graph_steps->repeats()));
  add(rank.epoch_tally, tally);
  const double loss = tally.predictions == 0 ? 0 : tally.loss / static_cast<double>(tally.predictions);
  check_loss(rank, loss);
  state_.report_progress(number, index, loss);
}

void EpochTraining::run_lockstep(std::size_t number, std::size_t epoch) {
  Rank& rank = state_.ranks[number];
  GraphSteps* const graph_steps = rank.graph_steps.get();
  std::size_t& index = made_[number];
  const std::size_t first = rank.step_seconds.size() - index, most = state_.request.most_steps;
  if (graph_steps != nullptr && index == 0) batches_.begin_epoch(*graph_steps, number, epoch);
  // Replays may go beyond the step at which an evaluation is due.
  for (const std::size_t due = due_step(index); index < due;) {
    const std::size_t from = index;
    const std::size_t repeatable = graph_steps == nullptr ? 0 : graph_steps->ready(index, first + index);
    if (repeatable > 0) {
      state_.mark(number, index + 1);
      graph_steps->repeat(index, repeatable);
      index += repeatable;
      if (!std::isfinite(graph_steps->loss())) take_records(number, index);
      state_.report_progress(number, index - 1, graph_steps->loss());
    } else {
      take_records(number, index);
      step(number, batches_.batch_at(number, epoch, index++));
    }
    if (number == 0) state_.steps += index - from;
    // Not earlier: the devices are busy meanwhile.
    if (number == 0 && from == 0) batches_.draw_ahead(epoch + 1);
    if (most != 0 && rank.step_seconds.size() >= most) {
      // What else needs memory in a whole training: the last batch has another size.
      if (state_.request.evaluate && index < state_.facts.steps_per_epoch) step(number, batches_.batch_at(number, epoch, state_.facts.steps_per_epoch - 1));
      return;
    }
  }
  take_records(number, index);
}

void EpochTraining::run_async(std::size_t number, std::size_t epoch) {
  Rank& rank = state_.ranks[number];
  CommContext& context = setup_.context(true);
  const std::size_t global = state_.global(number);
  if (number == 0) {
    context.reset_draws();
    batches_.draw_ahead(epoch + 1);
  }
  context.scheduler().enter(global, epoch);
  state_.wait_for_all(number);
  rank.group->forbid_collectives(true);
  for (;;) {
    const SampleDraw draw = context.draw(global, batches_.draw_size(), state_.data.train.samples);
    if (draw.size == 0) break;
    step(number, Batch({epoch, draw.index, draw.begin, draw.size, 0, 1, batches_.rate_at(epoch, draw.begin)}, state_.spec.sample_shape));
  }
  if (!rank.host_sees_all()) rank.clock.take();  // discard: device_times() accounts for the steps
  rank.compare_settings();          // before rest(), in which the strategy might put them back
  {
    const StepClock::PhaseScope in(Phase::strategy, "rest");
    rank.strategy->rest(*rank.replica, *rank.group);
  }
  rank.group->forbid_collectives(false);
  if (!rank.host_sees_all()) rank.rest_times = rank.clock.take();
  context.scheduler().leave(global);
}

bool EpochTraining::take_breakdown(Rank& rank) const {
  const std::optional<StepBreakdown> breakdown = rank.graph_steps != nullptr ? rank.graph_steps->take_breakdown()
                                                 : rank.sampler != nullptr   ? rank.sampler->take()
                                                                             : std::nullopt;
  if (!breakdown) return false;
  // Single steps do not show in which of them a strategy exchanges: those of the warm-up are whole periods.
  const bool has_calls = breakdown->call_steps > 0;
  StepBreakdown before = std::exchange(rank.breakdown, *breakdown);
  if (!has_calls) rank.breakdown.calls = std::move(before.calls), rank.breakdown.call_steps = before.call_steps;
  return true;
}

std::vector<StepBreakdown> EpochTraining::breakdowns() const {
  std::vector<StepBreakdown> all;
  for (const Rank& rank : state_.ranks) all.push_back(rank.breakdown);
  return all;
}

RankTimes EpochTraining::device_times(Rank& rank, double seconds) const {
  RankTimes times = rank.step_times;
  const double steps = rank.steps.count(times.sum());
  if (rank.sampler == nullptr) {
    times *= steps;
  } else {
    // The parts of all epochs by all samples.
    times *= rank.sampled_steps += steps;
    RankTimes before = std::exchange(rank.sampled_times, times);
    before *= -1;
    times += before;
  }
  const RankTimes rest = std::exchange(rank.rest_times, {});
  times += rest;
  times.harness += seconds - rank.steps.seconds() - rest.sum();
  return times;
}

void EpochTraining::account(std::size_t number, const Clocks& clocks) {
  Rank& rank = state_.ranks[number];
  const double capture_seconds = rank.graph_steps == nullptr ? 0 : rank.graph_steps->take_capture_seconds();
  const double seconds = clocks.done - clocks.start - capture_seconds;
  rank.times += rank.host_sees_all() ? rank.clock.take() : device_times(rank, seconds);
  rank.times.waiting += clocks.end - clocks.done;
  rank.bytes += rank.group->bytes() + rank.replica->meter().bytes();
  rank.exclusive_sections += rank.group->exclusive_sections();
  rank.learned = rank.replica->learned();
  if (number != 0) return;
  Result& result = state_.result();
  result.seconds_other_threads = (std::isnan(result.seconds_other_threads) ? 0 : result.seconds_other_threads) + others_.seconds();
  result.seconds_rank_threads += others_.seconds_of_ranks();
  result.seconds_stood_still += Standstill::seconds() - stood_still_;
  if (!others_.is_complete()) result.changed_settings = "the handling of SIGCHLD, so that processor time of its processes is not counted";
  state_.epoch_seconds += clocks.end - clocks.start - capture_seconds;
  state_.result().seconds_setup += capture_seconds;
}

}  // namespace mgcompare
