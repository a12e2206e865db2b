#pragma once

// Mean of each channel of a channels-last image over its pixels, or of each feature of a sequence over the time.

#include <memory>

#include "cuda/layer.h"
#include "model/spec.h"

namespace mgcompare::cuda {

std::unique_ptr<Layer> make_global_pooling(CudaDevice& device, Port& input, Tensor& output);

}  // namespace mgcompare::cuda
