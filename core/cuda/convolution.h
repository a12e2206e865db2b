#pragma once

// Convolution by cuDNN, with the activation and the max pooling that follow it in one layer: only what was pooled, and
// which pixel won, is kept for the backward pass.

#include <memory>

#include "cuda/activation.h"
#include "cuda/blas.h"
#include "cuda/layer.h"
#include "model/spec.h"

namespace mgcompare::cuda {

struct Fusion {
  Activation activation = Activation::none;
  const LayerSpec* pool = nullptr;  // max pooling by windows that do not overlap, or none
};

// Whether `pool` can be part of a convolution.
bool fuses(const LayerSpec& pool);

std::unique_ptr<Layer> make_convolution(CudaDevice& device, const LayerSpec& spec, const Fusion& fusion,
                                        Precision precision, bool deterministic, Port& input, Tensor& output);

}  // namespace mgcompare::cuda
