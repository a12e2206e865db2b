#pragma once

// GRU and LSTM layers, whose gates, biases and reset-after form are those of the CPU twins (cpu/gru.h, cpu/lstm.h). Consecutive layers of one
// type and width are computed together in waves (recurrent_shape.h): one product (blas.h) and one kernel for all layers of a wave. Any number
// of units and features; rows are padded to a multiple of 8 elements. Products, states and what is kept for the backward pass have the element type of the
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

// Of backward passes, also of cuDNN's layers: without samples it clears the gradients of the layers' parameters and returns false. Throws
// Error after an evaluation pass.
bool begin_recurrent_backward(CudaDevice& device, const std::vector<LayerSpec>& layers, const Work& work);

}  // namespace mgcompare::cuda
