#pragma once

// Pooling of any window, stride and padding. Max: padding never wins, the first of equal pixels does. Average: the sum
// over the window by the window's size, padding counting as zeros.

#include <memory>

#include "cuda/layer.h"
#include "model/spec.h"

namespace mgcompare::cuda {

std::unique_ptr<Layer> make_pooling(CudaDevice& device, const LayerSpec& spec, bool average, Port& input,
                                    Tensor& output);

}  // namespace mgcompare::cuda
