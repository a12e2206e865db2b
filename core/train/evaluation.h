#pragma once

// How well given weights answer, without a trace in the training.

#include "mgcompare/types.h"
#include "model/network.h"

namespace mgcompare {

// Samples of one forward pass of an evaluation.
inline constexpr std::size_t kEvaluationBatch = 500;

// Loss and correct answers of `weights` on the samples of the range.
Tally evaluate(Network& network, Feed& feed, Range samples, ConstVec weights);

}  // namespace mgcompare
