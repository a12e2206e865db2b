#pragma once

// The end of an epoch: the weights that the strategy stands by, and how good they are. Its clock is the evaluation's.

#include <cstddef>

#include "train/setup.h"
#include "train/training_state.h"

namespace mgcompare {

// Every rank calls it. Throws Diverged where weights or loss are not finite.
void evaluate_epoch(TrainingState& state, Setup& setup, std::size_t rank, std::size_t epoch);

}  // namespace mgcompare
