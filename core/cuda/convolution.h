#pragma once

// Convolution by cuDNN on channels-last images, fused with the activation, the max pooling and the dropout that follow it. For the backward
// pass only the pooled output and the index of the maximum in each window are stored.

#include <memory>

#include "cuda/fusion.h"
#include "cuda/layer.h"
#include "model/network.h"
#include "model/spec.h"

namespace mgcompare::cuda {

// Whether the layer reads the planar samples themselves, in float32.
bool reads_samples(const LayerSpec& spec, const Tensor& input, KernelChoice kernels);

// Unless it reads samples, the input has the format of the output, which is channels-last and stores the type of the products'
// factors. `index`: of the layer in the network.
std::unique_ptr<Layer> make_convolution(CudaDevice& device, const LayerSpec& spec, const Fusion& fusion, std::size_t index,
                                        const Numerics& numerics, Port& input, Tensor& output);

}  // namespace mgcompare::cuda
