#pragma once

// Layers that read the tokens of the sample: a row of a trained table, or of the unit matrix, for each. A value that is no
// token gives NaN, so that it shows in the loss.

#include <memory>

#include "cpu/layer.h"
#include "model/spec.h"

namespace mgcompare {

std::unique_ptr<Layer> make_embedding(const LayerSpec& spec, Port& input, Tensor& output);
std::unique_ptr<Layer> make_one_hot(const LayerSpec& spec, Port& input, Tensor& output);

}  // namespace mgcompare
