#pragma once

// What stands between a layer's product and its neighbours: bias and activation, and their gradients.

#include <cstddef>

#include "cuda/activation.h"
#include "cuda/device.h"

namespace mgcompare::cuda {

// x (samples, channels, pixels) = activation(x + bias[channel]); bias may be null.
void add_bias(CudaDevice& device, Activation activation, const float* bias, float* x, std::size_t samples,
              std::size_t channels, std::size_t pixels);

// Sums over samples and pixels, split over blocks and added in a fixed order.
class ChannelSums {
 public:
  ChannelSums(CudaDevice& device, std::size_t channels);
  // gradient *= the activation's derivative at y, in place; sums[c] = what that gives, summed over samples and pixels.
  // `sums` may be null. All are (samples, channels, pixels).
  void backward(Activation activation, const float* y, float* gradient, float* sums, std::size_t samples,
                std::size_t pixels);

 private:
  CudaDevice& device_;
  std::size_t channels_;
  Array<float> partial_;
  Array<unsigned> finished_;
};

}  // namespace mgcompare::cuda
