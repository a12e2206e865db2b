// Included once by each kernels_<instruction set>.cc, after it has named the namespace MGCOMPARE_KERNELS and set kWidth
// (floats a register), kPixels and kTerms (how many pixels, and terms, share a tile of kTile sums). No #pragma once: the
// text is compiled for each instruction set.

namespace mgcompare::MGCOMPARE_KERNELS {

typedef float Lanes __attribute__((vector_size(kWidth * sizeof(float)), aligned(kWidth * sizeof(float)), may_alias));
typedef float Loose __attribute__((vector_size(kWidth * sizeof(float)), aligned(sizeof(float)), may_alias));
typedef std::int32_t Words __attribute__((vector_size(kWidth * sizeof(float))));
typedef std::uint8_t Bytes __attribute__((vector_size(kWidth), aligned(1), may_alias));

#define MGCOMPARE_INLINE inline __attribute__((always_inline))

MGCOMPARE_INLINE const Lanes& at(const float* p) { return *reinterpret_cast<const Lanes*>(p); }
MGCOMPARE_INLINE Lanes& at(float* p) { return *reinterpret_cast<Lanes*>(p); }

// sums[o][x] += weights[t][o] * in[offsets[t] + x * step] over all terms t.
template <int O, int X>
MGCOMPARE_INLINE void weighted_sums(const float* weights, const float* in, const std::uint32_t* offsets,
                                    std::size_t terms, std::size_t step, Lanes (&sums)[O][X]) {
  for (std::size_t t = 0; t < terms; ++t) {
    const float* const source = in + offsets[t];
    Lanes values[X];
#pragma GCC unroll 8
    for (int x = 0; x < X; ++x) values[x] = at(source + static_cast<std::size_t>(x) * step);
#pragma GCC unroll 8
    for (int o = 0; o < O; ++o) {
      const float weight = weights[o];
#pragma GCC unroll 8
      for (int x = 0; x < X; ++x) sums[o][x] += weight * values[x];
    }
    weights += O;
  }
}

template <int O, int X>
void convolve_tile(const ConvolutionShape& shape, const std::uint32_t* offsets, const float* in, const float* weights,
                   const float* bias, float* out, std::size_t out_plane) {
  Lanes sums[O][X];
#pragma GCC unroll 8
  for (int o = 0; o < O; ++o) {
#pragma GCC unroll 8
    for (int x = 0; x < X; ++x) sums[o][x] = Lanes{} + (bias == nullptr ? 0.0f : bias[o]);
  }
  weighted_sums<O, X>(weights, in, offsets, shape.terms(), shape.stride_width * kLanes, sums);
#pragma GCC unroll 8
  for (int o = 0; o < O; ++o) {
#pragma GCC unroll 8
    for (int x = 0; x < X; ++x) at(out + static_cast<std::size_t>(o) * out_plane + static_cast<std::size_t>(x) * kLanes) = sums[o][x];
  }
}

template <int O>
void convolve_rows(const ConvolutionShape& shape, const std::uint32_t* offsets, const float* in, const float* weights,
                   const float* bias, std::size_t row_begin, std::size_t row_end, float* out) {
  const std::size_t out_plane = (row_end - row_begin) * shape.out_width * kLanes;
  for (std::size_t y = row_begin; y < row_end; ++y) {
    const float* const in_row = in + y * shape.stride_height * shape.width * kLanes;
    float* const out_row = out + (y - row_begin) * shape.out_width * kLanes;
    for (std::size_t lane = 0; lane < kLanes; lane += kWidth) {
      std::size_t x = 0;
      const auto source = [&] { return in_row + x * shape.stride_width * kLanes + lane; };
      const auto target = [&] { return out_row + x * kLanes + lane; };
      for (; x + kPixels <= shape.out_width; x += kPixels) {
        convolve_tile<O, kPixels>(shape, offsets, source(), weights, bias, target(), out_plane);
      }
      if (x + 2 < shape.out_width) {
        convolve_tile<O, 3>(shape, offsets, source(), weights, bias, target(), out_plane);
        x += 3;
      } else if (x + 1 < shape.out_width) {
        convolve_tile<O, 2>(shape, offsets, source(), weights, bias, target(), out_plane);
        x += 2;
      } else if (x < shape.out_width) {
        convolve_tile<O, 1>(shape, offsets, source(), weights, bias, target(), out_plane);
      }
    }
  }
}

void convolve(const ConvolutionShape& shape, const std::uint32_t* offsets, const float* in, const float* weights,
              const float* bias, std::size_t count, std::size_t row_begin, std::size_t row_end, float* out) {
  switch (count) {
    case 1: return convolve_rows<1>(shape, offsets, in, weights, bias, row_begin, row_end, out);
    case 2: return convolve_rows<2>(shape, offsets, in, weights, bias, row_begin, row_end, out);
    case 3: return convolve_rows<3>(shape, offsets, in, weights, bias, row_begin, row_end, out);
    case 4: return convolve_rows<4>(shape, offsets, in, weights, bias, row_begin, row_end, out);
    default: return convolve_rows<5>(shape, offsets, in, weights, bias, row_begin, row_end, out);
  }
}

// X neighbouring pixels of the output send their gradient to K terms each.
template <int K, int X>
void convolve_back_tile(const ConvolutionShape& shape, const std::uint32_t* offsets, const float* out_gradient,
                        const float* weights, float* in_gradient) {
  Lanes sums[K][X] = {};
  const std::size_t plane = shape.output_plane() * kLanes;
  for (std::size_t o = 0; o < shape.outputs; ++o) {
    Lanes values[X];
#pragma GCC unroll 8
    for (int x = 0; x < X; ++x) values[x] = at(out_gradient + static_cast<std::size_t>(x) * kLanes);
#pragma GCC unroll 8
    for (int k = 0; k < K; ++k) {
      const float weight = weights[k];
#pragma GCC unroll 8
      for (int x = 0; x < X; ++x) sums[k][x] += weight * values[x];
    }
    out_gradient += plane;
    weights += K;
  }
  const std::size_t step = shape.stride_width * kLanes;
#pragma GCC unroll 8
  for (int k = 0; k < K; ++k) {
#pragma GCC unroll 8
    for (int x = 0; x < X; ++x) at(in_gradient + offsets[k] + static_cast<std::size_t>(x) * step) += sums[k][x];
  }
}

template <int K>
void convolve_back_row(const ConvolutionShape& shape, const std::uint32_t* offsets, const float* out_row,
                       const float* weights, float* in_row) {
  for (std::size_t lane = 0; lane < kLanes; lane += kWidth) {
    std::size_t x = 0;
    const auto source = [&] { return out_row + x * kLanes + lane; };
    const auto target = [&] { return in_row + x * shape.stride_width * kLanes + lane; };
    for (; x + kPixels <= shape.out_width; x += kPixels) {
      convolve_back_tile<K, kPixels>(shape, offsets, source(), weights, target());
    }
    for (; x + 2 <= shape.out_width; x += 2) convolve_back_tile<K, 2>(shape, offsets, source(), weights, target());
    if (x < shape.out_width) convolve_back_tile<K, 1>(shape, offsets, source(), weights, target());
  }
}

void convolve_back(const ConvolutionShape& shape, const std::uint32_t* offsets, const float* out_gradient,
                   const float* weights, float* in_gradient) {
  const std::size_t terms = shape.terms();
  for (std::size_t y = 0; y < shape.out_height; ++y) {
    const float* const out_row = out_gradient + y * shape.out_width * kLanes;
    float* const in_row = in_gradient + y * shape.stride_height * shape.width * kLanes;
    const float* tile = weights;
    for (std::size_t t = 0; t < terms; t += kTile) {
      const std::size_t count = terms - t < kTile ? terms - t : kTile;
      switch (count) {
        case 1: convolve_back_row<1>(shape, offsets + t, out_row, tile, in_row); break;
        case 2: convolve_back_row<2>(shape, offsets + t, out_row, tile, in_row); break;
        case 3: convolve_back_row<3>(shape, offsets + t, out_row, tile, in_row); break;
        case 4: convolve_back_row<4>(shape, offsets + t, out_row, tile, in_row); break;
        default: convolve_back_row<5>(shape, offsets + t, out_row, tile, in_row); break;
      }
      tile += count * shape.outputs;
    }
  }
}

// The sum of a register's lanes, in pairs: the same order for every compiler.
MGCOMPARE_INLINE float sum_lanes(const Lanes& lanes) {
  float parts[kWidth];
  for (std::size_t i = 0; i < kWidth; ++i) parts[i] = lanes[i];
  for (std::size_t width = kWidth / 2; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) parts[i] += parts[i + width];
  }
  return parts[0];
}

template <int O, int K>
void weights_tile(const ConvolutionShape& shape, const std::uint32_t* offsets, const float* in,
                  const float* out_gradient, std::size_t blocks, bool fresh, float* weight_gradient) {
  Lanes sums[O][K] = {};
  const std::size_t plane = shape.output_plane() * kLanes;
  std::size_t place[K];
#pragma GCC unroll 8
  for (int k = 0; k < K; ++k) place[k] = offsets[k];
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::size_t lane = 0; lane < kLanes; lane += kWidth) {
      const float* gradient = out_gradient + b * shape.outputs * plane + lane;
      for (std::size_t y = 0; y < shape.out_height; ++y) {
        const float* source = in + (b * shape.input_size() + y * shape.stride_height * shape.width) * kLanes + lane;
        for (std::size_t x = 0; x < shape.out_width; ++x) {
          Lanes values[K];
#pragma GCC unroll 8
          for (int k = 0; k < K; ++k) values[k] = at(source + place[k]);
#pragma GCC unroll 8
          for (int o = 0; o < O; ++o) {
            const Lanes slope = at(gradient + static_cast<std::size_t>(o) * plane);
#pragma GCC unroll 8
            for (int k = 0; k < K; ++k) sums[o][k] += slope * values[k];
          }
          gradient += kLanes;
          source += shape.stride_width * kLanes;
        }
      }
    }
  }
  for (int o = 0; o < O; ++o) {
    float* const row = weight_gradient + static_cast<std::size_t>(o) * shape.terms();
    for (int k = 0; k < K; ++k) row[k] = (fresh ? 0.0f : row[k]) + sum_lanes(sums[o][k]);
  }
}

template <int O>
void weights_row(const ConvolutionShape& shape, const std::uint32_t* offsets, const float* in,
                 const float* out_gradient, std::size_t blocks, bool fresh, float* weight_gradient) {
  const std::size_t terms = shape.terms();
  std::size_t t = 0;
  for (; t + kTerms <= terms; t += kTerms) {
    weights_tile<O, kTerms>(shape, offsets + t, in, out_gradient, blocks, fresh, weight_gradient + t);
  }
  for (; t < terms; ++t) weights_tile<O, 1>(shape, offsets + t, in, out_gradient, blocks, fresh, weight_gradient + t);
}

void convolve_weights(const ConvolutionShape& shape, const std::uint32_t* offsets, const float* in,
                      const float* out_gradient, std::size_t blocks, bool fresh, float* weight_gradient) {
  for (std::size_t o = 0; o < shape.outputs; o += kTile) {
    const float* const gradient = out_gradient + o * shape.output_plane() * kLanes;
    float* const target = weight_gradient + o * shape.terms();
    switch (shape.outputs - o) {
      case 1: weights_row<1>(shape, offsets, in, gradient, blocks, fresh, target); break;
      case 2: weights_row<2>(shape, offsets, in, gradient, blocks, fresh, target); break;
      case 3: weights_row<3>(shape, offsets, in, gradient, blocks, fresh, target); break;
      case 4: weights_row<4>(shape, offsets, in, gradient, blocks, fresh, target); break;
      default: weights_row<5>(shape, offsets, in, gradient, blocks, fresh, target); break;
    }
  }
}

// e^x - 1 for 0 <= x <= 20: x = n ln 2 + r, a polynomial in r, and 2^n (p + 1) - 1 arranged so that small x keep their
// relative precision.
MGCOMPARE_INLINE Lanes exponential_minus_one(const Lanes& x) {
  const Lanes shifted = x * 1.44269504f + 12582912.0f;  // rounds to a whole number in the low bits
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
  // A comparison that is false for NaN keeps it: a diverged network must show.
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

template <Activation A> MGCOMPARE_INLINE Lanes slope(const Lanes& y, const Lanes& gradient) {
  if constexpr (A == Activation::tanh) return gradient * (1.0f - y * y);
  if constexpr (A == Activation::relu) return y > 0.0f ? gradient : Lanes{};
  if constexpr (A == Activation::sigmoid) return gradient * (y * (1.0f - y));
  return gradient;
}

// Up to one register of elements at any alignment; `count` is less than kWidth for the last few of a vector.
MGCOMPARE_INLINE Lanes load(const float* p, std::size_t count) {
  if (count >= kWidth) return *reinterpret_cast<const Loose*>(p);
  Lanes lanes = {};
  std::memcpy(&lanes, p, count * sizeof(float));
  return lanes;
}

MGCOMPARE_INLINE void store(float* p, const Lanes& lanes, std::size_t count) {
  if (count >= kWidth) {
    *reinterpret_cast<Loose*>(p) = lanes;
  } else {
    std::memcpy(p, &lanes, count * sizeof(float));
  }
}

template <Activation A> void activate_all(float* x, std::size_t size) {
  for (std::size_t i = 0; i < size; i += kWidth) store(x + i, activated<A>(load(x + i, size - i)), size - i);
}

void activate(Activation activation, float* x, std::size_t size) {
  switch (activation) {
    case Activation::tanh: return activate_all<Activation::tanh>(x, size);
    case Activation::relu: return activate_all<Activation::relu>(x, size);
    case Activation::sigmoid: return activate_all<Activation::sigmoid>(x, size);
    default: return;
  }
}

template <Activation A>
void activate_back_all(const float* y, const float* gradient, float* to, std::size_t size) {
  for (std::size_t i = 0; i < size; i += kWidth) {
    store(to + i, slope<A>(load(y + i, size - i), load(gradient + i, size - i)), size - i);
  }
}

void activate_back(Activation activation, const float* y, const float* gradient, float* to, std::size_t size) {
  switch (activation) {
    case Activation::tanh: return activate_back_all<Activation::tanh>(y, gradient, to, size);
    case Activation::relu: return activate_back_all<Activation::relu>(y, gradient, to, size);
    case Activation::sigmoid: return activate_back_all<Activation::sigmoid>(y, gradient, to, size);
    default: return activate_back_all<Activation::none>(y, gradient, to, size);
  }
}

template <Activation A>
void add_bias_all(const float* bias, float* x, std::size_t rows, std::size_t columns) {
  for (std::size_t row = 0; row < rows; ++row) {
    float* const line = x + row * columns;
    for (std::size_t i = 0; i < columns; i += kWidth) {
      const Lanes shift = bias == nullptr ? Lanes{} : load(bias + i, columns - i);
      store(line + i, activated<A>(load(line + i, columns - i) + shift), columns - i);
    }
  }
}

void add_bias(Activation activation, const float* bias, float* x, std::size_t rows, std::size_t columns) {
  switch (activation) {
    case Activation::tanh: return add_bias_all<Activation::tanh>(bias, x, rows, columns);
    case Activation::relu: return add_bias_all<Activation::relu>(bias, x, rows, columns);
    case Activation::sigmoid: return add_bias_all<Activation::sigmoid>(bias, x, rows, columns);
    default: return add_bias_all<Activation::none>(bias, x, rows, columns);
  }
}

void sum_rows(const float* x, std::size_t rows, std::size_t columns, float* sums) {
  std::memset(sums, 0, columns * sizeof(float));
  for (std::size_t row = 0; row < rows; ++row) {
    const float* const line = x + row * columns;
    for (std::size_t i = 0; i < columns; i += kWidth) {
      store(sums + i, load(sums + i, columns - i) + load(line + i, columns - i), columns - i);
    }
  }
}

float sum_plane(const float* x, std::size_t pixels) {
  Lanes sums[kLanes / kWidth] = {};
  for (std::size_t p = 0; p < pixels; ++p) {
    for (std::size_t part = 0; part < kLanes / kWidth; ++part) sums[part] += at(x + p * kLanes + part * kWidth);
  }
  float sum = 0;
  for (const Lanes& part : sums) sum += sum_lanes(part);
  return sum;
}

template <Activation A>
void pool_row_all(const float* in, std::size_t width, std::size_t pool_height, std::size_t pool_width, float* out,
                  std::uint8_t* choice) {
  for (std::size_t x = 0; x < width / pool_width; ++x) {
    for (std::size_t lane = 0; lane < kLanes; lane += kWidth) {
      const float* const window = in + x * pool_width * kLanes + lane;
      Lanes best = at(window);
      Words winner = {};
      std::int32_t place = 0;
      for (std::size_t row = 0; row < pool_height; ++row) {
        for (std::size_t column = 0; column < pool_width; ++column, ++place) {
          const Lanes value = at(window + (row * width + column) * kLanes);
          // Not "value > best": NaN must win, or a diverged network could look healthy.
          winner = value <= best ? winner : Words{} + place;
          best = value <= best ? best : value;
        }
      }
      at(out + x * kLanes + lane) = activated<A>(best);
      *reinterpret_cast<Bytes*>(choice + x * kLanes + lane) = __builtin_convertvector(winner, Bytes);
    }
  }
}

void pool_row(const float* in, std::size_t width, std::size_t pool_height, std::size_t pool_width,
              Activation activation, float* out, std::uint8_t* choice) {
  switch (activation) {
    case Activation::tanh: return pool_row_all<Activation::tanh>(in, width, pool_height, pool_width, out, choice);
    case Activation::relu: return pool_row_all<Activation::relu>(in, width, pool_height, pool_width, out, choice);
    case Activation::sigmoid: return pool_row_all<Activation::sigmoid>(in, width, pool_height, pool_width, out, choice);
    default: return pool_row_all<Activation::none>(in, width, pool_height, pool_width, out, choice);
  }
}

void unpool_row(const float* gradient, const std::uint8_t* choice, std::size_t width, std::size_t pool_height,
                std::size_t pool_width, float* in_gradient) {
  const std::size_t pooled = width / pool_width;
  for (std::size_t row = 0; row < pool_height; ++row) {
    float* const line = in_gradient + row * width * kLanes;
    for (std::size_t x = pooled * pool_width; x < width; ++x) std::memset(line + x * kLanes, 0, kLanes * sizeof(float));
  }
  for (std::size_t x = 0; x < pooled; ++x) {
    for (std::size_t lane = 0; lane < kLanes; lane += kWidth) {
      const Lanes value = at(gradient + x * kLanes + lane);
      const Words winner =
          __builtin_convertvector(*reinterpret_cast<const Bytes*>(choice + x * kLanes + lane), Words);
      std::int32_t place = 0;
      for (std::size_t row = 0; row < pool_height; ++row) {
        for (std::size_t column = 0; column < pool_width; ++column, ++place) {
          at(in_gradient + (row * width + x * pool_width + column) * kLanes + lane) = winner == place ? value : Lanes{};
        }
      }
    }
  }
}

const Kernels kKernels = {kName,        convolve,   convolve_back, convolve_weights, pool_row, unpool_row,
                          activate,     activate_back, add_bias,   sum_rows,         sum_plane};

#undef MGCOMPARE_INLINE

}  // namespace mgcompare::MGCOMPARE_KERNELS
