#include "cuda/bias_activation.h"

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
  const T* y;
  T* gradient;

  template <int V> __device__ auto at(unsigned) const {
    return [y = y, gradient = gradient](std::size_t position, float (&sums)[V]) {
      float slopes[V], values[V];
      load<V>(gradient + position, slopes);
      if constexpr (A != Activation::none) {
        load<V>(y + position, values);
#pragma unroll
        for (int k = 0; k < V; ++k) slopes[k] = activation_gradient<A>(values[k], slopes[k]);
        store<V>(gradient + position, slopes);
      }
#pragma unroll
      for (int k = 0; k < V; ++k) sums[k] += slopes[k];
    };
  }
};

struct StoreSum {
  float* sums;
  __device__ void operator()(unsigned column, const float (&totals)[1]) const {
    if (sums != nullptr) sums[column] = totals[0];
  }
};

}  // namespace

void add_bias(CudaDevice& device, Activation activation, const float* bias, Element element, void* x, std::size_t rows,
              std::size_t columns) {
  const std::size_t size = rows * columns;
  if (size == 0 || (bias == nullptr && activation == Activation::none)) return;
  if (bias == nullptr) return activate(device, activation, element, x, x, size);
  with_element(element, [&](auto type) {
    using T = decltype(type);
    T* const to = static_cast<T*>(x);
    with_activation(activation, [&](auto chosen) {
      constexpr Activation A = decltype(chosen)::value;
      with_pack_size(
          columns,
          [&](auto pack) {
            constexpr int V = decltype(pack)::value;
            with_index(size, [&](auto index) {
              launch(device.compute_stream(), blocks_for(size / V), kThreads, 0, add_bias_to_packs<A, V, decltype(index), T>, bias, to,
                     size / V, static_cast<unsigned>(columns));
            });
          },
          to);
    });
  });
}

BiasGradient::BiasGradient(CudaDevice& device, std::size_t columns)
    : device_(device), columns_(columns), sums_(std::make_unique<ColumnSums>(device, columns)) {}

BiasGradient::~BiasGradient() = default;

void BiasGradient::backward(Activation activation, Element element, const void* y, void* gradient, float* sums, std::size_t rows) {
  if (rows == 0) {
    if (sums != nullptr) device_.zero(sums, columns_ * sizeof(float));
    return;
  }
  if (sums == nullptr && activation == Activation::none) return;
  with_element(element, [&](auto type) {
    using T = decltype(type);
    with_activation(activation, [&](auto chosen) {
      constexpr Activation A = decltype(chosen)::value;
      const T* const values = static_cast<const T*>(y);
      T* const slopes = static_cast<T*>(gradient);
      sums_->sum<1>(rows, BiasTerm<A, T>{values, slopes}, StoreSum{sums}, values, slopes);
    });
  });
}

}  // namespace mgcompare::cuda
