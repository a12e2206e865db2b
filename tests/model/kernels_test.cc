// The kernels of every instruction set against plain loops, on shapes that leave remainders.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cpu/kernels.h"
#include "cpu/kernels_sets.h"
#include "rig.h"

namespace mgcompare::testing {
namespace {

std::vector<const Kernels*> sets() {
  std::vector<const Kernels*> found = {&plain::kKernels};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back(&avx2::kKernels);
#endif
  if (&kernels() == &avx512::kKernels) found.push_back(&avx512::kKernels);
  return found;
}

class KernelSets : public ::testing::TestWithParam<const Kernels*> {
 protected:
  Array<float> random(std::size_t size, std::uint64_t stream) {
    Array<float> array(device_, size);
    for (std::size_t i = 0; i < size; ++i) array[i] = static_cast<float>(Random(4, stream).normal(i));
    return array;
  }

  MemoryMeter meter_;
  CpuDevice device_{0, meter_};
  const Kernels& kernels_ = *GetParam();
};

std::vector<std::uint32_t> offsets_of(const ConvolutionShape& shape) {
  std::vector<std::uint32_t> offsets;
  for (std::size_t c = 0; c < shape.channels; ++c) {
    for (std::size_t y = 0; y < shape.kernel_height; ++y) {
      for (std::size_t x = 0; x < shape.kernel_width; ++x) {
        offsets.push_back(static_cast<std::uint32_t>(((c * shape.height + y) * shape.width + x) * kLanes));
      }
    }
  }
  return offsets;
}

TEST_P(KernelSets, ConvolveForwardAndBackward) {
  for (const ConvolutionShape& shape : {ConvolutionShape{3, 6, 9, 7, 4, 7, 3, 3, 1, 1}, {1, 7, 7, 5, 3, 3, 3, 3, 2, 2},
                                        {2, 5, 6, 11, 5, 6, 1, 1, 1, 1}, {4, 5, 12, 4, 4, 4, 2, 2, 1, 3}}) {
    const std::vector<std::uint32_t> offsets = offsets_of(shape);
    const std::size_t terms = shape.terms(), plane = shape.output_plane(), blocks = 2;
    const Array<float> in = random(blocks * shape.input_size() * kLanes, 1), weights = random(shape.outputs * terms, 2);
    const Array<float> slopes = random(blocks * shape.outputs * plane * kLanes, 3), bias = random(shape.outputs, 4);
    Array<float> out(device_, shape.outputs * plane * kLanes), back(device_, shape.input_size() * kLanes);
    Array<float> weight_slopes(device_, shape.outputs * terms);

    Numbers expected(out.size()), expected_back(back.size()), expected_weights(weight_slopes.size());
    for (std::size_t b = 0; b < blocks; ++b) {
      for (std::size_t o = 0; o < shape.outputs; ++o) {
        for (std::size_t i = 0; i < plane * kLanes; ++i) {
          const std::size_t pixel = i / kLanes, y = pixel / shape.out_width, x = pixel % shape.out_width;
          const std::size_t corner =
              (y * shape.stride_height * shape.width + x * shape.stride_width) * kLanes + i % kLanes;
          const double slope = slopes[(b * shape.outputs + o) * plane * kLanes + i];
          double sum = bias[o];
          for (std::size_t t = 0; t < terms; ++t) {
            const double value = in[b * shape.input_size() * kLanes + corner + offsets[t]];
            sum += value * weights[o * terms + t];
            expected_weights[o * terms + t] += value * slope;
            if (b == 0) expected_back[corner + offsets[t]] += slope * weights[o * terms + t];
          }
          if (b == 0) expected[o * plane * kLanes + i] = sum;
        }
      }
    }

    for (std::size_t o = 0; o < shape.outputs; o += kTile) {
      const std::size_t count = std::min(kTile, shape.outputs - o);
      std::vector<float> packed;
      for (std::size_t t = 0; t < terms; ++t) {
        for (std::size_t k = 0; k < count; ++k) packed.push_back(weights[(o + k) * terms + t]);
      }
      kernels_.convolve(shape, offsets.data(), in.data(), packed.data(), bias.data() + o, count, 0, shape.out_height,
                        out.data() + o * plane * kLanes, plane * kLanes);
    }
    EXPECT_LT(relative_error(out, expected), 1e-6);

    std::vector<float> packed;
    for (std::size_t t = 0; t < terms; t += kTile) {
      for (std::size_t o = 0; o < shape.outputs; ++o) {
        for (std::size_t k = t; k < std::min(terms, t + kTile); ++k) packed.push_back(weights[o * terms + k]);
      }
    }
    kernels_.convolve_back(shape, offsets.data(), slopes.data(), packed.data(), back.data());
    EXPECT_LT(relative_error(back, expected_back), 1e-6);

    kernels_.convolve_weights(shape, offsets.data(), in.data(), slopes.data(), 1, true, weight_slopes.data());
    kernels_.convolve_weights(shape, offsets.data(), in.data() + shape.input_size() * kLanes,
                              slopes.data() + shape.outputs * plane * kLanes, 1, false, weight_slopes.data());
    EXPECT_LT(relative_error(weight_slopes, expected_weights), 1e-6);
    kernels_.convolve_weights(shape, offsets.data(), in.data(), slopes.data(), 2, true, weight_slopes.data());
    EXPECT_LT(relative_error(weight_slopes, expected_weights), 1e-6);
  }
}

double worst_error(const Kernels& kernels, Activation activation, double (*exact)(double)) {
  double worst = 0;
  for (double x = -30; x < 30; x += 0.00137) {
    auto y = static_cast<float>(x);
    const double expected = exact(y);
    kernels.activate(activation, &y, 1);
    worst = std::max(worst, std::abs(y - expected) / std::max(std::abs(expected), 1e-7));
  }
  return worst;
}

TEST_P(KernelSets, ActivationsAreRightToTheLastBits) {
  EXPECT_LT(worst_error(kernels_, Activation::tanh, [](double x) { return std::tanh(x); }), 3e-7);
  EXPECT_LT(worst_error(kernels_, Activation::relu, [](double x) { return std::max(x, 0.0); }), 1e-30);
  float values[] = {0, 1e-30f, -1e-6f, std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                    std::numeric_limits<float>::quiet_NaN()};
  kernels_.activate(Activation::tanh, values, 6);
  EXPECT_EQ(values[0], 0);
  EXPECT_FLOAT_EQ(values[1], 1e-30f);
  EXPECT_FLOAT_EQ(values[2], -1e-6f);
  EXPECT_EQ(values[3], 1);
  EXPECT_EQ(values[4], -1);
  EXPECT_TRUE(std::isnan(values[5]));
  // Near 0 the sigmoid is computed as a difference of halves, so only its absolute precision is bounded.
  for (float x = -20; x < 20; x += 0.01f) {
    float y = x;
    kernels_.activate(Activation::sigmoid, &y, 1);
    EXPECT_NEAR(y, 1 / (1 + std::exp(-static_cast<double>(x))), 1e-7);
  }
}

TEST_P(KernelSets, ElementwiseKernelsRespectEveryLength) {
  for (std::size_t size : {1, 3, 4, 15, 16, 17, 50}) {
    std::vector<float> x(size + 1, 0.5f), gradient(size + 1, 2.0f);
    kernels_.activate(Activation::relu, x.data(), size);
    kernels_.activate_back(Activation::sigmoid, x.data(), gradient.data(), gradient.data(), size);
    for (std::size_t i = 0; i < size; ++i) EXPECT_FLOAT_EQ(gradient[i], 0.5f);
    EXPECT_EQ(gradient[size], 2.0f) << "wrote past the end";

    std::vector<float> rows(3 * size + 1, 1.0f), bias(size, -3.0f), sums(size + 1, 9.0f);
    kernels_.add_bias(Activation::none, bias.data(), rows.data(), 3, size);
    kernels_.sum_rows(rows.data(), 3, size, sums.data());
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(sums[i], -6.0f);
    EXPECT_EQ(sums[size], 9.0f);
    EXPECT_EQ(rows[3 * size], 1.0f);
  }
}

TEST_P(KernelSets, ScaleSamplesToTheLastBit) {
  std::vector<std::uint8_t> bytes(257);
  std::vector<float> floats(257);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i), floats[i] = 0.3f * static_cast<float>(i) - 20;
  constexpr float kFactor = 1.0f / 255;
  for (std::size_t size : {0, 1, 3, 15, 16, 17, 256}) {
    for (const bool whole : {true, false}) {
      std::vector<float> to(size + 1, 9.0f);
      if (whole) kernels_.scale_bytes(bytes.data() + 1, size, kFactor, to.data());
      else kernels_.scale_floats(floats.data() + 1, size, kFactor, to.data());
      for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(to[i], (whole ? static_cast<float>(bytes[i + 1]) : floats[i + 1]) * kFactor);
      EXPECT_EQ(to[size], 9.0f) << "wrote past the end";
    }
  }
}

TEST_P(KernelSets, PoolingKeepsNotANumber) {
  for (std::size_t place = 0; place < 4; ++place) {
    Array<float> in = random(4 * kLanes, 1), out(device_, kLanes);
    Array<std::uint8_t> choice(device_, kLanes);
    in[place * kLanes + 3] = std::numeric_limits<float>::quiet_NaN();
    kernels_.pool_row(in.data(), 2, 2, 2, Activation::none, out.data(), choice.data());
    for (std::size_t lane = 0; lane < kLanes; ++lane) EXPECT_EQ(std::isnan(out[lane]), lane == 3) << "at place " << place;
  }
}

TEST_P(KernelSets, PoolingGivesGradientsToTheFirstLargestPixel) {
  constexpr std::size_t kWidth = 7;
  Array<float> in = random(2 * kWidth * kLanes, 1), out(device_, 3 * kLanes), back(device_, in.size());
  Array<float> slopes = random(3 * kLanes, 2);
  Array<std::uint8_t> choice(device_, 3 * kLanes);
  // A window of equal values, and one of negative ones.
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    in[lane] = in[kLanes + lane] = in[kWidth * kLanes + lane] = in[(kWidth + 1) * kLanes + lane] = 0.25f;
  }
  kernels_.pool_row(in.data(), kWidth, 2, 2, Activation::tanh, out.data(), choice.data());
  kernels_.unpool_row(slopes.data(), choice.data(), kWidth, 2, 2, back.data());
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    for (std::size_t x = 0; x < 3; ++x) {
      const std::size_t pixels[] = {2 * x, 2 * x + 1, kWidth + 2 * x, kWidth + 2 * x + 1};
      std::size_t best = pixels[0];
      for (std::size_t pixel : pixels) best = in[pixel * kLanes + lane] > in[best * kLanes + lane] ? pixel : best;
      EXPECT_NEAR(out[x * kLanes + lane], std::tanh(in[best * kLanes + lane]), 1e-6);
      for (std::size_t pixel : pixels) {
        EXPECT_EQ(back[pixel * kLanes + lane], pixel == best ? slopes[x * kLanes + lane] : 0);
      }
    }
    EXPECT_EQ(back[6 * kLanes + lane], 0);
    EXPECT_EQ(back[(kWidth + 6) * kLanes + lane], 0);
  }
}

double derivative(Activation activation, double y) {
  if (activation == Activation::tanh) return 1 - y * y;
  if (activation == Activation::relu) return y > 0 ? 1 : 0;
  return activation == Activation::sigmoid ? y * (1 - y) : 1;
}

TEST_P(KernelSets, BatchNormalisationOfAPlaneOfAnySize) {
  constexpr float kScale = -0.7f, kShift = 0.2f, kMean = 0.3f, kCurve = 0.11f, kLevel = -0.4f;
  for (const Activation activation : {Activation::none, Activation::tanh, Activation::relu, Activation::sigmoid}) {
    for (std::size_t pixels : {1, 3, 4, 7, 12, 13}) {
      const std::size_t size = pixels * kLanes;
      const Array<float> x = random(size, 1), slopes = random(size, 2);
      Array<float> y(device_, size + kLanes), back(device_, size + kLanes);
      y[size] = back[size] = 9;
      kernels_.normalize(activation, x.data(), kScale, kShift, pixels, y.data());
      Array<float> expected(device_, size);
      for (std::size_t i = 0; i < size; ++i) expected[i] = x[i] * kScale + kShift;
      kernels_.activate(activation, expected.data(), size);
      Numbers sums(kLanes), products(kLanes), squares(kLanes), totals(kLanes), slopes_of_x(size);
      for (std::size_t i = 0; i < size; ++i) {
        EXPECT_NEAR(y[i], expected[i], 1e-6);
        const double gradient = slopes[i] * derivative(activation, y[i]);
        totals[i % kLanes] += x[i];
        squares[i % kLanes] += (x[i] - kMean) * (x[i] - kMean);
        sums[i % kLanes] += gradient;
        products[i % kLanes] += gradient * (x[i] - kMean);
        slopes_of_x[i] = gradient * kScale + x[i] * kCurve + kLevel;
      }
      // All add to what is there.
      Numbers found_sums(kLanes, 2), found_products(kLanes, 3), found_squares(kLanes, 4), found_totals(kLanes, 5);
      const Normalized from{activation, x.data(), y.data(), slopes.data(), kScale, kShift};
      kernels_.sum_products(from, pixels, kMean, found_sums.data(), found_products.data());
      kernels_.sum_squares(x.data(), pixels, kMean, found_squares.data());
      kernels_.sum_lanes(x.data(), pixels, found_totals.data());
      kernels_.normalize_back(from, pixels, kCurve, kLevel, back.data());
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        EXPECT_NEAR(found_sums[lane], sums[lane] + 2, 1e-5);
        EXPECT_NEAR(found_products[lane], products[lane] + 3, 1e-5);
        EXPECT_NEAR(found_squares[lane], squares[lane] + 4, 1e-5);
        EXPECT_NEAR(found_totals[lane], totals[lane] + 5, 1e-5);
      }
      for (std::size_t i = 0; i < size; ++i) EXPECT_NEAR(back[i], slopes_of_x[i], 1e-6);
      EXPECT_EQ(y[size], 9) << "wrote past the end";
      EXPECT_EQ(back[size], 9) << "wrote past the end";
    }
  }
}

TEST_P(KernelSets, ProductsOfTilesAndTheirSums) {
  for (std::size_t channels : {1, 4, 7, 18}) {
    for (std::size_t outputs : {1, 3, 6, 9, 17}) {
      const std::size_t values = place_stride(channels, kChunk) * kLanes, made = place_stride(outputs, kChunk) * kLanes;
      const Array<float> tiles = random(kPlaces * values, 1), weights = random(kPlaces * channels * outputs, 2), slopes = random(kPlaces * made, 3);
      const auto value = [&](std::size_t place, std::size_t c, std::size_t i) { return tiles[place * values + c * kChunk * kLanes + i]; };
      for (std::size_t count = 1; count <= kChunk; ++count) {
        Array<float> products(device_, kPlaces * made);
        std::vector<float> sums(kPlaces * outputs * channels, 0.5f);
        kernels_.multiply_tiles(tiles.data(), weights.data(), channels, outputs, count, products.data());
        kernels_.correlate_tiles(slopes.data(), tiles.data(), outputs, channels, count, kChunk, sums.data());
        Numbers expected(products.size()), expected_sums(sums.size(), 0.5);
        const EvenParts parts{outputs, kTile};
        for (std::size_t place = 0; place < kPlaces; ++place) {
          for (std::size_t part = 0; part < parts.count(); ++part) {
            for (std::size_t o = parts.begin(part); o < parts.begin(part + 1); ++o) {
              for (std::size_t c = 0; c < channels; ++c) {
                const std::size_t width = parts.begin(part + 1) - parts.begin(part);
                const double weight = weights[(place * outputs + parts.begin(part)) * channels + c * width + o - parts.begin(part)];
                for (std::size_t i = 0; i < count * kLanes; ++i) {
                  const std::size_t at = place * made + o * kChunk * kLanes + i;
                  expected[at] += weight * value(place, c, i);
                  expected_sums[(place * outputs + o) * channels + c] += static_cast<double>(slopes[at]) * value(place, c, i);
                }
              }
            }
          }
        }
        EXPECT_LT(relative_error(products, expected), 1e-6) << channels << " channels, " << outputs << " outputs, " << count << " tiles";
        EXPECT_LT(relative_error(sums, expected_sums), 1e-6) << channels << " channels, " << outputs << " outputs, " << count << " tiles";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, KernelSets, ::testing::ValuesIn(sets()), [](const auto& info) {
  std::string name = info.param->name;
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace mgcompare::testing
