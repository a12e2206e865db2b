// Sums in double precision, by lanes, and batch normalisation. kernels_body.h includes this file once for each instruction set.

namespace mgcompare::MGCOMPARE_KERNELS {

typedef double Doubles __attribute__((vector_size(kWidth * sizeof(double)), aligned(sizeof(double)), may_alias));

MGCOMPARE_INLINE Doubles& doubles(double* p) { return *reinterpret_cast<Doubles*>(p); }

// Pixels that are added in single precision: rounding of four terms is as small as that of the terms, and conversions are slow.
constexpr std::size_t kSingles = 4;

// sums[n] += the sum of each of N terms over the pixels; term(part of a pixel, terms).
template <int N, class Term> MGCOMPARE_INLINE void add_pixels(std::size_t pixels, double* const (&sums)[N], Term term) {
  for (std::size_t part = 0; part < kLanes; part += kWidth) {
    Doubles totals[N];
    for (int n = 0; n < N; ++n) totals[n] = doubles(sums[n] + part);
    std::size_t p = 0;
    for (; p + kSingles <= pixels; p += kSingles) {
      Lanes terms[kSingles][N];
#pragma GCC unroll 4
      for (std::size_t k = 0; k < kSingles; ++k) term((p + k) * kLanes + part, terms[k]);
#pragma GCC unroll 2
      for (int n = 0; n < N; ++n) {
        totals[n] += __builtin_convertvector((terms[0][n] + terms[1][n]) + (terms[2][n] + terms[3][n]), Doubles);
      }
    }
    for (; p < pixels; ++p) {
      Lanes terms[N];
      term(p * kLanes + part, terms);
      for (int n = 0; n < N; ++n) totals[n] += __builtin_convertvector(terms[n], Doubles);
    }
    for (int n = 0; n < N; ++n) doubles(sums[n] + part) = totals[n];
  }
}

void sum_lanes(const float* x, std::size_t pixels, double* sums) {
  add_pixels<1>(pixels, {sums}, [x](std::size_t i, Lanes (&terms)[1]) { terms[0] = at(x + i); });
}

void sum_squares(const float* x, std::size_t pixels, float mean, double* sums) {
  add_pixels<1>(pixels, {sums}, [x, mean](std::size_t i, Lanes (&terms)[1]) {
    const Lanes distance = at(x + i) - mean;
    terms[0] = distance * distance;
  });
}

// The gradient before the activation. That of relu follows from x, which is read anyway.
template <Activation A> MGCOMPARE_INLINE Lanes gradient_of(const Normalized& from, std::size_t i, const Lanes& x) {
  const Lanes gradient = at(from.gradient + i);
  if constexpr (A == Activation::none) return gradient;
  if constexpr (A == Activation::relu) return activation_gradient<A>(x * from.scale + from.shift, gradient);
  return activation_gradient<A>(at(from.y + i), gradient);
}

void normalize(Activation activation, const float* x, float scale, float shift, std::size_t pixels, float* y) {
  with_activation(activation, [&](auto kind) {
    for (std::size_t i = 0; i < pixels * kLanes; i += kWidth) at(y + i) = activated<kind()>(at(x + i) * scale + shift);
  });
}

void sum_products(const Normalized& from, std::size_t pixels, float mean, double* sums, double* products) {
  with_activation(from.activation, [&](auto kind) {
    constexpr Activation kKind = kind();
    add_pixels<2>(pixels, {sums, products}, [from, mean](std::size_t i, Lanes (&terms)[2]) {
      const Lanes x = at(from.x + i);
      terms[0] = gradient_of<kKind>(from, i, x);
      terms[1] = terms[0] * (x - mean);
    });
  });
}

void normalize_back(const Normalized& from, std::size_t pixels, float factor, float offset, float* to) {
  with_activation(from.activation, [&](auto kind) {
    for (std::size_t i = 0; i < pixels * kLanes; i += kWidth) {
      const Lanes x = at(from.x + i);
      at(to + i) = gradient_of<kind()>(from, i, x) * from.scale + (x * factor + offset);
    }
  });
}

}  // namespace mgcompare::MGCOMPARE_KERNELS
