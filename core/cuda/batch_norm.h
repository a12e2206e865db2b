#pragma once

// Batch normalisation over samples and pixels of each channel (the first axis). Training uses the mean and the biased
// variance of this rank's samples, or of all ranks' samples if synchronised, and updates the running statistics. A rank
// without samples takes part in the all-reduce only. Evaluation uses the running statistics.
// A sum with another layer's output and an activation that follow are computed in the same pass; without a sum, the backward pass computes
// the activation again, so that its input is not stored. Input and output are channels-last and of the same element type; sums and
// statistics are float32.

#include <memory>
#include <vector>

#include "cuda/fusion.h"
#include "cuda/layer.h"
#include "model/spec.h"

namespace mgcompare::cuda {

// `before`: what the layer before leaves to this one, which also computes the gradient of that bias. A bias without an activation matters
// for the running mean only, because normalisation subtracts it again with the mean; its gradient in training is zero.
// The inputs are what is normalised and, optionally, what is added to the result before `activation`.
std::unique_ptr<Layer> make_batch_norm(CudaDevice& device, const LayerSpec& spec, const Unfinished& before, Activation activation,
                                       std::vector<Port*> inputs, Tensor& output);

}  // namespace mgcompare::cuda
