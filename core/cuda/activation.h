#pragma once

// Activations, as layers of their own where they do not follow a convolution or a dense layer.

#include <memory>
#include <string>

#include "layer.h"

namespace mgcompare::cuda {

enum class Activation { none, tanh, relu, sigmoid };

// Activation::none for every other type of layer.
Activation activation_of(const std::string& type);

std::unique_ptr<Layer> make_activation(CudaDevice& device, Activation activation, Port& input, Tensor& output);

}  // namespace mgcompare::cuda
