#include "measure/step_sampler.h"

#include <cmath>
#include <utility>

#include "base/clock.h"

namespace mgcompare {
namespace {

// Multiples of it are spread evenly over [0, 1), in every residue class of the multiplier, too.
constexpr double kGoldenRatio = 0.6180339887498949;

}  // namespace

bool StepSampler::is_due(std::size_t made) const {
  const double turns = static_cast<double>(made) * kGoldenRatio;
  return made > 0 && turns - std::floor(turns) < 1 / static_cast<double>(every_);
}

StepSampler::Scope::Scope(StepSampler& sampler, StepClock& clock)
    : sampler_(sampler), clock_(clock), marking_(clock, *sampler.timeline_, false) {
  sampler.timeline_->mark(Phase::outside);
  clock.keep_spans(now());
}

StepSampler::Scope::~Scope() {
  sampler_.spans_.push_back(clock_.take_spans(now()));
  sampler_.timeline_->end_round();
}

std::optional<StepBreakdown> StepSampler::take() {
  const std::vector<std::vector<StepClock::Span>> spans = std::exchange(spans_, {});
  if (spans.empty()) return std::nullopt;
  const std::vector<std::vector<PhaseEvent>> rounds = timeline_->take();
  if (rounds.size() < spans.size()) return std::nullopt;
  for (std::size_t k = 0; k < spans.size(); ++k) {
    // An event is no work of the device: nothing is subtracted.
    const StepBreakdown step = break_down(rounds[k], 0, spans[k], ahead_);
    sum_.times += step.times;
    sum_.exchanges.insert(sum_.exchanges.end(), step.exchanges.begin(), step.exchanges.end());
  }
  measured_ += spans.size();
  StepBreakdown mean = sum_;
  if (others_ > 0) mean.fit(seconds_of_others_ / static_cast<double>(others_) * static_cast<double>(measured_));
  mean.divide(static_cast<double>(measured_));
  return mean;
}

}  // namespace mgcompare
