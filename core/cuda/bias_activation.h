#pragma once

// Biases by mgcompare's kernels, fused with the activation.

#include <cstddef>
#include <memory>

#include "cuda/bias.h"
#include "cuda/element.h"

namespace mgcompare::cuda {

class CudaDevice;

// Bias, activation and their gradients in one kernel each. Values and gradients store `element`.
std::unique_ptr<Bias> make_bias(CudaDevice& device, std::size_t columns, Element element);

}  // namespace mgcompare::cuda
