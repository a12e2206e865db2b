#pragma once

// Convolution fused with the activation and the max pooling that follow it. The output before pooling stays in the L1
// cache and is never stored.

#include <memory>

#include "cpu/layer.h"
#include "model/spec.h"

namespace mgcompare {

struct Fusion {
  Activation activation = Activation::none;
  const LayerSpec* pool = nullptr;  // max pooling with windows that do not overlap; null: none
};

// Whether `pool` can be fused into a convolution.
bool fuses(const LayerSpec& pool);

std::unique_ptr<Layer> make_convolution(Device& device, const LayerSpec& spec, const Fusion& fusion, Port& input,
                                        Tensor& output);

}  // namespace mgcompare
