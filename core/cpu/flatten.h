#pragma once

// Converts images from the blocked layout to rows of features.

#include <memory>

#include "cpu/layer.h"

namespace mgcompare {

std::unique_ptr<Layer> make_flatten(Port& input, Tensor& output);

}  // namespace mgcompare
