#pragma once

// GRU and LSTM layers, whose gates, biases and reset-after form are those of the CPU twins (cpu/gru.h, cpu/lstm.h). Consecutive layers of one
// type and width are computed together in waves (recurrent_shape.h): one call of cuBLASLt and one kernel for all layers of a wave. Any number
// of units and features; rows are padded to 16 bytes. Products, states and what is kept for the backward pass have the element type of the
// input; the sums of a product, the gradients of the states and those of the weights are in float32. Only a training pass can be followed by
// a backward pass.

#include <memory>
#include <vector>

#include "config/kinds.h"
#include "cuda/layer.h"
#include "model/spec.h"

namespace mgcompare::cuda {

// `layers` are consecutive and read each other (fusion.h). The output has the element type of the input.
std::unique_ptr<Layer> make_recurrent(CudaDevice& device, std::vector<LayerSpec> layers, Precision precision, Port& input,
                                      Tensor& output);

}  // namespace mgcompare::cuda
