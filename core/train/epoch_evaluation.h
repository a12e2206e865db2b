#pragma once

// End of an epoch: collects and evaluates the final weights. The time counts as evaluation.

#include <cstddef>

#include "train/setup.h"
#include "train/training_state.h"

namespace mgcompare {

// Collective, within the evaluation phase. Throws Diverged if weights or the loss are not finite.
void evaluate_epoch(TrainingState& state, Setup& setup, std::size_t rank, std::size_t epoch);

}  // namespace mgcompare
