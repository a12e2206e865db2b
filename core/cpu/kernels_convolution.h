// Convolution kernels. kernels_body.h includes this file once for each instruction set.

namespace mgcompare::MGCOMPARE_KERNELS {

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
                   const float* bias, std::size_t row_begin, std::size_t row_end, float* out, std::size_t out_plane) {
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
              const float* bias, std::size_t count, std::size_t row_begin, std::size_t row_end, float* out, std::size_t out_plane) {
  switch (count) {
    case 1: return convolve_rows<1>(shape, offsets, in, weights, bias, row_begin, row_end, out, out_plane);
    case 2: return convolve_rows<2>(shape, offsets, in, weights, bias, row_begin, row_end, out, out_plane);
    case 3: return convolve_rows<3>(shape, offsets, in, weights, bias, row_begin, row_end, out, out_plane);
    case 4: return convolve_rows<4>(shape, offsets, in, weights, bias, row_begin, row_end, out, out_plane);
    default: return convolve_rows<5>(shape, offsets, in, weights, bias, row_begin, row_end, out, out_plane);
  }
}

// Adds the contribution of X adjacent output pixels to the gradients of K terms each.
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

}  // namespace mgcompare::MGCOMPARE_KERNELS
