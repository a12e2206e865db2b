#pragma once

// Batch normalisation over samples and pixels of each channel (the first axis). Training uses the mean and the biased
// variance of this rank's samples, or of all ranks' samples if synchronised, and updates the running statistics. A rank
// without samples takes part in the all-reduce only. Evaluation uses the running statistics.

#include <memory>

#include "cpu/layer.h"
#include "model/spec.h"

namespace mgcompare {

std::unique_ptr<Layer> make_batch_norm(Device& device, const LayerSpec& spec, Port& input, Tensor& output);

}  // namespace mgcompare
