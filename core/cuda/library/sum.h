#pragma once

// The sum of several inputs by cuDNN, for networks with KernelChoice::library.

#include <memory>
#include <vector>

#include "cuda/layer.h"

namespace mgcompare::cuda::library {

// Inputs and output have the same format.
std::unique_ptr<Layer> make_sum(CudaDevice& device, std::vector<Port*> inputs, Tensor& output);

}  // namespace mgcompare::cuda::library
