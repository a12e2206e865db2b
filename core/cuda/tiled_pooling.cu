#include "cuda/tiled_pooling.h"

#include "cuda/activation_math.h"
#include "cuda/launch.h"

namespace mgcompare::cuda {
namespace {

template <Activation A>
__global__ void pool_windows(PoolingWindows w, unsigned down, unsigned across, const float* in, const float* bias, float* out,
                             std::uint8_t* choice, std::size_t size, unsigned channels) {
  for (std::size_t i = first_index(); i < size; i += index_stride()) {
    const unsigned x = i % across, y = i / across % down;
    const std::size_t plane = i / across / down;
    const float* const window = in + (plane * w.height + y * w.rows) * w.width + x * w.columns;
    float best = window[0];
    unsigned winner = 0;
    for (unsigned row = 0, place = 0; row < w.rows; ++row) {
      for (unsigned column = 0; column < w.columns; ++column, ++place) {
        const float value = window[row * w.width + column];
        // Not "value > best": NaN must propagate, or divergence could go unnoticed.
        if (value <= best || best != best) continue;
        best = value;
        winner = place;
      }
    }
    out[i] = activated<A>(best + (bias == nullptr ? 0.0f : bias[plane % channels]));
    choice[i] = static_cast<std::uint8_t>(winner);
  }
}

}  // namespace

void max_pool(CudaDevice& device, const PoolingWindows& windows, Activation activation, const float* in, const float* bias,
          float* out, std::uint8_t* choice, std::size_t samples, std::size_t channels) {
  const std::size_t size = samples * channels * windows.down() * windows.across();
  if (size == 0) return;
  with_activation(activation, [&](auto chosen) {
    pool_windows<decltype(chosen)::value><<<blocks_for(size), kThreads, 0, device.compute_stream()>>>(
        windows, windows.down(), windows.across(), in, bias, out, choice, size, static_cast<unsigned>(channels));
  });
  check(cudaGetLastError(), "pooling");
}

void max_pool_backward(CudaDevice& device, const PoolingWindows& windows, const float* gradient,
                       const std::uint8_t* choice, float* to, std::size_t planes) {
  const unsigned height = windows.height, width = windows.width, rows = windows.rows, columns = windows.columns;
  const unsigned down = windows.down(), across = windows.across();
  for_each_index(device.compute_stream(), planes * height * width, [=] __device__(std::size_t i) {
    const unsigned x = i % width, y = i / width % height;
    const std::size_t plane = i / width / height;
    const unsigned window_x = x / columns, window_y = y / rows;
    if (window_x >= across || window_y >= down) {
      to[i] = 0;
      return;
    }
    const std::size_t from = (plane * down + window_y) * across + window_x;
    to[i] = choice[from] == y % rows * columns + x % columns ? gradient[from] : 0.0f;
  });
}

}  // namespace mgcompare::cuda
