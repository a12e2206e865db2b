#include "runtime/graph_steps.h"

#include <algorithm>

#include "base/clock.h"

namespace mgcompare {
namespace {

// Steps of a graph: enough that the gap between two replays does not matter, few enough that capture is quick.
constexpr std::size_t kMinLength = 4, kMaxLength = 24;

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
  if (timeline != nullptr) timeline->end_round();
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

void GraphSteps::repeat(std::size_t step, std::size_t count) {
  const Key key = this->key(step, count);
  auto found = graphs_.find(key);
  if (found == graphs_.end()) found = graphs_.emplace(key, capture(step, count)).first;
  if (!running_) {
    counts_ = parts_.replica->counts();
    parts_.replica->set_counts(counts_);
    recorder_->seek(step);
  }
  running_ = true;
  recorder_->repeat(found->second.number);
  // Unsigned: the distance is negative if the graph was captured from later steps.
  const Graph& graph = found->second;
  counts_ = counts_ + graph.counts.moved(batch_of_(step).whole().begin() - graph.begin);
  bytes_ += graph.bytes;
}

std::vector<GraphRecorder::StepRecord> GraphSteps::take_finished() {
  if (!running_) return {};
  running_ = false;
  std::vector<GraphRecorder::StepRecord> records = recorder_->take_records();
  parts_.replica->set_counts(counts_);
  parts_.group->add_bytes(std::exchange(bytes_, 0));
  return records;
}

double GraphSteps::replay_seconds(const Graph& graph) {
  double seconds = 0;
  for (std::size_t round = 0; round < DeviceTimeline::kRounds; ++round) {
    recorder_->seek(0);
    recorder_->repeat(graph.number);
  }
  // Of the last replay.
  for (const GraphRecorder::StepRecord& step : recorder_->take_records()) seconds += step.seconds;
  return seconds;
}

StepBreakdown GraphSteps::measure(DeviceTimeline& timeline, StepClock& clock) {
  const Graph plain = capture(0, body_);
  const Graph marked = [&] {
    const StepClock::TimelineScope marking(clock, timeline, true);
    return capture(0, body_, &timeline);
  }();
  parts_.replica->set_counts(parts_.replica->counts());
  const double unmarked_seconds = replay_seconds(plain), marked_seconds = replay_seconds(marked);
  const std::vector<std::vector<PhaseEvent>> rounds = timeline.take();
  // Between kernels a mark costs more than in a row of marks: compare the same steps with and without marks.
  const std::vector<PhaseEvent>& last = rounds.back();
  const auto in_stream = std::count_if(last.begin(), last.end(), [](const PhaseEvent& mark) { return !mark.beside; });
  const double seconds_a_mark =
      std::max(timeline.seconds_a_mark(), in_stream == 0 ? 0 : (marked_seconds - unmarked_seconds) / static_cast<double>(in_stream));
  StepBreakdown breakdown;
  for (std::size_t round = 1; round < rounds.size(); ++round) {
    // A round starts at the last event of the round before.
    std::vector<PhaseEvent> marks = {rounds[round - 1].back()};
    marks.insert(marks.end(), rounds[round].begin(), rounds[round].end());
    const StepBreakdown one = break_down(marks, seconds_a_mark);
    breakdown.times += one.times;
    breakdown.exchanges.insert(breakdown.exchanges.end(), one.exchanges.begin(), one.exchanges.end());
  }
  breakdown.divide(static_cast<double>(body_ * (DeviceTimeline::kRounds - 1)));
  return breakdown;
}

}  // namespace mgcompare
