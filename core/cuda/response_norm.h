#pragma once

// Local response normalisation over neighbouring channels, as tf.nn.lrn: x / (offset + alpha * sum of squares)^beta.
// Images are channels-last, in float32.

#include <memory>

#include "cuda/layer.h"
#include "model/spec.h"

namespace mgcompare::cuda {

std::unique_ptr<Layer> make_response_norm(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output);

}  // namespace mgcompare::cuda
