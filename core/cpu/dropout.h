#pragma once

// Inverted dropout: training scales kept units by 1 / (1 - rate); evaluation copies its input.

#include <memory>

#include "cpu/layer.h"
#include "model/spec.h"

namespace mgcompare {

// `index` is the layer's number in the network; it seeds the mask.
std::unique_ptr<Layer> make_dropout(Device& device, const LayerSpec& spec, std::size_t index, Port& input,
                                    Tensor& output);

}  // namespace mgcompare
