#pragma once

// Convolution fused with the activation and the max pooling that follow it. The output before pooling stays in the L1
// cache and is never stored.

#include <memory>

#include "cpu/fusion.h"
#include "cpu/layer.h"
#include "model/spec.h"

namespace mgcompare {

std::unique_ptr<Layer> make_convolution(Device& device, const LayerSpec& spec, const Fusion& fusion, Port& input,
                                        Tensor& output);

}  // namespace mgcompare
