#pragma once

// x times the normal distribution function at x. Its derivative needs the input, so it is not fused into other layers.

#include <memory>

#include "cuda/layer.h"

namespace mgcompare::cuda {

std::unique_ptr<Layer> make_gelu(CudaDevice& device, Port& input, Tensor& output);

}  // namespace mgcompare::cuda
