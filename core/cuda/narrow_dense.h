#pragma once

// A dense layer of few outputs, as classifiers end with: product, bias and activation in one kernel. A matrix product this
// narrow gives cuBLASLt a tile or two for the whole GPU.

#include <cstddef>

#include "activation.h"
#include "device.h"

namespace mgcompare::cuda {

inline constexpr std::size_t kNarrow = 16;

// out (samples, outputs) = activation(in (samples, inputs) times weights (outputs, inputs) turned round, + bias), in fp32
// whatever the layer's precision is. At most kNarrow outputs; bias may be null.
void narrow_forward(CudaDevice& device, Activation activation, const float* in, const float* weights, const float* bias,
                    float* out, std::size_t samples, std::size_t inputs, std::size_t outputs);

}  // namespace mgcompare::cuda
