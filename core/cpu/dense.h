#pragma once

// A fully connected layer with the activation that follows it: oneDNN's matrix products on rows.

#include <memory>

#include "cpu/layer.h"
#include "model/spec.h"

namespace mgcompare {

// `input` must be rows.
std::unique_ptr<Layer> make_dense(const LayerSpec& spec, Activation activation, Port& input, Tensor& output);

}  // namespace mgcompare
