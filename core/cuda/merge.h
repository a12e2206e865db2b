#pragma once

// Layers with several inputs: element-wise sum with an activation, and concatenation along the first axis (of an image, its channels). All tensors
// of a layer have the same format.

#include <memory>
#include <vector>

#include "cuda/activation.h"
#include "cuda/layer.h"

namespace mgcompare::cuda {

std::unique_ptr<Layer> make_sum(CudaDevice& device, Activation activation, std::vector<Port*> inputs, Tensor& output);
std::unique_ptr<Layer> make_concatenation(CudaDevice& device, std::vector<Port*> inputs, Tensor& output);

// to = from.
void copy_vector(CudaDevice& device, Element element, void* to, const void* from, std::size_t size);
// to = (a + b) times the activation's derivative at its output y; `to` may be one of them.
void add_gradients(CudaDevice& device, Element element, void* to, const void* a, const void* b, std::size_t size, Activation activation,
                   const void* y);

}  // namespace mgcompare::cuda
