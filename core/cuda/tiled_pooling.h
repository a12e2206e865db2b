#pragma once

// Max pooling of channels-last images with windows that tile the image (stride equals kernel), fused with the bias and activation of the
// convolution before it and with dropout behind it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

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
// `kept_scale`: dropout follows, only behind relu; `choice` has its mask (dropping.h), and the units that are kept are multiplied.
void max_pool(CudaDevice& device, const PoolingWindows& windows, Activation activation, Element element, const void* in,
              const float* bias, void* out, std::uint8_t* choice, std::size_t samples, std::size_t channels, std::optional<float> kept_scale = {});

// Gradient of every pixel, from that of the pooled output before the activation.
void max_pool_backward(CudaDevice& device, const PoolingWindows& windows, Element element, const void* gradient,
                       const std::uint8_t* choice, void* to, std::size_t samples, std::size_t channels);

// Gradients of every pixel and of the bias, from that of the output, in one pass.
class PoolingGradients {
 public:
  virtual ~PoolingGradients() = default;
  // `y`: the output. `scale` multiplies its gradient: that of dropout, whose dropped units relu's derivative finds in y. bias_gradient, summed in
  // a fixed order, may be null.
  virtual void run(Activation activation, float scale, const void* y, const void* gradient, const std::uint8_t* choice, void* to,
                   float* bias_gradient, std::size_t samples) = 0;
};
std::unique_ptr<PoolingGradients> make_pooling_gradients(CudaDevice& device, const PoolingWindows& windows, Element element,
                                                         std::size_t channels);

}  // namespace mgcompare::cuda
