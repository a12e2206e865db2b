#pragma once

// Layers that read the tokens of the sample: a row of a trained table, or of the unit matrix, for each. A value that is no
// token gives NaN, so that it shows in the loss.

#include <memory>

#include "cuda/layer.h"
#include "model/spec.h"

namespace mgcompare::cuda {

std::unique_ptr<Layer> make_embedding(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output);
std::unique_ptr<Layer> make_one_hot(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output);

}  // namespace mgcompare::cuda
