#pragma once

// Local response normalisation over neighbouring channels, as tf.nn.lrn: x / (offset + alpha * sum of squares)^beta.

#include <memory>

#include "cpu/layer.h"
#include "model/spec.h"

namespace mgcompare {

std::unique_ptr<Layer> make_response_norm(Device& device, const LayerSpec& spec, Port& input, Tensor& output);

}  // namespace mgcompare
