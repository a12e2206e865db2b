#pragma once

// A convolution of few channels onto an 8 x 8 image, pooled by 2 x 2, in tf32: the second one of LeNet. All of a sample
// and all weights lie in shared memory, the matrix units read windows of the image in place, and pooling and activation
// happen in registers.

#include <memory>

#include "cuda/convolution.h"

namespace mgcompare::cuda {

// Also asks whether the device has the matrix units and the shared memory.
bool is_tile(CudaDevice& device, const LayerSpec& spec, const Fusion& fusion, Precision precision);

std::unique_ptr<Layer> make_tile_convolution(CudaDevice& device, const LayerSpec& spec, const Fusion& fusion, Port& input,
                                             Tensor& output);

}  // namespace mgcompare::cuda
