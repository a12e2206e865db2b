#include "recorded_steps.h"

#include <algorithm>

namespace mgcompare {
namespace {

// Enough that the pause between two repetitions does not count, few enough that recording is quick.
constexpr std::size_t kLeast = 4, kMost = 24;

// How many steps make a repetition: of the whole periods between these bounds, what leaves least of an epoch to the host.
std::size_t best_length(std::size_t full, std::size_t period) {
  const std::size_t shortest = (kLeast + period - 1) / period * period;
  std::size_t best = shortest;
  for (std::size_t length = shortest; length <= std::max(kMost, shortest); length += period)
    if (length <= full && full % length <= full % best) best = length;
  return best;
}

}  // namespace

RecordedSteps::RecordedSteps(std::unique_ptr<Recorder> recorder, const StepParts& parts, const Traits& traits,
                             std::size_t steps_per_epoch)
    : recorder_(std::move(recorder)), parts_(parts), period_(static_cast<std::size_t>(traits.repeats_every)),
      phases_(traits.phases), steps_per_epoch_(steps_per_epoch) {}

std::size_t RecordedSteps::phase_of(std::size_t step) const {
  const std::size_t from_start = epoch_ * steps_per_epoch_ + step;
  return static_cast<std::size_t>(
      std::count_if(phases_.begin(), phases_.end(), [&](std::size_t begin) { return begin <= from_start; }));
}

void RecordedSteps::begin_epoch(std::size_t epoch, std::size_t full,
                                const std::function<Batch(std::size_t step)>& batch_of) {
  epoch_ = epoch;
  full_ = full;
  if (!recorded_) length_ = best_length(full, period_);
  batch_of_ = batch_of;
  std::vector<std::uint32_t> begins;
  std::vector<float> rates;
  for (std::size_t step = 0; step < full; ++step) {
    const Batch batch = batch_of(step);
    begins.push_back(static_cast<std::uint32_t>(batch.whole().begin()));
    rates.push_back(static_cast<float>(batch.learning_rate()));
  }
  recorder_->begin_epoch(epoch, begins, rates);
}

bool RecordedSteps::ready(std::size_t step, std::size_t made) {
  if (const std::size_t phase = phase_of(step); phase != phase_) {
    phase_ = phase;
    phase_begins_ = made;
    recorded_ = false;
    length_ = best_length(full_, period_);
  }
  // The first period runs unrecorded: libraries may still allocate and choose in it.
  if (made < phase_begins_ + period_ || step + length_ > full_ || phase_of(step + length_ - 1) != phase_) return false;
  return !recorded_ || (made - recorded_at_) % period_ == 0;
}

void RecordedSteps::record(std::size_t step, std::size_t made) {
  parts_.replica->device().synchronize();
  parts_.gate->wait();
  const RankReplica::Counts before = parts_.replica->counts();
  const std::uint64_t bytes = parts_.group->traffic().bytes;
  recorder_->begin();
  for (std::size_t k = 0; k < length_; ++k) {
    const Batch batch = batch_of_(step + k);
    recorder_->begin_step(step + k);
    parts_.replica->begin_step(batch);
    parts_.strategy->step(*parts_.replica, *parts_.group, batch);
    recorder_->end_step();
  }
  recorder_->end();
  replica_counts_ = parts_.replica->counts() - before;
  bytes_ = parts_.group->traffic().bytes - bytes;
  // What was recorded has not run yet.
  parts_.replica->set_counts(before);
  parts_.group->add_bytes(0 - bytes_);
  recorded_ = true;
  recorded_at_ = made;
  parts_.gate->wait();
}

void RecordedSteps::repeat(std::size_t step, std::size_t made) {
  if (!recorded_) record(step, made);
  if (!running_) {
    parts_.replica->set_counts(parts_.replica->counts());
    recorder_->seek(step);
  }
  running_ = true;
  recorder_->repeat();
  ++repeats_;
}

std::vector<Recorder::StepRecord> RecordedSteps::settle() {
  if (!running_) return {};
  running_ = false;
  std::vector<Recorder::StepRecord> records = recorder_->take_records();
  parts_.replica->set_counts(parts_.replica->counts() + replica_counts_ * repeats_);
  parts_.group->add_bytes(bytes_ * repeats_);
  repeats_ = 0;
  return records;
}

}  // namespace mgcompare
