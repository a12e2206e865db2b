#pragma once

// Batch normalisation over samples and pixels of each channel (the first axis). Training uses the mean and the biased
// variance of this rank's samples, or of all ranks' samples if synchronised, and updates the running statistics. A rank
// without samples takes part in the all-reduce only. Evaluation uses the running statistics.
//
// Of images it is fused with the activation and the max pooling that follow it: its output before them stays in the L1 cache and
// is never stored.

#include <memory>

#include "cpu/fusion.h"
#include "cpu/layer.h"
#include "model/spec.h"

namespace mgcompare {

// Without images, `fusion` must be empty.
std::unique_ptr<Layer> make_batch_norm(Device& device, const LayerSpec& spec, const Fusion& fusion, Port& input, Tensor& output);

}  // namespace mgcompare
