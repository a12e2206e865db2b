#pragma once

// The first convolution of a small network: one input channel, 5 x 5 kernels, 2 x 2 max pooling. One kernel convolves, pools
// and activates in shared memory, so that only a quarter of the outputs is stored. With tf32 the products run on tensor
// cores, and with bf16, too; input and output are planar and in float32. With fp32 the weight gradient visits only the maxima
// of the windows.

#include <memory>

#include "cuda/convolution.h"

namespace mgcompare::cuda {

bool is_stem(const LayerSpec& spec, const Fusion& fusion, const Tensor& input);

std::unique_ptr<Layer> make_stem_convolution(CudaDevice& device, const LayerSpec& spec, const Fusion& fusion,
                                             Precision precision, Port& input, Tensor& output);

}  // namespace mgcompare::cuda
