#pragma once

// Fully connected layer, of a whole sample or of each position of a sequence, with the activation that follows it; matrix
// products by oneDNN.

#include <memory>

#include "cpu/layer.h"
#include "model/spec.h"

namespace mgcompare {

// `input` must be stored as rows (Tensor::blocked is false).
std::unique_ptr<Layer> make_dense(const LayerSpec& spec, Activation activation, Port& input, Tensor& output);

}  // namespace mgcompare
