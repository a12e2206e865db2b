#pragma once

// Bias and activation after a convolution or dense layer, and their gradients.

#include <cstddef>

#include "cuda/activation.h"
#include "cuda/device.h"

namespace mgcompare::cuda {

// x (samples, channels, pixels) = activation(x + bias[channel]); bias may be null.
void add_bias(CudaDevice& device, Activation activation, const float* bias, float* x, std::size_t samples,
              std::size_t channels, std::size_t pixels);

// Backward pass of bias and activation. Bias gradients are summed over samples and pixels in a fixed order.
class BiasGradient {
 public:
  BiasGradient(CudaDevice& device, std::size_t channels);
  // Multiplies `gradient` by the activation's derivative at y, in place. sums[c] = the result summed over samples and
  // pixels; `sums` may be null. y and gradient are (samples, channels, pixels).
  void backward(Activation activation, const float* y, float* gradient, float* sums, std::size_t samples,
                std::size_t pixels);

 private:
  CudaDevice& device_;
  std::size_t channels_;
  Array<float> partial_;
  Array<unsigned> finished_;
};

}  // namespace mgcompare::cuda
