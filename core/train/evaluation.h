#pragma once

// Evaluates given weights. Does not change the state of the training.

#include "mgcompare/types.h"
#include "model/network.h"

namespace mgcompare {

// Samples per forward pass of an evaluation.
inline constexpr std::size_t kEvaluationBatch = 500;

// Returns the loss and the number of correct answers of `weights` on the samples of the range. Waits for the device.
Tally evaluate(Network& network, Feed& feed, Range samples, ConstVec weights);

}  // namespace mgcompare
