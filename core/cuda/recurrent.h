#pragma once

// GRU and LSTM layers by cuDNN, whose gates, biases and reset-after form are those of the CPU twins (cpu/gru.h, cpu/lstm.h).
// cuDNN reads (time, sample, feature), so the layer transposes its input and output. Only a training pass can be followed by
// a backward pass. With bf16, the layer computes in tf32.

#include <memory>

#include "config/kinds.h"
#include "cuda/layer.h"
#include "model/spec.h"

namespace mgcompare::cuda {

std::unique_ptr<Layer> make_recurrent(CudaDevice& device, const LayerSpec& spec, Precision precision, Port& input,
                                      Tensor& output);

}  // namespace mgcompare::cuda
