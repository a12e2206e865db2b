#pragma once

// Normalises each sample by its own mean and biased variance: an image over all its values, with a scale and a shift for each
// channel; anything else over the features (the last axis), each with its own. Samples do not depend on each other.

#include <memory>

#include "cpu/layer.h"
#include "model/spec.h"

namespace mgcompare {

std::unique_ptr<Layer> make_layer_norm(const LayerSpec& spec, Port& input, Tensor& output);

}  // namespace mgcompare
