#pragma once

// Batch normalisation over samples and pixels of each channel (the first axis). In training it uses the mean and the
// biased variance of this rank's samples, or of all ranks' when they are synchronised, and moves the running statistics
// towards them; a rank without samples takes part in the sums and learns nothing. Evaluation uses the running ones.

#include <memory>

#include "cuda/layer.h"
#include "model/spec.h"

namespace mgcompare::cuda {

std::unique_ptr<Layer> make_batch_norm(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output);

}  // namespace mgcompare::cuda
