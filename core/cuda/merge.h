#pragma once

// Layers with several inputs: element-wise sum, and concatenation along the first axis.

#include <memory>
#include <vector>

#include "cuda/layer.h"

namespace mgcompare::cuda {

std::unique_ptr<Layer> make_sum(CudaDevice& device, std::vector<Port*> inputs, Tensor& output);
std::unique_ptr<Layer> make_concatenation(CudaDevice& device, std::vector<Port*> inputs, Tensor& output);

// to += from; if `first`, to = from.
void add_vector(CudaDevice& device, float* to, const float* from, std::size_t size, bool first);

}  // namespace mgcompare::cuda
