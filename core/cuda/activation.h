#pragma once

// Activations, as layers of their own where they do not follow a convolution or a dense layer.

#include <memory>

#include "cuda/layer.h"
#include "model/activation.h"

namespace mgcompare::cuda {

std::unique_ptr<Layer> make_activation(CudaDevice& device, Activation activation, Port& input, Tensor& output);

}  // namespace mgcompare::cuda
