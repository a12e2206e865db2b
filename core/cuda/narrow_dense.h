#pragma once

// Dense layer with few outputs, such as the last layer of a classifier. One kernel computes product, bias and activation, one
// the gradients of weights and bias, one that of the input. cuBLASLt splits so narrow a product into one or two tiles, which
// leave most of a GPU idle. All arithmetic is fp32, independent of numerics.precision; inputs and
// their gradients store `element`, everything else is float32.

#include <cstddef>

#include "cuda/activation.h"
#include "cuda/device.h"
#include "cuda/element.h"

namespace mgcompare::cuda {

class NarrowDense {
 public:
  static constexpr std::size_t kOutputs = 16;  // at most
  NarrowDense(CudaDevice& device, Element element, std::size_t inputs, std::size_t outputs);

  // out = activation(in * transpose(weights) + bias), on the compute stream. out is (samples, outputs), in is (samples,
  // inputs), weights is (outputs, inputs). `bias` may be null.
  void forward(Activation activation, const void* in, const float* weights, const float* bias, float* out,
               std::size_t samples) const;
  // to = gradient of `in` from that of `out` before the activation, times the derivative of `activation`, whose output is `in`. On
  // the compute stream.
  void backward_data(const float* gradient, const float* weights, Activation activation, const void* in, void* to,
                     std::size_t samples) const;
  // Gradients of weights and bias from that of `out` before the activation. Deterministic. `bias` may be null.
  void backward_weights(cudaStream_t stream, const void* in, const float* gradient, float* weights, float* bias,
                        std::size_t samples) const;

 private:
  CudaDevice& device_;
  Element element_;
  std::size_t inputs_, outputs_;
  Array<float> partial_;
  Array<unsigned> finished_;
};

}  // namespace mgcompare::cuda
