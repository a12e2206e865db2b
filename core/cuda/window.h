#pragma once

// Max pooling by windows that tile the image, behind a convolution.

#include <cstddef>
#include <cstdint>

#include "cuda/activation.h"
#include "cuda/device.h"

namespace mgcompare::cuda {

// Images of `height` x `width` pixels in windows of `rows` x `columns`; what remains at the lower and right edge is cut.
struct Windows {
  unsigned height = 0, width = 0, rows = 0, columns = 0;
  unsigned down() const { return height / rows; }
  unsigned across() const { return width / columns; }
};

// out = activation(max over the window + bias[channel]); `choice` is the winner's place in its window. bias may be null.
void pool(CudaDevice& device, const Windows& windows, Activation activation, const float* in, const float* bias,
          float* out, std::uint8_t* choice, std::size_t samples, std::size_t channels);

// The gradient of every pixel from that of the windows, before the activation.
void unpool(CudaDevice& device, const Windows& windows, const float* gradient, const std::uint8_t* choice, float* to,
            std::size_t planes);

}  // namespace mgcompare::cuda
