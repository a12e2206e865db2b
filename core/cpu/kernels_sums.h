// Sums in double precision, by lanes. kernels_body.h includes this file once for each instruction set.

namespace mgcompare::MGCOMPARE_KERNELS {

typedef double Doubles __attribute__((vector_size(kWidth * sizeof(double)), aligned(sizeof(double)), may_alias));

MGCOMPARE_INLINE Doubles& doubles(double* p) { return *reinterpret_cast<Doubles*>(p); }

// sums += the sum of term(part of a pixel) over the pixels.
template <class Term> MGCOMPARE_INLINE void add_pixels(std::size_t pixels, double* sums, Term term) {
  for (std::size_t part = 0; part < kLanes; part += kWidth) {
    Doubles sum = doubles(sums + part);
    for (std::size_t p = 0; p < pixels; ++p) sum += __builtin_convertvector(term(p * kLanes + part), Doubles);
    doubles(sums + part) = sum;
  }
}

void sum_lanes(const float* x, std::size_t pixels, double* sums) {
  add_pixels(pixels, sums, [x](std::size_t i) { return at(x + i); });
}

void sum_squares(const float* x, std::size_t pixels, float mean, double* sums) {
  add_pixels(pixels, sums, [x, mean](std::size_t i) {
    const Lanes distance = at(x + i) - mean;
    return distance * distance;
  });
}

void sum_products(const float* gradient, const float* x, std::size_t pixels, float mean, double* sums, double* products) {
  add_pixels(pixels, sums, [gradient](std::size_t i) { return at(gradient + i); });
  add_pixels(pixels, products, [gradient, x, mean](std::size_t i) { return at(gradient + i) * (at(x + i) - mean); });
}

}  // namespace mgcompare::MGCOMPARE_KERNELS
