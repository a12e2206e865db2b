#pragma once

// Mean of each channel of an image, or of each feature of a sequence over the time.

#include <memory>

#include "cpu/layer.h"
#include "model/spec.h"

namespace mgcompare {

// `input` may be blocked; `output` is stored as rows.
std::unique_ptr<Layer> make_global_pooling(const LayerSpec& spec, Port& input, Tensor& output);

}  // namespace mgcompare
