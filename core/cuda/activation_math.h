#pragma once

// Device functions of the activations, and the dispatch of kernels that are templates of an activation. For nvcc only.

#include "cuda/activation.h"

namespace mgcompare::cuda {

template <Activation A> __device__ inline float activated(float x) {
  if constexpr (A == Activation::tanh) return tanhf(x);
  if constexpr (A == Activation::relu) return x < 0.0f ? 0.0f : x;  // propagates NaN: divergence must be visible
  if constexpr (A == Activation::sigmoid) return 1.0f / (1.0f + expf(-x));
  return x;
}

// The gradient of the activation's input, from its output y and the gradient of its output.
template <Activation A> __device__ inline float activation_gradient(float y, float gradient) {
  if constexpr (A == Activation::tanh) return gradient * (1.0f - y * y);
  if constexpr (A == Activation::relu) return y > 0.0f ? gradient : 0.0f;
  if constexpr (A == Activation::sigmoid) return gradient * (y * (1.0f - y));
  return gradient;
}

// The same of an activation that the kernel is told: where it is a small part of the work, a kernel for each would only take long to compile.
__device__ inline float activation_gradient(Activation activation, float y, float gradient) {
  switch (activation) {
    case Activation::none: break;
    case Activation::tanh: return activation_gradient<Activation::tanh>(y, gradient);
    case Activation::relu: return activation_gradient<Activation::relu>(y, gradient);
    case Activation::sigmoid: return activation_gradient<Activation::sigmoid>(y, gradient);
  }
  return gradient;
}

template <Activation A> struct Chosen {
  static constexpr Activation value = A;
};

// Calls f(Chosen<A>()), with A the value of `activation`.
template <class F> void with_activation(Activation activation, F f) {
  switch (activation) {
    case Activation::none: return f(Chosen<Activation::none>());
    case Activation::tanh: return f(Chosen<Activation::tanh>());
    case Activation::relu: return f(Chosen<Activation::relu>());
    case Activation::sigmoid: return f(Chosen<Activation::sigmoid>());
  }
}

}  // namespace mgcompare::cuda
