#pragma once

// x times the normal distribution function at x. Its derivative needs the input, so it is not fused into other layers.

#include <memory>

#include "cpu/layer.h"

namespace mgcompare {

std::unique_ptr<Layer> make_gelu(Port& input, Tensor& output);

}  // namespace mgcompare
