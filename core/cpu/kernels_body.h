// Included once by each kernels_<instruction set>.cc, which defines the namespace MGCOMPARE_KERNELS, kWidth (floats per
// register), kPixels and kTerms (pixels, and terms, per register tile of kTile sums). No #pragma once: this source is
// compiled for each instruction set.

namespace mgcompare::MGCOMPARE_KERNELS {

typedef float Lanes __attribute__((vector_size(kWidth * sizeof(float)), aligned(kWidth * sizeof(float)), may_alias));
typedef float Loose __attribute__((vector_size(kWidth * sizeof(float)), aligned(sizeof(float)), may_alias));
typedef std::int32_t Words __attribute__((vector_size(kWidth * sizeof(float))));
typedef std::uint8_t Bytes __attribute__((vector_size(kWidth), aligned(1), may_alias));

#define MGCOMPARE_INLINE inline __attribute__((always_inline))

MGCOMPARE_INLINE const Lanes& at(const float* p) { return *reinterpret_cast<const Lanes*>(p); }
MGCOMPARE_INLINE Lanes& at(float* p) { return *reinterpret_cast<Lanes*>(p); }

// Pairwise sum of a register's lanes; the order does not depend on the compiler.
MGCOMPARE_INLINE float sum_lanes(const Lanes& lanes) {
  float parts[kWidth];
  for (std::size_t i = 0; i < kWidth; ++i) parts[i] = lanes[i];
  for (std::size_t width = kWidth / 2; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) parts[i] += parts[i + width];
  }
  return parts[0];
}

// Loads min(count, kWidth) elements at any alignment; the rest of the register is zero.
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

void scale_bytes(const std::uint8_t* from, std::size_t size, float factor, float* to) {
  std::size_t i = 0;
  for (; i + kWidth <= size; i += kWidth) {
    const Words whole = __builtin_convertvector(*reinterpret_cast<const Bytes*>(from + i), Words);
    store(to + i, __builtin_convertvector(whole, Lanes) * factor, kWidth);
  }
  for (; i < size; ++i) to[i] = static_cast<float>(from[i]) * factor;
}

void scale_floats(const float* from, std::size_t size, float factor, float* to) {
  for (std::size_t i = 0; i < size; i += kWidth) store(to + i, load(from + i, size - i) * factor, size - i);
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

}  // namespace mgcompare::MGCOMPARE_KERNELS

#include "cpu/kernels_convolution.h"
#include "cpu/kernels_winograd.h"
#include "cpu/kernels_activation.h"
#include "cpu/kernels_pooling.h"
#include "cpu/kernels_sums.h"

namespace mgcompare::MGCOMPARE_KERNELS {

const Kernels kKernels = {kName,        convolve,   convolve_back, convolve_weights, pool_row, unpool_row,
                          scale_bytes,  scale_floats, activate,    activate_back,    add_bias, sum_rows,   sum_plane,
                          sum_lanes,    sum_squares, normalize,    sum_products,     normalize_back,
                          transform_tiles, transform_gradients, multiply_tiles, finish_tiles, correlate_tiles};

#undef MGCOMPARE_INLINE

}  // namespace mgcompare::MGCOMPARE_KERNELS
