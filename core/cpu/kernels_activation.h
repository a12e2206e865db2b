// Activation and bias kernels. kernels_body.h includes this file once for each instruction set.

namespace mgcompare::MGCOMPARE_KERNELS {

// e^x - 1 for 0 <= x <= 20: x = n ln 2 + r, a polynomial p in r, and 2^n (p + 1) - 1 evaluated so that the relative error
// stays small for small x.
MGCOMPARE_INLINE Lanes exponential_minus_one(const Lanes& x) {
  const Lanes shifted = x * 1.44269504f + 12582912.0f;  // leaves the rounded integer in the low bits
  const Lanes whole = shifted - 12582912.0f;
  const Lanes r = (x - whole * 0.693145752f) - whole * 1.42860677e-6f;
  Lanes p = r * (1.0f / 5040) + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r * r + r;
  const Words exponent = (reinterpret_cast<Words>(shifted) << 23) + (127 << 23);
  const Lanes scale = reinterpret_cast<Lanes>(exponent);
  return p * scale + (scale - 1.0f);
}

MGCOMPARE_INLINE Lanes hyperbolic_tangent(const Lanes& x) {
  const Words sign = reinterpret_cast<Words>(x) & static_cast<std::int32_t>(0x80000000u);
  const Words bits = reinterpret_cast<Words>(x) ^ sign;
  const Lanes size = reinterpret_cast<Lanes>(bits);
  // The comparison is false for NaN, which propagates: divergence must be visible.
  const Lanes twice = size > 10.0f ? Lanes{} + 20.0f : size + size;
  const Lanes grown = exponential_minus_one(twice);
  const Lanes value = grown / (grown + 2.0f);
  const Words result = reinterpret_cast<Words>(value) | sign;
  return reinterpret_cast<Lanes>(result);
}

template <Activation A> MGCOMPARE_INLINE Lanes activated(const Lanes& x) {
  if constexpr (A == Activation::tanh) return hyperbolic_tangent(x);
  if constexpr (A == Activation::relu) return x < 0.0f ? Lanes{} : x;
  if constexpr (A == Activation::sigmoid) return 0.5f * hyperbolic_tangent(x * 0.5f) + 0.5f;
  return x;
}

template <Activation A> MGCOMPARE_INLINE Lanes activation_gradient(const Lanes& y, const Lanes& gradient) {
  if constexpr (A == Activation::tanh) return gradient * (1.0f - y * y);
  if constexpr (A == Activation::relu) return y > 0.0f ? gradient : Lanes{};
  if constexpr (A == Activation::sigmoid) return gradient * (y * (1.0f - y));
  return gradient;
}

// f(std::integral_constant of the activation)
template <class F> MGCOMPARE_INLINE void with_activation(Activation activation, F f) {
  switch (activation) {
    case Activation::tanh: return f(std::integral_constant<Activation, Activation::tanh>());
    case Activation::relu: return f(std::integral_constant<Activation, Activation::relu>());
    case Activation::sigmoid: return f(std::integral_constant<Activation, Activation::sigmoid>());
    default: return f(std::integral_constant<Activation, Activation::none>());
  }
}

void activate(Activation activation, float* x, std::size_t size) {
  if (activation == Activation::none) return;
  with_activation(activation, [&](auto kind) {
    for (std::size_t i = 0; i < size; i += kWidth) store(x + i, activated<kind()>(load(x + i, size - i)), size - i);
  });
}

void activate_back(Activation activation, const float* y, const float* gradient, float* to, std::size_t size) {
  if (activation == Activation::none && to == gradient) return;
  with_activation(activation, [&](auto kind) {
    for (std::size_t i = 0; i < size; i += kWidth)
      store(to + i, activation_gradient<kind()>(load(y + i, size - i), load(gradient + i, size - i)), size - i);
  });
}

void add_bias(Activation activation, const float* bias, float* x, std::size_t rows, std::size_t columns) {
  with_activation(activation, [&](auto kind) {
    for (std::size_t row = 0; row < rows; ++row) {
      float* const line = x + row * columns;
      for (std::size_t i = 0; i < columns; i += kWidth) {
        const Lanes shift = bias == nullptr ? Lanes{} : load(bias + i, columns - i);
        store(line + i, activated<kind()>(load(line + i, columns - i) + shift), columns - i);
      }
    }
  });
}

}  // namespace mgcompare::MGCOMPARE_KERNELS
