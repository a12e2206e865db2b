#pragma once

// Evaluates given weights. Does not change the state of the training.

#include <cstddef>

#include "mgcompare/types.h"
#include "model/network.h"
#include "model/spec.h"

namespace mgcompare {

// Samples per forward pass of an evaluation, for a rank whose steps have up to `step` samples. An evaluation should not need much
// more memory than a step: where the activations of 500 samples are large, it has fewer, but as many as a step.
std::size_t evaluation_batch(const NetworkSpec& spec, std::size_t step);

// Returns the loss and the number of correct answers of `weights` on the samples of the range, `batch` in each pass. Waits for
// the device.
Tally evaluate(Network& network, Feed& feed, Range samples, std::size_t batch, ConstVec weights);

}  // namespace mgcompare
