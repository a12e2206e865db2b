#pragma once

// Batch normalisation over samples and pixels of each channel (the first axis). Training uses the mean and the biased
// variance of this rank's samples, or of all ranks' samples if synchronised, and updates the running statistics. A rank
// without samples takes part in the all-reduce only. Evaluation uses the running statistics.
// An activation that follows is fused: the backward pass computes it again, so that its input is not stored. Input and output are
// channels-last and of the same element type; sums and statistics are float32.

#include <memory>

#include "cuda/activation.h"
#include "cuda/layer.h"
#include "model/spec.h"

namespace mgcompare::cuda {

// `bias`, unless empty, is the range of the bias of the layer before, which does not add it: normalisation subtracts it again with
// the mean, so that it matters for the running mean only, and its gradient in training is zero. The layer handles both.
std::unique_ptr<Layer> make_batch_norm(CudaDevice& device, const LayerSpec& spec, const Range& bias, Activation activation,
                                       Port& input, Tensor& output);

}  // namespace mgcompare::cuda
