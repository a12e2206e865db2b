#pragma once

// Activation layers that are not fused into a preceding convolution or dense layer.

#include <memory>

#include "cuda/layer.h"
#include "model/activation.h"

namespace mgcompare::cuda {

std::unique_ptr<Layer> make_activation(CudaDevice& device, Activation activation, Port& input, Tensor& output);

}  // namespace mgcompare::cuda
