#pragma once

// Pooling with any window, stride and padding. Max: padding is ignored, and the first of equal pixels is the maximum.
// Average: the sum over the window divided by the window's size; padding counts as zeros.
// Input and output are channels-last and of the same element type.

#include <memory>

#include "cuda/layer.h"
#include "model/spec.h"

namespace mgcompare::cuda {

std::unique_ptr<Layer> make_pooling(CudaDevice& device, const LayerSpec& spec, bool average, Port& input,
                                    Tensor& output);

}  // namespace mgcompare::cuda
