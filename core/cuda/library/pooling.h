#pragma once

// Pooling by cuDNN, for networks with KernelChoice::library. As in cuda/pooling.h: max ignores padding, average divides by the window's
// size. Input and output are channels-last images of the same element type.

#include <memory>

#include "cuda/layer.h"
#include "model/spec.h"

namespace mgcompare::cuda::library {

std::unique_ptr<Layer> make_pooling(CudaDevice& device, const LayerSpec& spec, bool average, Port& input, Tensor& output);

// The mean over the pixels of a channels-last image, or over the positions of a sequence (sample, position, feature).
std::unique_ptr<Layer> make_global_pooling(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output);

}  // namespace mgcompare::cuda::library
