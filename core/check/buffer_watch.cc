#include "check/buffer_watch.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mgcompare {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// The sum over the ranks and the division, in units of half the distance of two floats.
constexpr double kRounding = 16 * 0.5 * std::numeric_limits<float>::epsilon();

}  // namespace

BufferWatch::BufferWatch(std::size_t ranks, bool is_lockstep, std::vector<double> momentum)
    : is_lockstep_(is_lockstep), momentum_(std::move(momentum)), least_(momentum_.size(), kInfinity), most_(momentum_.size(), -kInfinity),
      largest_(momentum_.size()), steps_(ranks), made_(ranks) {
  for (std::size_t rank = 0; rank < ranks; ++rank) begin_step(rank);
}

void BufferWatch::begin_step(std::size_t rank) {
  steps_[rank].push_back({std::vector<double>(momentum_.size(), 1), std::vector<double>(momentum_.size(), 0)});
}

void BufferWatch::begin(const Values& values) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < values.size(); ++i) {
    least_[i] = std::min(least_[i], static_cast<double>(values[i]));
    most_[i] = std::max(most_[i], static_cast<double>(values[i]));
  }
  grow();
}

void BufferWatch::grow() {
  for (std::size_t i = 0; i < largest_.size(); ++i)
    largest_[i] = std::max({largest_[i], std::abs(least_[i]), std::abs(most_[i])});
}

void BufferWatch::pass(std::size_t rank, const Values& before, const Values& after) {
  if (after == before) return;  // it had no samples
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < after.size(); ++i) {
    const double momentum = momentum_[i];
    const double added = static_cast<double>(after[i]) - momentum * static_cast<double>(before[i]);
    if (is_lockstep_) {
      Step& step = steps_[rank].back();
      step.factor[i] *= momentum;
      step.offset[i] = momentum * step.offset[i] + added;
    } else if (momentum < 1) {
      least_[i] = std::min(least_[i], added / (1 - momentum));
      most_[i] = std::max(most_[i], added / (1 - momentum));
    }
  }
  if (!is_lockstep_) grow();
}

void BufferWatch::end_step(std::size_t rank) {
  const std::lock_guard lock(mutex_);
  ++made_[rank];
  begin_step(rank);
  while (std::all_of(made_.begin(), made_.end(), [this](std::size_t made) { return made > folded_; })) fold();
}

void BufferWatch::fold() {
  std::vector<double> least(least_.size(), kInfinity), most(most_.size(), -kInfinity);
  for (std::deque<Step>& steps : steps_) {
    const Step& step = steps.front();
    for (std::size_t i = 0; i < least.size(); ++i) {
      least[i] = std::min(least[i], step.factor[i] * least_[i] + step.offset[i]);
      most[i] = std::max(most[i], step.factor[i] * most_[i] + step.offset[i]);
    }
    steps.pop_front();
  }
  least_ = std::move(least);
  most_ = std::move(most);
  ++folded_;
  grow();
  judge_waiting();
}

void BufferWatch::judge(std::size_t rank, const Values& values) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back({is_lockstep_ ? made_[rank] : 0, values});
  judge_waiting();
}

void BufferWatch::judge_waiting() {
  for (const Judged& judged : waiting_)
    if (judged.step == folded_) compare(judged.values);
  std::erase_if(waiting_, [this](const Judged& judged) { return judged.step == folded_; });
}

void BufferWatch::compare(const Values& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = static_cast<double>(values[i]);
    const double outside = std::max(least_[i] - value, value - most_[i]);
    if (outside <= 0) continue;
    const double steps = std::min(1 / (1 - momentum_[i]), is_lockstep_ ? static_cast<double>(folded_ + 1) : kInfinity);
    // Not finite where nothing but zero is possible, and where the value is not finite.
    const double excess = outside / (kRounding * steps * largest_[i]);
    excess_ = std::isfinite(excess) ? std::max(excess_, excess) : kInfinity;
  }
}

double BufferWatch::largest_excess() const {
  const std::lock_guard lock(mutex_);
  return excess_;
}

}  // namespace mgcompare
