#pragma once

// Softmax cross-entropy on rows of logits.

#include <cstdint>

#include "cuda/device.h"
#include "mgcompare/types.h"
#include "model/network.h"

namespace mgcompare::cuda {

// Adds loss, correct predictions and samples to `tally`. dlogits = (softmax - one hot) * scale unless it is null. Row i of
// `logits` belongs to sample order[i]; a captured step adds its position offset. A prediction is the first maximum of the
// logits. Labels must be below `classes`.
void softmax_cross_entropy(CudaDevice& device, const float* logits, std::size_t samples, std::size_t classes,
                           const std::uint32_t* order, const std::uint8_t* labels, float* dlogits, float scale,
                           DeviceTally* tally);

}  // namespace mgcompare::cuda
