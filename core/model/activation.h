#pragma once

// The activations that both kinds of device have.

#include <string_view>

namespace mgcompare {

enum class Activation { none, tanh, relu, sigmoid };

// Activation::none for every other type of layer.
Activation activation_of(std::string_view type);

}  // namespace mgcompare
