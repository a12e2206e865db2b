#pragma once

// Convolution, with the activation and the max pooling that follow it in one layer: what lies between them stays in the
// first-level cache and is never stored.

#include <memory>

#include "cpu/layer.h"
#include "model/spec.h"

namespace mgcompare {

struct Fusion {
  Activation activation = Activation::none;
  const LayerSpec* pool = nullptr;  // max pooling by windows that do not overlap, or none
};

// Whether `pool` can be part of a convolution.
bool fuses(const LayerSpec& pool);

std::unique_ptr<Layer> make_convolution(Device& device, const LayerSpec& spec, const Fusion& fusion, Port& input,
                                        Tensor& output);

}  // namespace mgcompare
