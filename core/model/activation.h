#pragma once

// Activation functions, which CPU and CUDA both implement.

#include "config/kinds.h"

namespace mgcompare {

enum class Activation { none, tanh, relu, sigmoid };

// Activation::none for layers of other types.
Activation activation_of(LayerType type);

}  // namespace mgcompare
