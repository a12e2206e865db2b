// Kernels of winograd.h. kernels_body.h includes this file once for each instruction set.

namespace mgcompare::MGCOMPARE_KERNELS {

// The transforms of one axis, with the points 0, 1, -1 and infinity.
MGCOMPARE_INLINE void transform_input(const Lanes (&d)[4], Lanes (&to)[4]) {
  to[0] = d[0] - d[2];
  to[1] = d[1] + d[2];
  to[2] = d[2] - d[1];
  to[3] = d[1] - d[3];
}
MGCOMPARE_INLINE void transform_products(const Lanes (&m)[4], Lanes (&to)[2]) {
  to[0] = m[0] + m[1] + m[2];
  to[1] = m[1] - m[2] - m[3];
}
MGCOMPARE_INLINE void transform_gradient(const Lanes (&y)[2], Lanes (&to)[4]) {
  to[0] = y[0];
  to[1] = y[0] + y[1];
  to[2] = y[0] - y[1];
  to[3] = Lanes{} - y[1];
}

// A square of N x N pixels of one plane whose first pixel is (top, left); zeros outside of the plane.
template <int N>
MGCOMPARE_INLINE void load_square(const float* plane, std::ptrdiff_t height, std::ptrdiff_t width, std::ptrdiff_t top, std::ptrdiff_t left,
                                  Lanes (&to)[N][N]) {
  const bool inside = top >= 0 && left >= 0 && top + N <= height && left + N <= width;
#pragma GCC unroll 4
  for (int y = 0; y < N; ++y) {
#pragma GCC unroll 4
    for (int x = 0; x < N; ++x) {
      const std::ptrdiff_t row = top + y, column = left + x;
      const bool has = inside || (row >= 0 && column >= 0 && row < height && column < width);
      to[y][x] = has ? at(plane + (row * width + column) * static_cast<std::ptrdiff_t>(kLanes)) : Lanes{};
    }
  }
}

// Transforms an N x N square to 4 x 4, by columns, then by rows.
template <int N, void (*kTransform)(const Lanes (&)[N], Lanes (&)[4])>
MGCOMPARE_INLINE void transform_square(const Lanes (&square)[N][N], float* to, std::size_t stride) {
  Lanes half[4][N];
#pragma GCC unroll 4
  for (int x = 0; x < N; ++x) {
    Lanes column[N], changed[4];
#pragma GCC unroll 4
    for (int y = 0; y < N; ++y) column[y] = square[y][x];
    kTransform(column, changed);
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) half[k][x] = changed[k];
  }
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    Lanes changed[4];
    kTransform(half[k], changed);
#pragma GCC unroll 4
    for (int m = 0; m < 4; ++m) at(to + static_cast<std::size_t>(k * 4 + m) * stride) = changed[m];
  }
}

template <int N, void (*kTransform)(const Lanes (&)[N], Lanes (&)[4])>
void transform_all(const TiledPlanes& planes, const float* image, std::size_t first, std::size_t count, std::size_t pitch, float* to) {
  const std::size_t stride = place_stride(planes.channels, pitch) * kLanes;
  for (std::size_t c = 0; c < planes.channels; ++c) {
    const float* const plane = image + c * planes.height * planes.width * kLanes;
    for (std::size_t t = 0; t < count; ++t) {
      const std::size_t tile = first + t;
      const auto top = static_cast<std::ptrdiff_t>(2 * (tile / planes.across)) - static_cast<std::ptrdiff_t>(planes.padding[0]);
      const auto left = static_cast<std::ptrdiff_t>(2 * (tile % planes.across)) - static_cast<std::ptrdiff_t>(planes.padding[1]);
      for (std::size_t lane = 0; lane < kLanes; lane += kWidth) {
        Lanes square[N][N];
        load_square<N>(plane + lane, static_cast<std::ptrdiff_t>(planes.height), static_cast<std::ptrdiff_t>(planes.width), top, left, square);
        transform_square<N, kTransform>(square, to + (c * pitch + t) * kLanes + lane, stride);
      }
    }
  }
}

void transform_tiles(const TiledPlanes& planes, const float* image, std::size_t first, std::size_t count, std::size_t pitch, float* to) {
  transform_all<4, transform_input>(planes, image, first, count, pitch, to);
}

void transform_gradients(const TiledPlanes& planes, const float* image, std::size_t first, std::size_t count, std::size_t pitch, float* to) {
  transform_all<2, transform_gradient>(planes, image, first, count, pitch, to);
}

// products[o][x] = sum over the channels of weights[channel][o] * tiles[channel][x].
template <int O, int X>
MGCOMPARE_INLINE void multiply_some(const float* tiles, const float* weights, std::size_t channels, std::size_t pitch, float* products) {
  Lanes sums[O][X] = {};
  for (std::size_t c = 0; c < channels; ++c) {
    Lanes values[X];
#pragma GCC unroll 8
    for (int x = 0; x < X; ++x) values[x] = at(tiles + static_cast<std::size_t>(x) * kLanes);
#pragma GCC unroll 8
    for (int o = 0; o < O; ++o) {
      const float weight = weights[o];
#pragma GCC unroll 8
      for (int x = 0; x < X; ++x) sums[o][x] += weight * values[x];
    }
    tiles += pitch * kLanes;
    weights += O;
  }
#pragma GCC unroll 8
  for (int o = 0; o < O; ++o) {
#pragma GCC unroll 8
    for (int x = 0; x < X; ++x) at(products + (static_cast<std::size_t>(o) * pitch + static_cast<std::size_t>(x)) * kLanes) = sums[o][x];
  }
}

template <int O>
void multiply_outputs(const float* tiles, const float* weights, std::size_t channels, std::size_t count, std::size_t pitch, float* products) {
  for (std::size_t place = 0; place < kPlaces; ++place) {
    for (std::size_t lane = 0; lane < kLanes; lane += kWidth) {
      std::size_t t = 0;
      const auto from = [&] { return tiles + t * kLanes + lane; };
      const auto to = [&] { return products + t * kLanes + lane; };
      for (; t + kPixels <= count; t += kPixels) multiply_some<O, kPixels>(from(), weights, channels, pitch, to());
      for (; t + 2 <= count; t += 2) multiply_some<O, 2>(from(), weights, channels, pitch, to());
      if (t < count) multiply_some<O, 1>(from(), weights, channels, pitch, to());
    }
    tiles += place_stride(channels, pitch) * kLanes;
    weights += channels * O;
    products += place_stride(kTile, pitch) * kLanes;
  }
}

void multiply_tiles(const float* tiles, const float* weights, std::size_t channels, std::size_t outputs, std::size_t count,
                    std::size_t pitch, float* products) {
  switch (outputs) {
    case 1: return multiply_outputs<1>(tiles, weights, channels, count, pitch, products);
    case 2: return multiply_outputs<2>(tiles, weights, channels, count, pitch, products);
    case 3: return multiply_outputs<3>(tiles, weights, channels, count, pitch, products);
    case 4: return multiply_outputs<4>(tiles, weights, channels, count, pitch, products);
    default: return multiply_outputs<5>(tiles, weights, channels, count, pitch, products);
  }
}

void finish_tiles(const TiledPlanes& planes, const float* products, const float* bias, std::size_t first, std::size_t count,
                  std::size_t pitch, float* out) {
  const std::size_t stride = place_stride(kTile, pitch) * kLanes;
  for (std::size_t o = 0; o < planes.channels; ++o) {
    float* const plane = out + o * planes.height * planes.width * kLanes;
    const float shift = bias == nullptr ? 0.0f : bias[o];
    for (std::size_t t = 0; t < count; ++t) {
      const std::size_t top = 2 * ((first + t) / planes.across), left = 2 * ((first + t) % planes.across);
      for (std::size_t lane = 0; lane < kLanes; lane += kWidth) {
        const float* const from = products + (o * pitch + t) * kLanes + lane;
        Lanes half[2][4];
#pragma GCC unroll 4
        for (int x = 0; x < 4; ++x) {
          Lanes column[4], changed[2];
#pragma GCC unroll 4
          for (int y = 0; y < 4; ++y) column[y] = at(from + static_cast<std::size_t>(y * 4 + x) * stride);
          transform_products(column, changed);
          half[0][x] = changed[0];
          half[1][x] = changed[1];
        }
        for (std::size_t y = 0; y < 2 && top + y < planes.height; ++y) {
          Lanes pixels[2];
          transform_products(half[y], pixels);
          float* const to = plane + ((top + y) * planes.width + left) * kLanes + lane;
          at(to) = pixels[0] + shift;
          if (left + 1 < planes.width) at(to + kLanes) = pixels[1] + shift;
        }
      }
    }
  }
}

template <int O, int K>
MGCOMPARE_INLINE void correlate_some(const float* gradients, const float* tiles, std::size_t count, std::size_t pitch, float* sums,
                                     std::size_t channels) {
  Lanes totals[O][K] = {};
  for (std::size_t lane = 0; lane < kLanes; lane += kWidth) {
    const float* slope = gradients + lane;
    const float* value = tiles + lane;
    for (std::size_t t = 0; t < count; ++t) {
      Lanes values[K];
#pragma GCC unroll 8
      for (int k = 0; k < K; ++k) values[k] = at(value + static_cast<std::size_t>(k) * pitch * kLanes);
#pragma GCC unroll 8
      for (int o = 0; o < O; ++o) {
        const Lanes factor = at(slope + static_cast<std::size_t>(o) * pitch * kLanes);
#pragma GCC unroll 8
        for (int k = 0; k < K; ++k) totals[o][k] += factor * values[k];
      }
      slope += kLanes;
      value += kLanes;
    }
  }
  for (int o = 0; o < O; ++o)
    for (int k = 0; k < K; ++k) sums[static_cast<std::size_t>(o) * channels + static_cast<std::size_t>(k)] += sum_lanes(totals[o][k]);
}

template <int O>
void correlate_outputs(const float* gradients, const float* tiles, std::size_t begin, std::size_t end, std::size_t channels,
                       std::size_t count, std::size_t pitch, float* sums) {
  std::size_t c = begin;
  for (; c + kTerms <= end; c += kTerms)
    correlate_some<O, kTerms>(gradients, tiles + c * pitch * kLanes, count, pitch, sums + c, channels);
  for (; c < end; ++c) correlate_some<O, 1>(gradients, tiles + c * pitch * kLanes, count, pitch, sums + c, channels);
}

void correlate_tiles(const float* gradients, const float* tiles, std::size_t outputs, std::size_t channels, std::size_t count,
                     std::size_t pitch, float* sums) {
  // Channels whose tiles stay in the L2 cache while all outputs are combined with them.
  constexpr std::size_t kBytes = std::size_t{256} << 10;
  const std::size_t fitting = kBytes / (count * kLanes * sizeof(float)) / kTerms * kTerms;
  const std::size_t chunk = fitting < kTerms ? kTerms : fitting;
  for (std::size_t place = 0; place < kPlaces; ++place) {
    const float* const values = tiles + place * place_stride(channels, pitch) * kLanes;
    for (std::size_t begin = 0; begin < channels; begin += chunk) {
      const std::size_t end = begin + chunk < channels ? begin + chunk : channels;
      for (std::size_t o = 0; o < outputs; o += kTile) {
        const float* const slopes = gradients + (place * place_stride(outputs, pitch) + o * pitch) * kLanes;
        float* const to = sums + (place * outputs + o) * channels;
        switch (outputs - o) {
          case 1: correlate_outputs<1>(slopes, values, begin, end, channels, count, pitch, to); break;
          case 2: correlate_outputs<2>(slopes, values, begin, end, channels, count, pitch, to); break;
          case 3: correlate_outputs<3>(slopes, values, begin, end, channels, count, pitch, to); break;
          case 4: correlate_outputs<4>(slopes, values, begin, end, channels, count, pitch, to); break;
          default: correlate_outputs<5>(slopes, values, begin, end, channels, count, pitch, to); break;
        }
      }
    }
  }
}

}  // namespace mgcompare::MGCOMPARE_KERNELS
