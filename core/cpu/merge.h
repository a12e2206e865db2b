#pragma once

// Layers with several inputs: element-wise sum, and concatenation along the first axis.

#include <memory>
#include <vector>

#include "cpu/layer.h"

namespace mgcompare {

std::unique_ptr<Layer> make_sum(std::vector<Port*> inputs, Tensor& output);
std::unique_ptr<Layer> make_concatenation(std::vector<Port*> inputs, Tensor& output);

}  // namespace mgcompare
