#include "cuda/tiled_pooling.h"

#include <type_traits>

#include "cuda/activation_math.h"
#include "cuda/column_sums.h"
#include "cuda/pack.h"

namespace mgcompare::cuda {
namespace {

struct Windows {
  unsigned height, width, rows, columns, down, across, packs;  // `packs` of channels
};

// One thread per window and pack of channels. With dropout, `choice` tells first which units are kept.
template <Activation A, bool kDrops, int V, class Index, class T>
__global__ void pool_windows(Windows w, const T* in, const float* bias, T* out, std::uint8_t* choice, float scale, Index size) {
  wait_for_previous_kernel();
  for (Index i = static_cast<Index>(first_index()); i < size; i += static_cast<Index>(index_stride())) {
    const unsigned channel = i % w.packs * V, x = i / w.packs % w.across;
    const Index line = i / w.packs / w.across;
    const unsigned y = line % w.down;
    const std::size_t channels = static_cast<std::size_t>(w.packs) * V;
    const T* const window = in + ((static_cast<std::size_t>(line / w.down) * w.height + y * w.rows) * w.width + x * w.columns) * channels + channel;
    float best[V];
    Pack<std::uint8_t, V> winner{};
    load<V>(window, best);
    for (unsigned row = 0, place = 0; row < w.rows; ++row) {
      for (unsigned column = 0; column < w.columns; ++column, ++place) {
        float values[V];
        load<V>(window + (row * w.width + column) * channels, values);
#pragma unroll
        for (int k = 0; k < V; ++k) {
          // Not "values[k] > best[k]": NaN must propagate, or divergence could go unnoticed.
          if (values[k] <= best[k] || best[k] != best[k]) continue;
          best[k] = values[k];
          winner.items[k] = static_cast<std::uint8_t>(place);
        }
      }
    }
#pragma unroll
    for (int k = 0; k < V; ++k) best[k] = activated<A>(best[k] + (bias == nullptr ? 0.0f : bias[channel + k]));
    if constexpr (kDrops) {
      const auto keeps = *reinterpret_cast<const Pack<std::uint8_t, V>*>(choice + static_cast<std::size_t>(i) * V);
#pragma unroll
      for (int k = 0; k < V; ++k) best[k] = keeps.items[k] != 0 ? best[k] * scale : 0.0f;
    }
    store<V>(out + static_cast<std::size_t>(i) * V, best);
    *reinterpret_cast<Pack<std::uint8_t, V>*>(choice + static_cast<std::size_t>(i) * V) = winner;
  }
}

// One thread per window and pack of channels, including the windows that the edge cuts off, whose pixels get zero.
template <int V, class Index, class T>
__global__ void spread_windows(Windows w, const T* gradient, const std::uint8_t* choice, T* to, Index size) {
  const unsigned all_down = (w.height + w.rows - 1) / w.rows, all_across = (w.width + w.columns - 1) / w.columns;
  const std::size_t channels = static_cast<std::size_t>(w.packs) * V;
  wait_for_previous_kernel();
  for (Index i = static_cast<Index>(first_index()); i < size; i += static_cast<Index>(index_stride())) {
    const unsigned channel = i % w.packs * V, x = i / w.packs % all_across;
    const Index line = i / w.packs / all_across;
    const unsigned y = line % all_down;
    const std::size_t sample = line / all_down;
    const bool whole = x < w.across && y < w.down;
    float slopes[V] = {};
    Pack<std::uint8_t, V> winner{};
    if (whole) {
      const std::size_t at = ((sample * w.down + y) * w.across + x) * channels + channel;
      load<V>(gradient + at, slopes);
      winner = *reinterpret_cast<const Pack<std::uint8_t, V>*>(choice + at);
    }
    for (unsigned row = 0, place = 0; row < w.rows; ++row) {
      for (unsigned column = 0; column < w.columns; ++column, ++place) {
        const unsigned pixel_y = y * w.rows + row, pixel_x = x * w.columns + column;
        if (pixel_y >= w.height || pixel_x >= w.width) continue;
        float values[V];
#pragma unroll
        for (int k = 0; k < V; ++k) values[k] = whole && winner.items[k] == place ? slopes[k] : 0.0f;
        store<V>(to + ((sample * w.height + pixel_y) * w.width + pixel_x) * channels + channel, values);
      }
    }
  }
}

// The gradient of a window's output, which is added to the sum of its channel and written to the pixel that was its maximum; the
// window's other pixels get zero, and so do those that the edge cuts off, with the last windows before it.
template <Activation A, class Index, class T> struct SpreadTerm {
  static constexpr unsigned kAhead = kRowsAhead<T, 2>;
  Windows windows;
  unsigned channels;
  float scale;
  const T *y, *gradient;
  const std::uint8_t* choice;
  T* to;

  template <int V> struct Held {
    Pack<T, V> gradient, y;
    Pack<std::uint8_t, V> choice;
  };
  template <int V> struct At {
    SpreadTerm term;
    unsigned channel;
    __device__ Held<V> load(std::size_t position) const {
      Held<V> held;
      held.gradient = kernels::hold<T, V>(term.gradient + position);
      if constexpr (A != Activation::none) held.y = kernels::hold<T, V>(term.y + position);
      held.choice = kernels::hold<std::uint8_t, V>(term.choice + position);
      return held;
    }
    __device__ void operator()(std::size_t position, const Held<V>& held, float (&sums)[V]) const {
      float slopes[V], values[V];
      kernels::widen(held.gradient, slopes);
      if constexpr (A != Activation::none) kernels::widen(held.y, values);
#pragma unroll
      for (int k = 0; k < V; ++k) {
        slopes[k] = activation_gradient<A>(A == Activation::none ? 0.0f : values[k], slopes[k] * term.scale);
        sums[k] += slopes[k];
      }
      const Windows& w = term.windows;
      const Index window = static_cast<Index>(position) / term.channels, line = window / w.across;
      const unsigned x = static_cast<unsigned>(window % w.across), y = static_cast<unsigned>(line % w.down);
      const unsigned rows = y + 1 == w.down ? w.height - y * w.rows : w.rows, columns = x + 1 == w.across ? w.width - x * w.columns : w.columns;
      T* const first = term.to + ((static_cast<std::size_t>(line / w.down) * w.height + y * w.rows) * w.width + x * w.columns) * term.channels + channel;
      for (unsigned row = 0; row < rows; ++row) {
        for (unsigned column = 0; column < columns; ++column) {
          const bool inside = row < w.rows && column < w.columns;
          float parts[V];
#pragma unroll
          for (int k = 0; k < V; ++k) parts[k] = inside && held.choice.items[k] == row * w.columns + column ? slopes[k] : 0.0f;
          store<V>(first + static_cast<std::size_t>(row * w.width + column) * term.channels, parts);
        }
      }
    }
  };
  template <int V> __device__ At<V> at(unsigned channel) const { return {*this, channel}; }
};

Windows windows_of(const PoolingWindows& w, std::size_t packs) {
  return {w.height, w.width, w.rows, w.columns, w.down(), w.across(), static_cast<unsigned>(packs)};
}

}  // namespace

bool tiles(const LayerSpec& pool) {
  const LayerConfig& config = pool.config;
  return config.kernel[0] == config.stride[0] && config.kernel[1] == config.stride[1] && config.padding[0] == 0 &&
         config.padding[1] == 0 && config.kernel[0] * config.kernel[1] <= 256;
}

void max_pool(CudaDevice& device, const PoolingWindows& windows, Activation activation, Element element, const void* in,
              const float* bias, void* out, std::uint8_t* choice, std::size_t samples, std::size_t channels, std::optional<float> kept_scale) {
  const std::size_t size = samples * channels * windows.down() * windows.across();
  if (size == 0) return;
  with_element(element, [&](auto type) {
    using T = decltype(type);
    const T* const from = static_cast<const T*>(in);
    T* const to = static_cast<T*>(out);
    with_activation(activation, [&](auto chosen) {
      with_pack_size(
          channels,
          [&](auto pack) {
            constexpr int V = decltype(pack)::value;
            constexpr Activation A = decltype(chosen)::value;
            with_index(samples * channels * windows.height * windows.width, [&](auto index) {
              const auto pool = [&](auto drops) {
                launch(device.compute_stream(), blocks_for(size / V), kThreads, 0, pool_windows<A, decltype(drops)::value, V, decltype(index), T>,
                       windows_of(windows, channels / V), from, bias, to, choice, kept_scale.value_or(1.0f), size / V);
              };
              if constexpr (A == Activation::relu) {
                if (kept_scale) return pool(std::true_type());
              }
              pool(std::false_type());
            });
          },
          from, to);
    });
  });
}

void max_pool_backward(CudaDevice& device, const PoolingWindows& windows, Element element, const void* gradient,
                       const std::uint8_t* choice, void* to, std::size_t samples, std::size_t channels) {
  const std::size_t down = (windows.height + windows.rows - 1) / windows.rows;
  const std::size_t size = samples * channels * down * ((windows.width + windows.columns - 1) / windows.columns);
  if (size == 0) return;
  with_element(element, [&](auto type) {
    using T = decltype(type);
    const T* const from = static_cast<const T*>(gradient);
    T* const target = static_cast<T*>(to);
    with_pack_size(
        channels,
        [&](auto pack) {
          constexpr int V = decltype(pack)::value;
          with_index(size, [&](auto index) {
            launch(device.compute_stream(), blocks_for(size / V), kThreads, 0, spread_windows<V, decltype(index), T>,
                   windows_of(windows, channels / V), from, choice, target, size / V);
          });
        },
        from, target);
  });
}

namespace {

class ColumnPoolingGradients : public PoolingGradients {
 public:
  ColumnPoolingGradients(CudaDevice& device, const PoolingWindows& windows, Element element, std::size_t channels)
      : windows_(windows), element_(element), channels_(channels), sums_(device, channels) {}

  void run(Activation activation, float scale, const void* y, const void* gradient, const std::uint8_t* choice, void* to,
           float* bias_gradient, std::size_t samples) override {
    with_element(element_, [&](auto type) {
      using T = decltype(type);
      const T *const values = static_cast<const T*>(y), *const slopes = static_cast<const T*>(gradient);
      T* const target = static_cast<T*>(to);
      with_activation(activation, [&](auto chosen) {
        with_index(samples * channels_ * windows_.height * windows_.width, [&](auto index) {
          const SpreadTerm<decltype(chosen)::value, decltype(index), T> term{windows_of(windows_, 1), static_cast<unsigned>(channels_), scale,
                                                                             values, slopes, choice, target};
          sums_.sum<1>(samples * windows_.down() * windows_.across(), term, StoreSum{bias_gradient}, values, slopes, target);
        });
      });
    });
  }

 private:
  const PoolingWindows windows_;
  const Element element_;
  const std::size_t channels_;
  ColumnSums sums_;
};

}  // namespace

std::unique_ptr<PoolingGradients> make_pooling_gradients(CudaDevice& device, const PoolingWindows& windows, Element element,
                                                         std::size_t channels) {
  return std::make_unique<ColumnPoolingGradients>(device, windows, element, channels);
}

}  // namespace mgcompare::cuda
