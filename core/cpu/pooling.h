#pragma once

// Pooling with any window, stride and padding. Max: padding is ignored, and the first of equal pixels is the maximum.
// Average: the sum over the window divided by the window's size; padding counts as zeros.

#include <memory>

#include "cpu/layer.h"
#include "model/spec.h"

namespace mgcompare {

std::unique_ptr<Layer> make_pooling(Device& device, const LayerSpec& spec, bool average, Port& input, Tensor& output);

}  // namespace mgcompare
