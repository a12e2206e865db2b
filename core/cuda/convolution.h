#pragma once

// Convolution by cuDNN, fused with the activation and the max pooling that follow it. For the backward pass only the pooled
// output and the index of the maximum in each window are stored.

#include <memory>

#include "cuda/activation.h"
#include "cuda/blas.h"
#include "cuda/layer.h"
#include "model/spec.h"

namespace mgcompare::cuda {

struct Fusion {
  Activation activation = Activation::none;
  const LayerSpec* pool = nullptr;  // max pooling with windows that do not overlap; null: none
};

// Whether `pool` can be fused into a convolution.
bool fuses(const LayerSpec& pool);

std::unique_ptr<Layer> make_convolution(CudaDevice& device, const LayerSpec& spec, const Fusion& fusion,
                                        Precision precision, bool deterministic, Port& input, Tensor& output);

}  // namespace mgcompare::cuda
