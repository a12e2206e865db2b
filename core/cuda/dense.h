#pragma once

// Fully connected layer, of a whole sample or of each position of a sequence, with the activation that follows it; matrix
// products by cuBLASLt, or NarrowDense for few outputs.

#include <memory>

#include "cuda/activation.h"
#include "cuda/layer.h"
#include "model/network.h"
#include "model/spec.h"

namespace mgcompare::cuda {

// The element type of the output: float32 of few outputs, which NarrowDense computes unless the libraries do, otherwise `factors`.
Element dense_output(const LayerSpec& spec, Element factors, KernelChoice kernels);

// The input stores the type of the products' factors. A flattened image may be channels-last: the weights are then reordered
// for the products, instead of the image. The output stores dense_output() or float32.
std::unique_ptr<Layer> make_dense(CudaDevice& device, const LayerSpec& spec, Activation activation, const Numerics& numerics,
                                  Port& input, Tensor& output);

}  // namespace mgcompare::cuda
