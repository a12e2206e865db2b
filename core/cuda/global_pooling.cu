#include "cuda/global_pooling.h"

#include "cuda/device.h"
#include "cuda/pack.h"

namespace mgcompare::cuda {
namespace {

// One thread per sample and pack of features; neighbouring threads read neighbouring features of one place.
template <int V, class T>
__global__ void mean_over_places(std::size_t packs, unsigned places, unsigned features, const T* x, T* y) {
  wait_for_previous_kernel();
  for (std::size_t i = first_index(); i < packs; i += index_stride()) {
    const std::size_t sample = i / (features / V), feature = i % (features / V) * V;
    const T* const from = x + sample * places * features + feature;
    float sums[V] = {};
#pragma unroll 4
    for (unsigned place = 0; place < places; ++place) {
      float values[V];
      load<V>(from + static_cast<std::size_t>(place) * features, values);
#pragma unroll
      for (int k = 0; k < V; ++k) sums[k] += values[k];
    }
#pragma unroll
    for (int k = 0; k < V; ++k) sums[k] /= static_cast<float>(places);
    store<V>(y + i * V, sums);
  }
}

template <int V, class T>
__global__ void spread_over_places(std::size_t packs, unsigned places, unsigned features, const T* dy, T* dx) {
  wait_for_previous_kernel();
  for (std::size_t i = first_index(); i < packs; i += index_stride()) {
    const std::size_t sample = i / (features / V) / places, feature = i % (features / V) * V;
    float slopes[V];
    load<V>(dy + sample * features + feature, slopes);
#pragma unroll
    for (int k = 0; k < V; ++k) slopes[k] /= static_cast<float>(places);
    store<V>(dx + i * V, slopes);
  }
}

class GlobalPooling : public Layer {
 public:
  GlobalPooling(CudaDevice& device, Port& input, Tensor& output)
      : device_(device), input_(input), output_(output), features_(static_cast<unsigned>(output.features)),
        places_(static_cast<unsigned>(input.tensor->features / output.features)) {}

  void forward(const Work& work) override {
    run<false>(output_.size(work.samples), output_.value, input_.tensor->value);
  }

  void backward(const Work& work) override {
    if (input_.tensor->needs_gradient) run<true>(input_.tensor->size(work.samples), input_.gradient, output_.gradient);
  }

 private:
  template <bool Back> void run(std::size_t size, void* to, const void* from) const {
    if (size == 0) return;
    with_element(output_.format.element, [&](auto type) {
      using T = decltype(type);
      T* const target = static_cast<T*>(to);
      const T* const source = static_cast<const T*>(from);
      with_pack_size(
          features_,
          [&](auto pack) {
            constexpr int V = decltype(pack)::value;
            launch(device_.compute_stream(), blocks_for(size / V), kThreads, 0, Back ? spread_over_places<V, T> : mean_over_places<V, T>,
                   size / V, places_, features_, source, target);
          },
          source, target);
    });
  }

  CudaDevice& device_;
  Port& input_;
  Tensor& output_;
  unsigned features_;
  unsigned places_;                 // pixels or positions
};

}  // namespace

std::unique_ptr<Layer> make_global_pooling(CudaDevice& device, Port& input, Tensor& output) {
  return std::make_unique<GlobalPooling>(device, input, output);
}

}  // namespace mgcompare::cuda
