#pragma once

// GRU and LSTM layers by cuDNN, for networks with KernelChoice::library. Gates, biases and reset-after form are those of the CPU twins
// (cpu/gru.h, cpu/lstm.h). Consecutive layers of one type and width are computed together, so that a layer can work at a position while the layer before
// it works at the next one. cuDNN reads (time, sample, feature), so the input and the output are transposed. Weights and states
// have the element type of the input; with bf16, cuDNN adds in float32 and rounds the gradients of the weights to bf16. Only a
// training pass can be followed by a backward pass.

#include <memory>
#include <vector>

#include "config/kinds.h"
#include "cuda/layer.h"
#include "model/spec.h"

namespace mgcompare::cuda::library {

// `layers` are consecutive and read each other (fusion.h). The output has the element type of the input.
std::unique_ptr<Layer> make_recurrent(CudaDevice& device, std::vector<LayerSpec> layers, Precision precision, Port& input,
                                      Tensor& output);

}  // namespace mgcompare::cuda::library
