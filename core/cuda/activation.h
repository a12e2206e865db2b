#pragma once

// Activations as passes of their own, and layers that are not fused into the layer before.

#include <cstddef>
#include <memory>

#include "cuda/layer.h"
#include "model/activation.h"

namespace mgcompare::cuda {

// y = activation(x), which may be the same memory.
void activate(CudaDevice& device, Activation activation, Element element, const void* x, void* y, std::size_t size);
// to = gradient times the activation's derivative at its output y; `to` may be `gradient`.
void activate_backward(CudaDevice& device, Activation activation, Element element, const void* y, const void* gradient, void* to,
                       std::size_t size);

std::unique_ptr<Layer> make_activation(CudaDevice& device, Activation activation, Port& input, Tensor& output);

}  // namespace mgcompare::cuda
