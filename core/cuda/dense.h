#pragma once

// Fully connected layer, of a whole sample or of each position of a sequence, with the activation that follows it; matrix
// products by cuBLASLt, or NarrowDense for few outputs.

#include <memory>

#include "cuda/activation.h"
#include "cuda/blas.h"
#include "cuda/layer.h"
#include "model/spec.h"

namespace mgcompare::cuda {

std::unique_ptr<Layer> make_dense(CudaDevice& device, const LayerSpec& spec, Activation activation, Precision precision,
                                  Port& input, Tensor& output);

}  // namespace mgcompare::cuda
