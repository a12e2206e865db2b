#pragma once

// Activation layers that are not fused into a preceding convolution or dense layer.

#include <memory>

#include "cpu/layer.h"
#include "model/activation.h"

namespace mgcompare {

std::unique_ptr<Layer> make_activation(Activation activation, Port& input, Tensor& output);

}  // namespace mgcompare
