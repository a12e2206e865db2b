#pragma once

// Which rank gets other samples than its own, to see whether the model of all ranks depends on it.

#include <cstddef>
#include <string>

#include "check/verify_scope.h"

namespace mgcompare {

// One rank gets other samples than its own, in one of its steps in the first epoch.
struct Alteration {
  int rank = 0;
  std::size_t step = 0;
};

// How many trainings with each optimiser are altered. With all optimisers of the scope together every rank is, and even and
// odd steps are: a model that ignores one rank, or every second step, is detected with certainty.
std::size_t alterations_of(const VerifyScope& scope, int ranks);

// The one with this number, below alterations_of(). The step is drawn from the seed.
Alteration alteration_of(const VerifyScope& scope, const std::string& optimizer, int ranks, bool is_brief, std::size_t number);

}  // namespace mgcompare
