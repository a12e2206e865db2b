#include "plan/evaluations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/number_text.h"

namespace mgcompare {

std::size_t evaluations(const Config& config, bool within_epochs, std::size_t steps_per_epoch) {
  constexpr double kAlmost = 1e-9;  // 1 / 0.1 is not a whole number
  const auto due = static_cast<std::size_t>(std::ceil(1 / config.evaluate - kAlmost));
  return config.epochs * (within_epochs ? std::clamp<std::size_t>(due, 1, std::max<std::size_t>(1, steps_per_epoch)) : 1);
}

std::optional<Problem> evaluations_problem(const Config& config, bool within_epochs, std::size_t steps_per_epoch) {
  const std::size_t all = evaluations(config, within_epochs, steps_per_epoch);
  if (all <= kMostEvaluations) return std::nullopt;
  const bool are_epochs = all == config.epochs;
  return Problem{{config.path, 1, 1},
                 are_epochs ? fmt::format("{} epochs are too many: the result of a trial has at most {} evaluations", thousands(all), thousands(kMostEvaluations))
                            : fmt::format("{} epochs with `evaluate: {}` are {} evaluations: the result of a trial has at most {}", thousands(config.epochs),
                                          config.evaluate, thousands(all), thousands(kMostEvaluations)),
                 are_epochs ? "train fewer epochs" : "train fewer epochs, or evaluate less often", "", 1};
}

}  // namespace mgcompare
