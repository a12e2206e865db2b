#pragma once

// Changes the format of a tensor: between planar and channels-last images, and between element types.

#include <memory>

#include "cuda/layer.h"

namespace mgcompare::cuda {

// The output has the features and channels of the input.
std::unique_ptr<Layer> make_conversion(CudaDevice& device, Port& input, Tensor& output);

}  // namespace mgcompare::cuda
