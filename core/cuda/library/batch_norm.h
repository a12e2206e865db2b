#pragma once

// Batch normalisation by cuDNN, for networks with KernelChoice::library. Statistics as in cuda/batch_norm.h. cuDNN has no sums over
// ranks in its functions of single layers: synchronised batch normalisation is that of cuda/batch_norm.h.

#include <memory>

#include "cuda/layer.h"
#include "model/spec.h"

namespace mgcompare::cuda::library {

// Input and output are channels-last and of the same element type.
std::unique_ptr<Layer> make_batch_norm(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output);

}  // namespace mgcompare::cuda::library
