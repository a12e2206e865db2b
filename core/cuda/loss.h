#pragma once

// Softmax cross-entropy on rows of logits.

#include <cstdint>

#include "cuda/device.h"
#include "mgcompare/types.h"
#include "model/network.h"

namespace mgcompare::cuda {

// Adds loss, hits and samples of rows `logits` to `tally`; dlogits = (softmax - one hot) * scale unless it is null. Row i
// is of sample order[i], moved by the device's cursor. A sample counts as correct when its label is the first of the
// largest logits. Labels are below `classes`.
void softmax_cross_entropy(CudaDevice& device, const float* logits, std::size_t samples, std::size_t classes,
                           const std::uint32_t* order, const std::uint8_t* labels, float* dlogits, float scale,
                           DeviceTally* tally);

}  // namespace mgcompare::cuda
