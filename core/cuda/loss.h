#pragma once

// Softmax cross-entropy on rows of logits.

#include <cstdint>

#include "cuda/device.h"
#include "mgcompare/types.h"
#include "model/network.h"

namespace mgcompare::cuda {

// The targets of a pass in device memory: of sample order[i], from `targets` + order[i] * per_sample on. A captured step adds its
// position offset to i.
struct TargetRows {
  const std::uint32_t* order = nullptr;
  const std::uint32_t* targets = nullptr;
  std::size_t samples = 0;
  std::size_t per_sample = 1;
};

// Adds loss, correct predictions and predictions to `tally`. dlogits = (softmax - one hot) * scale unless it is null. `logits` has
// one row for each target. A prediction is the first maximum of the logits. Targets must be below `classes`.
void softmax_cross_entropy(CudaDevice& device, const float* logits, const TargetRows& rows, std::size_t classes, float* dlogits,
                           float scale, DeviceTally* tally);

}  // namespace mgcompare::cuda
