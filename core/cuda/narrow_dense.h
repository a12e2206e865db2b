#pragma once

// A dense layer of few outputs, as classifiers end with: product, bias and activation in one kernel, the gradients of weights
// and bias in another, that of its input in a third. A matrix product this narrow gives cuBLASLt a tile or two for the whole
// GPU. All arithmetic is in fp32, whatever the precision of the others.

#include <cstddef>

#include "cuda/activation.h"
#include "cuda/device.h"

namespace mgcompare::cuda {

class NarrowDense {
 public:
  static constexpr std::size_t kOutputs = 16;  // at most
  NarrowDense(CudaDevice& device, std::size_t inputs, std::size_t outputs);

  // out (samples, outputs) = activation(in (samples, inputs) times weights (outputs, inputs) turned round, + bias), on the
  // rank's stream. `bias` may be null.
  void forward(Activation activation, const float* in, const float* weights, const float* bias, float* out,
               std::size_t samples) const;
  // The gradient of `in` from that of `out` before the activation, on the rank's stream.
  void backward_data(const float* gradient, const float* weights, float* to, std::size_t samples) const;
  // The gradients of weights and bias from that of `out` before the activation, summed in a fixed order. `bias` may be null.
  void backward_weights(cudaStream_t stream, const float* in, const float* gradient, float* weights, float* bias,
                        std::size_t samples) const;

 private:
  CudaDevice& device_;
  std::size_t inputs_, outputs_;
  Array<float> partial_;
  Array<unsigned> finished_;
};

}  // namespace mgcompare::cuda
