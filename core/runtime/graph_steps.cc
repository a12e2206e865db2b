#include "runtime/graph_steps.h"

#include <algorithm>

#include "base/clock.h"

namespace mgcompare {
namespace {

// Steps of a graph: enough that the gap between two replays does not matter, few enough that capture is quick.
constexpr std::size_t kMinLength = 4, kMaxLength = 24;
constexpr std::size_t kNoStage = static_cast<std::size_t>(-1);

// The number of steps of a graph: whole periods within the bounds, so that the fewest steps remain for the host.
std::size_t best_length(std::size_t steps, std::size_t period) {
  const std::size_t shortest = (kMinLength + period - 1) / period * period;
  std::size_t best = shortest;
  for (std::size_t length = shortest; length <= std::max(kMaxLength, shortest); length += period)
    if (length <= steps && steps % length <= steps % best) best = length;
  return best;
}

}  // namespace

GraphSteps::GraphSteps(std::unique_ptr<GraphRecorder> recorder, const StepParts& parts, const Traits& traits)
    : recorder_(std::move(recorder)), parts_(parts), period_(static_cast<std::size_t>(traits.repeats_every)),
      stages_(traits.stages) {}

GraphSteps::Stage GraphSteps::stage_of(std::size_t step) const {
  Stage stage;
  for (const std::size_t begin : stages_) {
    if (begin > epoch_ * steps_ + step) break;
    ++stage.number;
    stage.begin = begin;
  }
  return stage;
}

void GraphSteps::begin_epoch(std::size_t epoch, std::size_t steps, std::size_t full,
                             const std::function<Batch(std::size_t step)>& batch_of) {
  epoch_ = epoch;
  steps_ = steps;
  full_ = full;
  ++epochs_;
  // If epochs consist of whole periods, their ends are captured too. Then only the first epoch has host steps, and it starts
  // with a period of them.
  const bool whole_periods = steps % period_ == 0;
  body_ = best_length(whole_periods && full > period_ ? full - period_ : full, period_);
  batch_of_ = batch_of;
  std::vector<std::uint32_t> begins;
  std::vector<float> rates;
  for (std::size_t step = 0; step < steps; ++step) {
    const Batch batch = batch_of(step);
    begins.push_back(static_cast<std::uint32_t>(batch.whole().begin()));
    rates.push_back(static_cast<float>(batch.learning_rate()));
  }
  recorder_->begin_epoch(epoch, begins, rates);
}

std::size_t GraphSteps::ready(std::size_t step, std::size_t made) const {
  // In each stage, the first period and the first smaller batch run eagerly, because libraries may still allocate and select
  // kernels. A graph starts at the start of a period, so that each replay finds the strategy in the same state.
  const Stage stage = stage_of(step);
  if (made < period_ || made % period_ != 0) return 0;
  if (stage.number > 0 && epoch_ * steps_ + step < stage.begin + period_) return 0;
  if (step + body_ <= full_) return stage_of(step + body_ - 1).number == stage.number ? body_ : 0;
  // The end of an epoch is a graph of its own if all epochs consist of whole periods.
  const bool seen = epochs_ > 1 && (stage.number == 0 || stage.begin < epoch_ * steps_);
  return seen && steps_ % period_ == 0 ? steps_ - step : 0;
}

GraphSteps::Key GraphSteps::key(std::size_t step, std::size_t length) const {
  return {stage_of(step).number, length, step + length > full_ || length != body_};
}

GraphSteps::Graph GraphSteps::capture(std::size_t step, std::size_t length, DeviceTimeline* timeline) {
  const StepClock::PauseScope paused;
  parts_.replica->device().synchronize();
  parts_.wait_for_ranks();
  const double start = now();
  const RankReplica::Counts before = parts_.replica->counts();
  const std::uint64_t bytes = parts_.group->bytes();
  Graph graph;
  graph.begin = batch_of_(step).whole().begin();
  recorder_->begin();
  if (timeline != nullptr) timeline->mark(Phase::outside);
  for (std::size_t k = 0; k < length; ++k) {
    const Batch batch = batch_of_(step + k);
    recorder_->begin_step(step + k);
    parts_.replica->begin_step(batch);
    {
      const StepClock::PhaseScope in(Phase::strategy);
      parts_.strategy->step(*parts_.replica, *parts_.group, batch);
    }
    recorder_->end_step();
  }
  if (timeline != nullptr) {
    timeline->mark(Phase::outside);
    timeline->end_round();
  }
  graph.number = recorder_->end();
  graph.counts = parts_.replica->counts() - before;
  graph.bytes = parts_.group->bytes() - bytes;
  // The captured steps have not run yet: undo what their host code counted.
  parts_.replica->set_counts(running_ ? counts_ : before);
  parts_.group->add_bytes(0 - graph.bytes);
  parts_.wait_for_ranks();
  capture_seconds_ += now() - start;
  return graph;
}

void GraphSteps::sample_parts(StepClock& clock, MakeTimeline make_timeline, std::size_t steps, std::size_t every) {
  sampling_ = {&clock, std::move(make_timeline), steps, every, 0, 1};
}

// Replays after a pause have marks only where all are such. All ranks decide alike.
bool GraphSteps::is_sampled(const Key& key) const {
  if (sampling_.clock == nullptr || key.last || sampling_.steps / body_ < sampling_.every || sampling_.replays < sampling_.due) return false;
  const auto known = marked_graphs_.find(key);
  if (known != marked_graphs_.end() && known->second.rounds == DeviceTimeline::kRounds) return false;
  return running_ || full_ / body_ < 2;
}

void GraphSteps::repeat(std::size_t step, std::size_t count) {
  const Key key = this->key(step, count);
  bool is_marked = is_sampled(key);
  auto found = graphs_.find(key);
  if (found == graphs_.end()) {
    // The time of the capture is in no step.
    finish();
    found = graphs_.emplace(key, capture(step, count)).first;
  }
  if (is_marked && !marked_graphs_.contains(key)) {
    finish();
    Marked& marked = marked_graphs_[key];
    marked.timeline = sampling_.make_timeline();
    const StepClock::TimelineScope marking(*sampling_.clock, *marked.timeline, true);
    marked.graph = capture(step, count, marked.timeline.get());
    // The capture is a pause: the sample is the next replay, if there are others than first ones.
    is_marked = full_ / body_ < 2;
  }
  const bool is_first = !running_;
  if (is_first) {
    counts_ = parts_.replica->counts();
    parts_.replica->set_counts(counts_);
    recorder_->seek(step);
  }
  running_ = true;
  const Graph& graph = is_marked ? marked_graphs_.at(key).graph : found->second;
  recorder_->repeat(graph.number);
  // Unsigned: the distance is negative if the graph was captured from later steps.
  counts_ = counts_ + graph.counts.moved(batch_of_(step).whole().begin() - graph.begin);
  bytes_ += graph.bytes;
  if (sampling_.clock == nullptr) return;
  queued_.push_back({{is_marked, is_first, 0}, count, key.last ? kNoStage : key.stage});
  if (key.last) return;
  if (is_marked) {
    ++marked_graphs_.at(key).rounds;
    sampling_.due = sampling_.replays + sampling_.every;
  }
  ++sampling_.replays;
}

void GraphSteps::finish() {
  if (!running_) return;
  running_ = false;
  const std::vector<GraphRecorder::StepRecord> records = recorder_->take_records();
  auto record = records.begin();
  for (; recorded_ < queued_.size() && record != records.end(); ++recorded_)
    for (std::size_t k = 0; k < queued_[recorded_].steps && record != records.end(); ++k) queued_[recorded_].replay.seconds += record++->seconds;
  records_.insert(records_.end(), records.begin(), records.end());
  parts_.replica->set_counts(counts_);
  parts_.group->add_bytes(std::exchange(bytes_, 0));
}

std::vector<GraphRecorder::StepRecord> GraphSteps::take_finished() {
  finish();
  return std::exchange(records_, {});
}

std::optional<StepBreakdown> GraphSteps::take_breakdown() {
  std::optional<StepBreakdown> breakdown;
  // A later stage replaces an earlier one.
  for (auto& [key, marked] : marked_graphs_) {
    if (marked.rounds == 0) continue;
    std::vector<Replay> replays;
    for (const Queued& one : queued_)
      if (one.stage == key.stage) replays.push_back(one.replay);
    // Epochs of one replay: wait for one without marks.
    if (std::all_of(replays.begin(), replays.end(), [](const Replay& one) { return one.is_marked; })) continue;
    if (const auto found = break_down(replays, marked.timeline->take(), key.length)) breakdown = found;
    marked.rounds = 0;
  }
  if (!breakdown) return breakdown;
  queued_.clear();
  recorded_ = 0;
  return breakdown;
}

double GraphSteps::prepare_measurement(DeviceTimeline& timeline, StepClock& clock) {
  plain_ = capture(0, body_);
  {
    const StepClock::TimelineScope marking(clock, timeline, true);
    marked_ = capture(0, body_, &timeline);
  }
  parts_.replica->set_counts(parts_.replica->counts());
  double seconds = 0;
  // The first replay of a graph takes longer.
  for (int replay = 0; replay < 2; ++replay) {
    recorder_->seek(0);
    recorder_->repeat(plain_.number);
    seconds = 0;
    for (const GraphRecorder::StepRecord& step : recorder_->take_records()) seconds += step.seconds;
  }
  return seconds;
}

std::vector<Replay> GraphSteps::replay_in_turn(std::size_t pairs) {
  std::vector<Replay> replays;
  std::size_t taken = 0;
  const auto take = [&] {
    const std::vector<GraphRecorder::StepRecord> records = recorder_->take_records();
    for (std::size_t k = 0; k < records.size(); ++k) replays.at(taken + k / body_).seconds += records[k].seconds;
    taken = replays.size();
  };
  const std::size_t an_epoch = full_ / body_;
  for (std::size_t k = 0; k < 2 * pairs; ++k) {
    const std::size_t epoch = k / an_epoch, in_epoch = k % an_epoch;
    // The order changes with the epoch: otherwise only replays of one kind would be first where an epoch has two.
    const bool is_marked = (epoch + in_epoch) % 2 == 1;
    if (in_epoch == 0) {
      take();
      recorder_->seek(0);
    }
    recorder_->repeat((is_marked ? marked_ : plain_).number);
    replays.push_back({is_marked, in_epoch == 0, 0});
  }
  take();
  return replays;
}

std::optional<StepBreakdown> GraphSteps::measure(DeviceTimeline& timeline, std::size_t pairs) {
  const std::vector<Replay> replays = replay_in_turn(pairs);
  slowdown_by_marks_ = mgcompare::slowdown_by_marks(replays);
  return break_down(replays, timeline.take(), body_);
}

}  // namespace mgcompare
