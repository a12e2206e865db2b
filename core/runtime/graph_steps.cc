#include "runtime/graph_steps.h"

#include <algorithm>

#include "base/clock.h"

namespace mgcompare {
namespace {

// Enough that the pause between two repetitions does not count, few enough that recording is quick.
constexpr std::size_t kLeast = 4, kMost = 24;

// How many of these steps make a repetition: of the whole periods between the bounds, what leaves least to the host.
std::size_t best_length(std::size_t steps, std::size_t period) {
  const std::size_t shortest = (kLeast + period - 1) / period * period;
  std::size_t best = shortest;
  for (std::size_t length = shortest; length <= std::max(kMost, shortest); length += period)
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
  // Where the ends of epochs have recordings, only the first leaves steps to the host, and begins with a period of them.
  const bool ends_alike = steps % period_ == 0;
  body_ = best_length(ends_alike && full > period_ ? full - period_ : full, period_);
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
  // The first period, and the first ragged batch, run unrecorded, in each stage: libraries may still allocate and choose
  // in them. A recording begins where a period does, so that what a strategy gathers over a period is the same in each
  // repetition.
  const Stage stage = stage_of(step);
  if (made < period_ || made % period_ != 0) return 0;
  if (stage.number > 0 && epoch_ * steps_ + step < stage.begin + period_) return 0;
  if (step + body_ <= full_) return stage_of(step + body_ - 1).number == stage.number ? body_ : 0;
  // The end of an epoch has a recording of its own where every epoch ends alike.
  const bool seen = epochs_ > 1 && (stage.number == 0 || stage.begin < epoch_ * steps_);
  return seen && steps_ % period_ == 0 ? steps_ - step : 0;
}

GraphSteps::Key GraphSteps::key(std::size_t step, std::size_t length) const {
  return {stage_of(step).number, length, step + length > full_ || length != body_};
}

GraphSteps::Recording GraphSteps::record(std::size_t step, std::size_t length, DeviceTimeline* timeline) {
  const StepClock::Paused paused;
  parts_.replica->device().synchronize();
  parts_.barrier->wait();
  const double start = now();
  const RankReplica::Counts before = parts_.replica->counts();
  const std::uint64_t bytes = parts_.group->bytes();
  Recording made;
  recorder_->begin();
  for (std::size_t k = 0; k < length; ++k) {
    const Batch batch = batch_of_(step + k);
    recorder_->begin_step(step + k);
    parts_.replica->begin_step(batch);
    {
      const StepClock::In in(Phase::strategy);
      parts_.strategy->step(*parts_.replica, *parts_.group, batch);
    }
    recorder_->end_step();
  }
  if (timeline != nullptr) timeline->end_round();
  made.number = recorder_->end();
  made.counts = parts_.replica->counts() - before;
  made.bytes = parts_.group->bytes() - bytes;
  // What was recorded has not run yet; what is queued has.
  parts_.replica->set_counts(running_ ? counts_ : before);
  parts_.group->add_bytes(0 - made.bytes);
  parts_.barrier->wait();
  recording_seconds_ += now() - start;
  return made;
}

void GraphSteps::repeat(std::size_t step, std::size_t count) {
  const Key key = this->key(step, count);
  auto found = recordings_.find(key);
  if (found == recordings_.end()) found = recordings_.emplace(key, record(step, count)).first;
  if (!running_) {
    counts_ = parts_.replica->counts();
    parts_.replica->set_counts(counts_);
    recorder_->seek(step);
  }
  running_ = true;
  recorder_->repeat(found->second.number);
  counts_ = counts_ + found->second.counts;
  bytes_ += found->second.bytes;
}

std::vector<GraphRecorder::StepRecord> GraphSteps::settle() {
  if (!running_) return {};
  running_ = false;
  std::vector<GraphRecorder::StepRecord> records = recorder_->take_records();
  parts_.replica->set_counts(counts_);
  parts_.group->add_bytes(std::exchange(bytes_, 0));
  return records;
}

double GraphSteps::seconds_repeating(const Recording& recording) {
  double seconds = 0;
  for (std::size_t round = 0; round < DeviceTimeline::kRounds; ++round) {
    recorder_->seek(0);
    recorder_->repeat(recording.number);
  }
  // Of the last repetition.
  for (const GraphRecorder::StepRecord& step : recorder_->take_records()) seconds += step.seconds;
  return seconds;
}

StepBreakdown GraphSteps::read(DeviceTimeline& timeline, StepClock& clock) {
  const Recording plain = record(0, body_);
  const Recording marked = [&] {
    const StepClock::Marked marking(clock, timeline, true);
    return record(0, body_, &timeline);
  }();
  parts_.replica->set_counts(parts_.replica->counts());
  const double without = seconds_repeating(plain), with = seconds_repeating(marked);
  const std::vector<std::vector<PhaseEvent>> rounds = timeline.take();
  // Between kernels a mark costs more than in a row of marks: what the same steps take longer with them.
  const std::vector<PhaseEvent>& last = rounds.back();
  const auto own = std::count_if(last.begin(), last.end(), [](const PhaseEvent& mark) { return !mark.beside; });
  const double seconds_a_mark =
      std::max(timeline.seconds_a_mark(), own == 0 ? 0 : (with - without) / static_cast<double>(own));
  StepBreakdown reading;
  for (std::size_t round = 1; round < rounds.size(); ++round) {
    // From the end of the last repetition on.
    std::vector<PhaseEvent> marks = {rounds[round - 1].back()};
    marks.insert(marks.end(), rounds[round].begin(), rounds[round].end());
    const StepBreakdown one = break_down(marks, seconds_a_mark);
    reading.times += one.times;
    reading.exchanges.insert(reading.exchanges.end(), one.exchanges.begin(), one.exchanges.end());
  }
  reading.divide(static_cast<double>(body_ * (DeviceTimeline::kRounds - 1)));
  return reading;
}

}  // namespace mgcompare
