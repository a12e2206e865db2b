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
  const float* const corner = plane + (top * width + left) * static_cast<std::ptrdiff_t>(kLanes);
  const auto pixel = [&](int y, int x) -> const Lanes& { return at(corner + (y * width + x) * static_cast<std::ptrdiff_t>(kLanes)); };
  if (top >= 0 && left >= 0 && top + N <= height && left + N <= width) {
#pragma GCC unroll 4
    for (int y = 0; y < N; ++y) {
#pragma GCC unroll 4
      for (int x = 0; x < N; ++x) to[y][x] = pixel(y, x);
    }
    return;
  }
#pragma GCC unroll 4
  for (int y = 0; y < N; ++y) {
#pragma GCC unroll 4
    for (int x = 0; x < N; ++x) {
      const bool has = top + y >= 0 && left + x >= 0 && top + y < height && left + x < width;
      to[y][x] = has ? pixel(y, x) : Lanes{};
    }
  }
}

// The pixels of a square that the square before it does not have.
template <int N> MGCOMPARE_INLINE void prefetch_square(const float* plane, std::size_t width, std::ptrdiff_t top, std::ptrdiff_t left) {
#pragma GCC unroll 4
  for (int y = 0; y < N; ++y) {
#pragma GCC unroll 2
    for (int x = N - 2; x < N; ++x) {
      __builtin_prefetch(plane + ((top + y) * static_cast<std::ptrdiff_t>(width) + left + x) * static_cast<std::ptrdiff_t>(kLanes));
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
    const float* const next = c + 1 < planes.channels ? plane + planes.height * planes.width * kLanes : image;
    for (std::size_t t = 0; t < count; ++t) {
      const std::size_t tile = first + t;
      const auto top = static_cast<std::ptrdiff_t>(2 * (tile / planes.across)) - static_cast<std::ptrdiff_t>(planes.padding[0]);
      const auto left = static_cast<std::ptrdiff_t>(2 * (tile % planes.across)) - static_cast<std::ptrdiff_t>(planes.padding[1]);
      prefetch_square<N>(next, planes.width, top, left);
      for (std::size_t lane = 0; lane < kLanes; lane += kWidth) {
        Lanes square[N][N];
        load_square<N>(plane + lane, static_cast<std::ptrdiff_t>(planes.height), static_cast<std::ptrdiff_t>(planes.width), top, left, square);
        transform_square<N, kTransform>(square, to + t / pitch * kPlaces * stride + (c * pitch + t % pitch) * kLanes + lane, stride);
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
MGCOMPARE_INLINE void multiply_some(const float* tiles, const float* weights, std::size_t channels, float* products) {
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
    tiles += kChunk * kLanes;
    weights += O;
  }
#pragma GCC unroll 8
  for (int o = 0; o < O; ++o) {
#pragma GCC unroll 8
    for (int x = 0; x < X; ++x) at(products + (static_cast<std::size_t>(o) * kChunk + static_cast<std::size_t>(x)) * kLanes) = sums[o][x];
  }
}

template <int O>
void multiply_outputs(const float* tiles, const float* weights, std::size_t channels, std::size_t count, float* products) {
  for (std::size_t lane = 0; lane < kLanes; lane += kWidth) {
    std::size_t t = 0;
    const auto from = [&] { return tiles + t * kLanes + lane; };
    const auto to = [&] { return products + t * kLanes + lane; };
    for (; t + kPixels <= count; t += kPixels) multiply_some<O, kPixels>(from(), weights, channels, to());
    for (; t + 2 <= count; t += 2) multiply_some<O, 2>(from(), weights, channels, to());
    if (t < count) multiply_some<O, 1>(from(), weights, channels, to());
  }
}

// All outputs of a place before the next place: its tiles and weights stay in the L1 cache.
void multiply_tiles(const float* tiles, const float* weights, std::size_t channels, std::size_t outputs, std::size_t count, float* products) {
  const EvenParts parts{outputs, kTile};
  for (std::size_t place = 0; place < kPlaces; ++place) {
    for (std::size_t part = 0; part < parts.count(); ++part) {
      const std::size_t begin = parts.begin(part);
      const float* const some = weights + begin * channels;
      float* const to = products + begin * kChunk * kLanes;
      switch (parts.begin(part + 1) - begin) {
        case 1: multiply_outputs<1>(tiles, some, channels, count, to); break;
        case 2: multiply_outputs<2>(tiles, some, channels, count, to); break;
        case 3: multiply_outputs<3>(tiles, some, channels, count, to); break;
        case 4: multiply_outputs<4>(tiles, some, channels, count, to); break;
        default: multiply_outputs<5>(tiles, some, channels, count, to); break;
      }
    }
    tiles += place_stride(channels, kChunk) * kLanes;
    weights += channels * outputs;
    products += place_stride(outputs, kChunk) * kLanes;
  }
}

void finish_tiles(const TiledPlanes& planes, const float* products, const float* bias, std::size_t first, std::size_t count, float* out) {
  const std::size_t stride = place_stride(planes.channels, kChunk) * kLanes;
  for (std::size_t o = 0; o < planes.channels; ++o) {
    float* const plane = out + o * planes.height * planes.width * kLanes;
    const float shift = bias == nullptr ? 0.0f : bias[o];
    for (std::size_t t = 0; t < count; ++t) {
      const std::size_t top = 2 * ((first + t) / planes.across), left = 2 * ((first + t) % planes.across);
      for (std::size_t lane = 0; lane < kLanes; lane += kWidth) {
        const float* const from = products + (o * kChunk + t) * kLanes + lane;
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

// Runs of Half lanes from two registers in turn: the first or the second half of each pair of runs.
template <int Half, int Second, int... lane> MGCOMPARE_INLINE Lanes picked(Lanes one, Lanes other, std::integer_sequence<int, lane...>) {
  return __builtin_shufflevector(one, other, (lane / Half % 2 * static_cast<int>(kWidth) + lane / Half / 2 * 2 * Half + Second * Half + lane % Half)...);
}

template <int Half> MGCOMPARE_INLINE void add_halves(Lanes (&rows)[kWidth]) {
  constexpr auto kAll = std::make_integer_sequence<int, static_cast<int>(kWidth)>();
#pragma GCC unroll 8
  for (int i = 0; i < Half; ++i) rows[i] = picked<Half, 0>(rows[i], rows[i + Half], kAll) + picked<Half, 1>(rows[i], rows[i + Half], kAll);
  if constexpr (Half > 1) add_halves<Half / 2>(rows);
}

// The sums of each register's lanes, added pairwise as by sum_lanes().
MGCOMPARE_INLINE Lanes sum_each(Lanes (&rows)[kWidth]) {
  add_halves<static_cast<int>(kWidth) / 2>(rows);
  return rows[0];
}

// One part of outputs and of channels: sums[o][k] += the products of gradient o and input k.
template <int O, int K>
void correlate_some(const float* gradients, const float* tiles, std::size_t count, std::size_t pitch, float* sums, std::size_t channels) {
  constexpr int kRows = (O * K + static_cast<int>(kWidth) - 1) / static_cast<int>(kWidth) * static_cast<int>(kWidth);
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
  float added[kRows];
#pragma GCC unroll 8
  for (int first = 0; first < kRows; first += kWidth) {
    Lanes rows[kWidth];
#pragma GCC unroll 16
    for (int i = 0; i < static_cast<int>(kWidth); ++i) rows[i] = first + i < O * K ? totals[(first + i) / K % O][(first + i) % K] : Lanes{};
    store(added + first, sum_each(rows), kWidth);
  }
#pragma GCC unroll 8
  for (int o = 0; o < O; ++o)
#pragma GCC unroll 8
    for (int k = 0; k < K; ++k) sums[static_cast<std::size_t>(o) * channels + static_cast<std::size_t>(k)] += added[o * K + k];
}

template <int O>
void correlate_outputs(const float* gradients, const float* tiles, std::size_t width, std::size_t count, std::size_t pitch, float* sums,
                       std::size_t channels) {
  static_assert(kTerms == 2 || kTerms == 5);
  switch (width) {
    case 1: return correlate_some<O, 1>(gradients, tiles, count, pitch, sums, channels);
    case 2: return correlate_some<O, 2>(gradients, tiles, count, pitch, sums, channels);
    case 3: return correlate_some<O, kTerms == 5 ? 3 : 1>(gradients, tiles, count, pitch, sums, channels);
    case 4: return correlate_some<O, kTerms == 5 ? 4 : 1>(gradients, tiles, count, pitch, sums, channels);
    default: return correlate_some<O, kTerms>(gradients, tiles, count, pitch, sums, channels);
  }
}

// The tiles of a part of the channels stay in the L1 cache while all outputs are combined with them.
void correlate_tiles(const float* gradients, const float* tiles, std::size_t outputs, std::size_t channels, std::size_t count,
                     std::size_t pitch, float* sums) {
  const EvenParts inputs{channels, kTerms}, parts{outputs, kTile};
  for (std::size_t place = 0; place < kPlaces; ++place) {
    for (std::size_t input = 0; input < inputs.count(); ++input) {
      const std::size_t c = inputs.begin(input), width = inputs.begin(input + 1) - c;
      for (std::size_t part = 0; part < parts.count(); ++part) {
        const std::size_t o = parts.begin(part);
        const float* const slopes = gradients + o * pitch * kLanes;
        const float* const values = tiles + c * pitch * kLanes;
        float* const to = sums + o * channels + c;
        switch (parts.begin(part + 1) - o) {
          case 1: correlate_outputs<1>(slopes, values, width, count, pitch, to, channels); break;
          case 2: correlate_outputs<2>(slopes, values, width, count, pitch, to, channels); break;
          case 3: correlate_outputs<3>(slopes, values, width, count, pitch, to, channels); break;
          case 4: correlate_outputs<4>(slopes, values, width, count, pitch, to, channels); break;
          default: correlate_outputs<5>(slopes, values, width, count, pitch, to, channels); break;
        }
      }
    }
    gradients += place_stride(outputs, pitch) * kLanes;
    tiles += place_stride(channels, pitch) * kLanes;
    sums += outputs * channels;
  }
}

}  // namespace mgcompare::MGCOMPARE_KERNELS
