#include "train/epoch_training.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace mgcompare {
namespace {

// The stripe under which free-running ranks draw samples. The stripes of strategies are small numbers.
constexpr std::size_t kDrawStripe = static_cast<std::size_t>(-1);

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

void EpochTraining::run(std::size_t number, std::size_t epoch) {
  Rank& rank = state_.ranks[number];
  if (number == 0) state_.epoch = epoch;
  rank.epoch_tally = {};
  rank.intervals.begin_epoch();
  rank.group->reset_counts();
  rank.replica->meter().reset_bytes();
  rank.replica->reset_learned();
  rank.steps = {};
  Clocks clocks;
  if (state_.request.audit) rank.replica->reset_seen();
  rank.replica->capture_passes();
  // Before the rendezvous, which saves another one. Its time is included in the epoch's all the same.
  if (number == 0) {
    others_.prepare();
    batches_.take_order(epoch);
  }
  state_.enter(TrainingPhase::epoch, number);
  others_.begin(number);
  clocks.start = now() - batches_.seconds_taking();
  rank.clock.take();
  rank.clock.open(clocks.start);
  batches_.set_order(number);
  if (state_.free_pace) run_async(number, epoch);
  else run_lockstep(number, epoch);
  rank.device->synchronize();
  clocks.done = now();
  rank.clock.close(clocks.done);
  state_.enter(TrainingPhase::evaluation, number);
  clocks.end = now();
  others_.end(number);
  state_.wait_for_ranks(number);
  account(number, clocks);
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
  {
    const StepClock::PhaseScope in(Phase::strategy);
    rank.strategy->step(*rank.replica, *rank.group, batch);
  }
  const Tally tally = rank.network->take_tally();  // waits for the device
  const double end = now();
  if (traced) rank.trace.add(rank.step_seconds.size(), start, end, rank.clock.take_spans(end));
  rank.step_seconds.push_back(end - start);
  // If most steps are replayed, the few that the host issues are not equivalent to them.
  const std::size_t full = state_.free_pace ? batches_.draw_size() : state_.facts.global_batch;
  rank.steps.add(end - start, batch.global_size() == full && (rank.graph_steps == nullptr || !rank.graph_steps->repeats()));
  add(rank.epoch_tally, tally);
  const double loss = tally.predictions == 0 ? 0 : tally.loss / static_cast<double>(tally.predictions);
  check_loss(rank, loss);
  state_.report_progress(number, index, loss);
}

void EpochTraining::run_lockstep(std::size_t number, std::size_t epoch) {
  Rank& rank = state_.ranks[number];
  GraphSteps* const graph_steps = rank.graph_steps.get();
  const std::size_t first = rank.step_seconds.size(), most = state_.request.most_steps;
  if (graph_steps != nullptr) batches_.begin_epoch(*graph_steps, number, epoch);
  for (std::size_t index = 0; index < state_.facts.steps_per_epoch;) {
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
  take_records(number, state_.facts.steps_per_epoch);
}

void EpochTraining::run_async(std::size_t number, std::size_t epoch) {
  Rank& rank = state_.ranks[number];
  AsyncScheduler& scheduler = setup_.scheduler(true);
  if (number == 0) {
    drawn_ = draws_ = 0;
    batches_.draw_ahead(epoch + 1);
  }
  scheduler.enter(number, epoch);
  state_.wait_for_ranks(number);
  rank.group->forbid_collectives(true);
  for (;;) {
    std::size_t begin = 0, size = 0, index = 0;
    scheduler.exclusive(number, kDrawStripe, [&] {
      begin = drawn_;
      size = std::min(batches_.draw_size(), state_.data.train.samples - begin);
      drawn_ += size;
      if (size > 0) index = draws_++;
    });
    if (size == 0) break;
    step(number, Batch({epoch, index, begin, size, 0, 1, batches_.rate_at(epoch, begin)}, state_.spec.sample_shape));
  }
  if (!rank.host_sees_all()) rank.clock.take();  // discard: device_times() accounts for the steps
  {
    const StepClock::PhaseScope in(Phase::strategy);
    rank.strategy->rest(*rank.replica, *rank.group);
  }
  rank.group->forbid_collectives(false);
  if (!rank.host_sees_all()) rank.rest_times = rank.clock.take();
  scheduler.leave(number);
}

RankTimes EpochTraining::device_times(Rank& rank, double seconds) const {
  RankTimes times = rank.step_times;
  times *= rank.steps.count(times.sum());
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
  rank.exclusive_sections = rank.group->exclusive_sections();
  rank.learned = rank.replica->learned();
  if (number != 0) return;
  Result& result = state_.result();
  result.seconds_other_threads = (result.epochs.empty() ? 0 : result.seconds_other_threads) + others_.seconds();
  result.seconds_rank_threads += others_.seconds_of_ranks();
  if (!others_.is_complete()) result.changed_settings = "the handling of SIGCHLD, so that processor time of its processes is not counted";
  state_.epoch_seconds = clocks.end - clocks.start - capture_seconds;
  state_.result().seconds_setup += capture_seconds;
}

}  // namespace mgcompare
