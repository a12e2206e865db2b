#include "cuda/pooling.h"

#include "cuda/device.h"
#include "cuda/pack.h"
#include "cuda/tiled_pooling.h"

namespace mgcompare::cuda {
namespace {

struct Geometry {
  int height, width, down, across, packs;  // `packs` of channels
  int kernel[2], stride[2], padding[2];
};

// One thread per window and pack of channels.
template <bool kAverage, int V, class Index, class T>
__global__ void pool(Geometry g, const T* in, T* out, int* winners, Index size) {
  const std::size_t channels = static_cast<std::size_t>(g.packs) * V;
  wait_for_previous_kernel();
  for (Index i = static_cast<Index>(first_index()); i < size; i += static_cast<Index>(index_stride())) {
    const int channel = static_cast<int>(i % g.packs) * V, x = static_cast<int>(i / g.packs % g.across);
    const Index line = i / g.packs / g.across;
    const int y = static_cast<int>(line % g.down);
    const T* const image = in + static_cast<std::size_t>(line / g.down) * g.height * g.width * channels + channel;
    const int top = y * g.stride[0] - g.padding[0], left = x * g.stride[1] - g.padding[1];
    const int first_row = max(top, 0), first_column = max(left, 0);
    const int last_row = min(top + g.kernel[0], g.height), last_column = min(left + g.kernel[1], g.width);
    const int first = first_row * g.width + first_column;
    float best[V], sums[V] = {};
    Pack<int, V> winner;
    load<V>(image + first * channels, best);
#pragma unroll
    for (int k = 0; k < V; ++k) winner.items[k] = first;
    for (int row = first_row; row < last_row; ++row) {
      for (int column = first_column; column < last_column; ++column) {
        const int place = row * g.width + column;
        float values[V];
        load<V>(image + place * channels, values);
#pragma unroll
        for (int k = 0; k < V; ++k) {
          sums[k] += values[k];
          // NaN must propagate, or divergence could go unnoticed.
          if (values[k] <= best[k] || best[k] != best[k]) continue;
          best[k] = values[k];
          winner.items[k] = place;
        }
      }
    }
    if (kAverage) {
#pragma unroll
      for (int k = 0; k < V; ++k) best[k] = sums[k] / static_cast<float>(g.kernel[0] * g.kernel[1]);
    } else {
      for (int k = 0; k < V; ++k) winners[static_cast<std::size_t>(i) * V + k] = winner.items[k];
    }
    store<V>(out + static_cast<std::size_t>(i) * V, best);
  }
}

// One thread per pixel and pack of channels, which sums over the windows that contain the pixel: deterministic, without atomic
// additions.
template <bool kAverage, int V, class Index, class T>
__global__ void pool_back(Geometry g, const T* from, const int* winners, T* to, Index size) {
  const std::size_t channels = static_cast<std::size_t>(g.packs) * V;
  wait_for_previous_kernel();
  for (Index i = static_cast<Index>(first_index()); i < size; i += static_cast<Index>(index_stride())) {
    const int channel = static_cast<int>(i % g.packs) * V;
    const int column = static_cast<int>(i / g.packs % g.width);
    const Index line = i / g.packs / g.width;
    const int row = static_cast<int>(line % g.height), pixel = row * g.width + column;
    const std::size_t sample = line / g.height;
    const int y = row + g.padding[0], x = column + g.padding[1];
    const int last_y = min(y / g.stride[0], g.down - 1), last_x = min(x / g.stride[1], g.across - 1);
    float sums[V] = {};
    for (int wy = max(0, (y - g.kernel[0]) / g.stride[0]); wy <= last_y; ++wy) {
      if (wy * g.stride[0] + g.kernel[0] <= y) continue;
      for (int wx = max(0, (x - g.kernel[1]) / g.stride[1]); wx <= last_x; ++wx) {
        if (wx * g.stride[1] + g.kernel[1] <= x) continue;
        const std::size_t at = ((sample * g.down + wy) * g.across + wx) * channels + channel;
        float slopes[V];
        load<V>(from + at, slopes);
#pragma unroll
        for (int k = 0; k < V; ++k) {
          if (kAverage) sums[k] += slopes[k] / static_cast<float>(g.kernel[0] * g.kernel[1]);
          else if (winners[at + k] == pixel) sums[k] += slopes[k];
        }
      }
    }
    store<V>(to + static_cast<std::size_t>(i) * V, sums);
  }
}

class Pooling : public Layer {
 public:
  Pooling(CudaDevice& device, const LayerSpec& spec, bool average, Port& input, Tensor& output)
      : device_(device), average_(average), input_(input), output_(output), channels_(spec.output_shape[0]) {
    const Shape& in = spec.input_shapes.front();
    if (!average && mgcompare::cuda::tiles(spec)) {
      windows_ = {static_cast<unsigned>(in[1]), static_cast<unsigned>(in[2]), static_cast<unsigned>(spec.config.kernel[0]),
                  static_cast<unsigned>(spec.config.kernel[1])};
    }
    geometry_ = {static_cast<int>(in[1]), static_cast<int>(in[2]), static_cast<int>(spec.output_shape[1]),
                 static_cast<int>(spec.output_shape[2]), 0, {}, {}, {}};
    for (int axis : {0, 1}) {
      geometry_.kernel[axis] = static_cast<int>(spec.config.kernel[axis]);
      geometry_.stride[axis] = static_cast<int>(spec.config.stride[axis]);
      geometry_.padding[axis] = static_cast<int>(spec.config.padding[axis]);
    }
  }

  void reserve(std::size_t samples) override {
    if (tiles()) choice_ = device_array<std::uint8_t>(device_, output_.size(samples));
    else if (!average_) winners_ = device_array<int>(device_, output_.size(samples));
  }

  void forward(const Work& work) override {
    if (tiles())
      return max_pool(device_, windows_, Activation::none, output_.format.element, input_.tensor->value, nullptr, output_.value,
                      choice_.data(), work.samples, channels_);
    dispatch(output_.size(work.samples), [&]<class T, class Index, bool kAverage, int V>(const Geometry& geometry, std::size_t size) {
      launch(device_.compute_stream(), blocks_for(size), kThreads, 0, pool<kAverage, V, Index, T>, geometry,
             input_.values<const T>(), output_.values<T>(), winners_.data(), size);
    });
  }

  void backward(const Work& work) override {
    if (!input_.tensor->needs_gradient) return;
    if (tiles())
      return max_pool_backward(device_, windows_, output_.format.element, output_.gradient, choice_.data(), input_.gradient,
                               work.samples, channels_);
    dispatch(input_.tensor->size(work.samples),
             [&]<class T, class Index, bool kAverage, int V>(const Geometry& geometry, std::size_t size) {
               launch(device_.compute_stream(), blocks_for(size), kThreads, 0, pool_back<kAverage, V, Index, T>, geometry,
                      output_.gradients<const T>(), winners_.data(), input_.gradients<T>(), size);
             });
  }

 private:
  bool tiles() const { return windows_.rows > 0; }

  template <class F> void dispatch(std::size_t size, F f) const {
    if (size == 0) return;
    with_element(output_.format.element, [&](auto type) {
      using T = decltype(type);
      with_index(size, [&](auto index) {
        with_pack_size(
            channels_,
            [&](auto pack) {
              constexpr int V = decltype(pack)::value;
              Geometry geometry = geometry_;
              geometry.packs = static_cast<int>(channels_ / V);
              if (average_) f.template operator()<T, decltype(index), true, V>(geometry, size / V);
              else f.template operator()<T, decltype(index), false, V>(geometry, size / V);
            },
            output_.values<const T>());
      });
    });
  }

  CudaDevice& device_;
  bool average_;
  Port& input_;
  Tensor& output_;
  std::size_t channels_;
  Geometry geometry_{};
  PoolingWindows windows_;          // if they do not overlap
  Array<std::uint8_t> choice_;      // index of each maximum in its window
  Array<int> winners_;              // otherwise: pixel index of each maximum in its image
};

}  // namespace

std::unique_ptr<Layer> make_pooling(CudaDevice& device, const LayerSpec& spec, bool average, Port& input,
                                    Tensor& output) {
  return std::make_unique<Pooling>(device, spec, average, input, output);
}

}  // namespace mgcompare::cuda
