#pragma once

// Evaluations within an epoch and at its end: the weights are collected and evaluated. The time counts as evaluation.

#include <cstddef>

#include "train/setup.h"
#include "train/training_state.h"

namespace mgcompare {

// Both are collective, within the evaluation phase. They throw Diverged if weights or the loss are not finite.

// After this share of the present epoch. The accuracy is added to the result of the epoch.
void evaluate_within_epoch(TrainingState& state, Setup& setup, std::size_t rank, double epochs);
// Adds the epoch to the result.
void evaluate_epoch(TrainingState& state, Setup& setup, std::size_t rank, std::size_t epoch);

}  // namespace mgcompare
