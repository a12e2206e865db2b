#pragma once

// How often a trial is evaluated.

#include <cstddef>
#include <optional>

#include "config/config.h"
#include "config/problem.h"

namespace mgcompare {

// Of a trial: its result, which is one message of the worker, has a line for each.
inline constexpr std::size_t kMostEvaluations = 100'000;

// `within_epochs`: whether `evaluate` applies, as to rows in lockstep. There is at most one evaluation for each step, and one at the end of
// each epoch.
std::size_t evaluations(const Config& config, bool within_epochs, std::size_t steps_per_epoch);

// If they are more than kMostEvaluations.
std::optional<Problem> evaluations_problem(const Config& config, bool within_epochs, std::size_t steps_per_epoch);

}  // namespace mgcompare
