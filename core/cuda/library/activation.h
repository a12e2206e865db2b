#pragma once

// Activation functions by cuDNN, for networks with KernelChoice::library.

#include <memory>

#include "cuda/layer.h"

namespace mgcompare::cuda::library {

// Input and output have the same format.
std::unique_ptr<Layer> make_activation(CudaDevice& device, Activation activation, Port& input, Tensor& output);

}  // namespace mgcompare::cuda::library
