#pragma once

// LeNet's second convolution in tf32 (also where bf16 is set; input and output are planar and in float32): few channels, 8 x 8 output,
// 2 x 2 max pooling. A whole sample and all weights are in shared memory, tensor cores read windows of the image in place, and pooling and
// activation happen in registers.

#include <memory>

#include "cuda/convolution.h"

namespace mgcompare::cuda {

// Whether the layer has the supported shape, and the device has tensor cores and enough shared memory.
bool is_tile(CudaDevice& device, const LayerSpec& spec, const Fusion& fusion, Precision precision);

std::unique_ptr<Layer> make_tile_convolution(CudaDevice& device, const LayerSpec& spec, const Fusion& fusion, Port& input,
                                             Tensor& output);

}  // namespace mgcompare::cuda
