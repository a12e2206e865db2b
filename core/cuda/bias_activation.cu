#include "cuda/bias_activation.h"

#include "cuda/activation.h"
#include "cuda/activation_math.h"
#include "cuda/column_sums.h"

namespace mgcompare::cuda {
namespace {

template <Activation A, int V, class Index, class T>
__global__ void add_bias_to_packs(const float* bias, T* x, Index packs, unsigned columns) {
  wait_for_previous_kernel();
  for (Index i = static_cast<Index>(first_index()); i < packs; i += static_cast<Index>(index_stride())) {
    float values[V];
    T* const at = x + static_cast<std::size_t>(i) * V;
    load<V>(at, values);
    const auto column = static_cast<unsigned>(i % (columns / V) * V);
#pragma unroll
    for (int k = 0; k < V; ++k) values[k] = activated<A>(values[k] + bias[column + k]);
    store<V>(at, values);
  }
}

// Adds a gradient to the sum of its column, after the derivative of the activation.
template <Activation A, class T> struct BiasTerm {
  static constexpr unsigned kAhead = kRowsAhead<T, A == Activation::none ? 1 : 2>;
  const T* y;
  T* gradient;

  template <int V> struct Held {
    Pack<T, V> gradient, y;
  };
  template <int V> struct At {
    const T* y;
    T* gradient;
    __device__ Held<V> load(std::size_t position) const {
      Held<V> held;
      held.gradient = kernels::hold<T, V>(gradient + position);
      if constexpr (A != Activation::none) held.y = kernels::hold<T, V>(y + position);
      return held;
    }
    __device__ void operator()(std::size_t position, const Held<V>& held, float (&sums)[V]) const {
      float slopes[V], values[V];
      kernels::widen(held.gradient, slopes);
      if constexpr (A != Activation::none) {
        kernels::widen(held.y, values);
#pragma unroll
        for (int k = 0; k < V; ++k) slopes[k] = activation_gradient<A>(values[k], slopes[k]);
        store<V>(gradient + position, slopes);
      }
#pragma unroll
      for (int k = 0; k < V; ++k) sums[k] += slopes[k];
    }
  };
  template <int V> __device__ At<V> at(unsigned) const { return {y, gradient}; }
};

class FusedBias : public Bias {
 public:
  FusedBias(CudaDevice& device, std::size_t columns, Element element)
      : device_(device), columns_(columns), element_(element), sums_(device, columns) {}

  void add(Activation activation, const float* bias, void* x, std::size_t rows) override {
    const std::size_t size = rows * columns_;
    if (size == 0 || (bias == nullptr && activation == Activation::none)) return;
    if (bias == nullptr) return activate(device_, activation, element_, x, x, size);
    with_element(element_, [&](auto type) {
      using T = decltype(type);
      T* const to = static_cast<T*>(x);
      with_activation(activation, [&](auto chosen) {
        constexpr Activation A = decltype(chosen)::value;
        with_pack_size(
            columns_,
            [&](auto pack) {
              constexpr int V = decltype(pack)::value;
              with_index(size, [&](auto index) {
                launch(device_.compute_stream(), blocks_for(size / V), kThreads, 0, add_bias_to_packs<A, V, decltype(index), T>, bias,
                       to, size / V, static_cast<unsigned>(columns_));
              });
            },
            to);
      });
    });
  }

  void backward(Activation activation, const void* y, void* gradient, float* sums, std::size_t rows) override {
    if (rows == 0) {
      if (sums != nullptr) device_.zero(sums, columns_ * sizeof(float));
      return;
    }
    if (sums == nullptr && activation == Activation::none) return;
    with_element(element_, [&](auto type) {
      using T = decltype(type);
      with_activation(activation, [&](auto chosen) {
        constexpr Activation A = decltype(chosen)::value;
        const T* const values = static_cast<const T*>(y);
        T* const slopes = static_cast<T*>(gradient);
        sums_.sum<1>(rows, BiasTerm<A, T>{values, slopes}, StoreSum{sums}, values, slopes);
      });
    });
  }

 private:
  CudaDevice& device_;
  const std::size_t columns_;
  const Element element_;
  ColumnSums sums_;
};

}  // namespace

std::unique_ptr<Bias> make_bias(CudaDevice& device, std::size_t columns, Element element) {
  return std::make_unique<FusedBias>(device, columns, element);
}

}  // namespace mgcompare::cuda
