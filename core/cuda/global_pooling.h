#pragma once

// Mean of each channel of an image, or of each feature of a sequence over the time.

#include <memory>

#include "cuda/layer.h"
#include "model/spec.h"

namespace mgcompare::cuda {

std::unique_ptr<Layer> make_global_pooling(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output);

}  // namespace mgcompare::cuda
