#pragma once

// Activations as layers of their own, where they do not follow a convolution or a dense layer.

#include <memory>

#include "cpu/layer.h"
#include "model/activation.h"

namespace mgcompare {

std::unique_ptr<Layer> make_activation(Activation activation, Port& input, Tensor& output);

}  // namespace mgcompare
