#pragma once

// Max pooling of channels-last images with windows that tile the image (stride equals kernel), fused with bias and activation
// after a convolution.

#include <cstddef>
#include <cstdint>

#include "cuda/activation.h"
#include "cuda/device.h"
#include "cuda/element.h"
#include "model/spec.h"

namespace mgcompare::cuda {

// Images of `height` x `width` pixels in windows of `rows` x `columns`; remainders at the lower and right edge are cut off.
struct PoolingWindows {
  unsigned height = 0, width = 0, rows = 0, columns = 0;
  unsigned down() const { return height / rows; }
  unsigned across() const { return width / columns; }
};

// Whether the windows of a pooling layer tile its images.
bool tiles(const LayerSpec& pool);

// out = activation(max over the window + bias[channel]); choice = index of the maximum in its window. `bias` may be null.
void max_pool(CudaDevice& device, const PoolingWindows& windows, Activation activation, Element element, const void* in,
              const float* bias, void* out, std::uint8_t* choice, std::size_t samples, std::size_t channels);

// Gradient of every pixel, from that of the pooled output before the activation.
void max_pool_backward(CudaDevice& device, const PoolingWindows& windows, Element element, const void* gradient,
                       const std::uint8_t* choice, void* to, std::size_t samples, std::size_t channels);

}  // namespace mgcompare::cuda
