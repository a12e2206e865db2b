#pragma once

// What the kernels of batch normalisation compute for each element (column_walk.h). For nvcc only.

#include <cstddef>

#include "cuda/activation_math.h"
#include "cuda/column_walk.h"

namespace mgcompare::cuda {

// What the layer before leaves to batch normalisation: x is its output without the bias, which may be null, and without the
// activation. kBefore = none: it has left nothing.
template <Activation kBefore> struct LeftOver {
  const float* bias = nullptr;

  template <int V> struct Loaded {
    float bias[kBefore == Activation::none ? 1 : V];
    // The element that is normalised.
    __device__ float value(int k, float x) const {
      if constexpr (kBefore == Activation::none) return x;
      else return activated<kBefore>(x + bias[k]);
    }
  };
  template <int V> __device__ Loaded<V> at(unsigned channel) const {
    Loaded<V> loaded{};
    if constexpr (kBefore != Activation::none) {
#pragma unroll
      for (int k = 0; k < V; ++k) loaded.bias[k] = bias == nullptr ? 0.0f : bias[channel + k];
    }
    return loaded;
  }
};

// What a channel is normalised by, and scaled and shifted with: the result is (value - mean) * scale + beta, with scale = gamma *
// inverse. Two factors less to keep in registers than with gamma and inverse.
struct Scales {
  const float *mean, *inverse, *gamma, *beta;

  template <int V> struct Loaded {
    float mean[V], scale[V], beta[V];
    __device__ float away(int k, float value) const { return value - mean[k]; }
    __device__ float result(int k, float value) const { return away(k, value) * scale[k] + beta[k]; }
  };
  template <int V> __device__ Loaded<V> at(unsigned channel) const {
    Loaded<V> loaded;
#pragma unroll
    for (int k = 0; k < V; ++k) {
      loaded.mean[k] = mean[channel + k];
      loaded.scale[k] = gamma[channel + k] * inverse[channel + k];
      loaded.beta[k] = beta[channel + k];
    }
    return loaded;
  }
};

// Sums of value - shift and of its square, where the shift is the channel's first value. Without it, the variance of a channel
// with a large mean would be lost to cancellation.
template <class Before, class T> struct MomentTerm {
  static constexpr unsigned kAhead = kRowsAhead<T, 1>;
  const T* x;
  Before before;

  template <int V> struct At {
    const T* x;
    typename Before::template Loaded<V> before;
    float shift[V];
    __device__ Pack<T, V> load(std::size_t position) const { return kernels::hold<T, V>(x + position); }
    __device__ void operator()(std::size_t, const Pack<T, V>& held, float (&sums)[2 * V]) const {
      float values[V];
      kernels::widen(held, values);
#pragma unroll
      for (int k = 0; k < V; ++k) {
        const float away = before.value(k, values[k]) - shift[k];
        sums[k] += away;
        sums[V + k] += away * away;
      }
    }
  };
  template <int V> __device__ At<V> at(unsigned channel) const {
    At<V> at{x, before.template at<V>(channel), {}};
    float first[V];
    kernels::widen(at.load(channel), first);
#pragma unroll
    for (int k = 0; k < V; ++k) at.shift[k] = at.before.value(k, first[k]);
    return at;
  }
};

// y = activation(normalised x), or activation(normalised x + other).
template <Activation A, class Before, bool kAdds, class T> struct NormalTerm {
  static constexpr unsigned kAhead = kRowsAhead<T, kAdds ? 2 : 1>;
  const T *x, *other;
  T* y;
  Before before;
  Scales scales;

  template <int V> struct Held {
    Pack<T, V> x, other;
  };
  template <int V> struct At {
    const T *x, *other;
    T* y;
    typename Before::template Loaded<V> before;
    Scales::Loaded<V> scales;
    __device__ Held<V> load(std::size_t position) const {
      Held<V> held;
      held.x = kernels::hold<T, V>(x + position);
      if constexpr (kAdds) held.other = kernels::hold<T, V>(other + position);
      return held;
    }
    __device__ void operator()(std::size_t position, const Held<V>& held) const {
      float values[V], others[V] = {};
      kernels::widen(held.x, values);
      if constexpr (kAdds) kernels::widen(held.other, others);
#pragma unroll
      for (int k = 0; k < V; ++k) values[k] = activated<A>(scales.result(k, before.value(k, values[k])) + others[k]);
      store<V>(y + position, values);
    }
  };
  template <int V> __device__ At<V> at(unsigned channel) const {
    return {x, other, y, before.template at<V>(channel), scales.template at<V>(channel)};
  }
};

// An element of x and the gradient of the result.
template <int V, class T> struct HeldSlope {
  Pack<T, V> x, dy;
};
template <int V, class T> struct Slopes {
  const T *x, *dy;
  __device__ HeldSlope<V, T> load(std::size_t position) const {
    return {kernels::hold<T, V>(x + position), kernels::hold<T, V>(dy + position)};
  }
};

// Sums of the slopes, which are the gradient of beta, and of their products with value - mean: that of gamma, divided by `inverse`.
template <Activation A, class Before, class T> struct SlopeTerm {
  static constexpr unsigned kAhead = kRowsAhead<T, 2>;
  const T *x, *dy;
  Before before;
  Scales scales;
  const float* given;               // sums of the slopes and of slope * result (input_sums.h), or null
  unsigned channels;

  // Stores the sums and returns true, if they follow from those that are given: the result is (value - mean) * scale + beta. Beta times the
  // first sum is subtracted from the second one, whose rounding error is then divided by the scale. So while beta is at most gamma, that
  // of gamma's gradient is at most about one of beta's gradient in the type of the products.
  template <int V> __device__ bool known(unsigned channel, float (&sums)[2 * V]) const {
    constexpr float kLeastGamma = 0.05f;
    if (A != Activation::none || given == nullptr) return false;
    const auto at = scales.template at<V>(channel);
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const float gamma = fabsf(scales.gamma[channel + k]);
      if (!(gamma >= kLeastGamma && fabsf(at.beta[k]) <= gamma && at.scale[k] != 0)) return false;
      sums[k] = given[channel + k];
      sums[V + k] = (given[channels + channel + k] - at.beta[k] * sums[k]) / at.scale[k];
    }
    return true;
  }

  template <int V> struct At : Slopes<V, T> {
    typename Before::template Loaded<V> before;
    Scales::Loaded<V> scales;
    __device__ void operator()(std::size_t, const HeldSlope<V, T>& held, float (&sums)[2 * V]) const {
      float values[V], slopes[V];
      kernels::widen(held.x, values);
      kernels::widen(held.dy, slopes);
#pragma unroll
      for (int k = 0; k < V; ++k) {
        const float value = before.value(k, values[k]);
        const float slope = activation_gradient<A>(activated<A>(scales.result(k, value)), slopes[k]);
        sums[k] += slope;
        sums[V + k] += slope * scales.away(k, value);
      }
    }
  };
  template <int V> __device__ At<V> at(unsigned channel) const {
    return {{x, dy}, before.template at<V>(channel), scales.template at<V>(channel)};
  }
};

// dx, the gradient of x, from those of beta and gamma over all synchronised ranks (`sums`):
//   dx = scale * (slope - mean of the slopes - (value - mean) * inverse * mean of the products)
// Its sums over the rows are the gradient of the bias of the layer before.
template <Activation A, Activation kBefore, class T> struct InputTerm {
  static constexpr unsigned kAhead = kRowsAhead<T, 2>;
  const T *x, *dy;
  T* dx;
  LeftOver<kBefore> before;
  Scales scales;
  const float *sums, *count;
  float share;
  bool training;
  unsigned channels;

  template <int V> struct At : Slopes<V, T> {
    T* dx;
    typename LeftOver<kBefore>::template Loaded<V> before;
    Scales::Loaded<V> scales;
    float slope_mean[V], product_mean[V];  // the latter times `inverse`
    __device__ void compute(std::size_t position, const HeldSlope<V, T>& held, float (&slopes)[V]) const {
      float values[V];
      kernels::widen(held.x, values);
      kernels::widen(held.dy, slopes);
#pragma unroll
      for (int k = 0; k < V; ++k) {
        const float value = before.value(k, values[k]);
        const float slope = activation_gradient<A>(activated<A>(scales.result(k, value)), slopes[k]);
        slopes[k] = scales.scale[k] * (slope - slope_mean[k] - scales.away(k, value) * product_mean[k]);
        slopes[k] = activation_gradient<kBefore>(value, slopes[k]);
      }
      store<V>(dx + position, slopes);
    }
    __device__ void operator()(std::size_t position, const HeldSlope<V, T>& held) const {
      float slopes[V];
      compute(position, held, slopes);
    }
    __device__ void operator()(std::size_t position, const HeldSlope<V, T>& held, float (&totals)[V]) const {
      float slopes[V];
      compute(position, held, slopes);
#pragma unroll
      for (int k = 0; k < V; ++k) totals[k] += slopes[k];
    }
  };
  template <int V> __device__ At<V> at(unsigned channel) const {
    At<V> at{{x, dy}, dx, before.template at<V>(channel), scales.template at<V>(channel), {}, {}};
    const float all = *count * share;
    const float part = training && all > 0 ? 1 / all : 0;  // running statistics: no gradient
#pragma unroll
    for (int k = 0; k < V; ++k) {
      at.slope_mean[k] = part * sums[channel + k];
      at.product_mean[k] = part * sums[channels + channel + k] * scales.inverse[channel + k];
    }
    return at;
  }
};

}  // namespace mgcompare::cuda
