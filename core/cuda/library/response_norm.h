#pragma once

// Local response normalisation by cuDNN, for networks with KernelChoice::library.

#include <memory>

#include "cuda/layer.h"
#include "model/spec.h"

namespace mgcompare::cuda::library {

// Whether cuDNN has the layer: windows of at most 16 channels, an offset of at least 1e-5 and an exponent of at least 0.01.
bool normalizes(const LayerSpec& spec);

// Input and output are planar images in float32.
std::unique_ptr<Layer> make_response_norm(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output);

}  // namespace mgcompare::cuda::library
