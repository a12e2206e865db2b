#pragma once

// The first convolution of a small network: one input channel, 5 x 5 kernels, pooled by 2 x 2. One kernel convolves,
// pools and activates from shared memory, so that only a quarter of the outputs is ever stored. In tf32 the products run on
// the matrix units; in fp32 (and bf16, whose inputs it does not round) the weight gradient looks only at the pixels that won.

#include <memory>

#include "cuda/convolution.h"

namespace mgcompare::cuda {

bool is_stem(const LayerSpec& spec, const Fusion& fusion, const Tensor& input);

std::unique_ptr<Layer> make_stem_convolution(CudaDevice& device, const LayerSpec& spec, const Fusion& fusion,
                                             Precision precision, Port& input, Tensor& output);

}  // namespace mgcompare::cuda
