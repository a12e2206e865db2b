#pragma once

// Biases by cuDNN, and their gradients by cuBLASLt, for networks with KernelChoice::library.

#include <memory>

#include "cuda/bias.h"
#include "cuda/element.h"

namespace mgcompare::cuda {
class CudaDevice;
}

namespace mgcompare::cuda::library {

// Values and gradients store `element`. Only for Activation::none.
std::unique_ptr<Bias> make_bias(CudaDevice& device, std::size_t columns, Element element);

}  // namespace mgcompare::cuda::library
