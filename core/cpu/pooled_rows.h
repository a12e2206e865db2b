#pragma once

// Max pooling of blocked memory (kernels.h) with windows that do not overlap. A row of windows reads whole rows of pixels, so layers
// can pool their output as they compute it.

#include <cstddef>
#include <cstdint>

#include "config/config.h"
#include "cpu/kernels.h"
#include "mgcompare/device.h"

namespace mgcompare {

class PooledRows {
 public:
  // Whether the windows of `pool` neither overlap nor have padding, and the place of a maximum in one fits in a byte.
  static bool fit(const LayerConfig& pool);

  PooledRows() = default;           // no pooling
  // `width`: pixels of a row of the input.
  PooledRows(const LayerConfig& pool, std::size_t width);

  bool exists() const { return height_ > 0; }
  // Rows of pixels that a row of windows reads, and their pixels.
  std::size_t height() const { return height_; }
  std::size_t pixels() const { return height_ * width_; }

  // Allocates memory for an output of this number of elements. Before pool() and unpool().
  void reserve(Device& device, std::size_t elements);
  // Pools `rows`, then applies the activation. `at` is the first element of the row of windows in `output`.
  void pool(const float* rows, Activation activation, float* output, std::size_t at);
  // Overwrites `rows` with their gradient. `gradient` is that before the activation, of the whole output.
  void unpool(const float* gradient, std::size_t at, float* rows) const;

 private:
  std::size_t height_ = 0;
  std::size_t across_ = 0;          // pixels of a window in a row
  std::size_t width_ = 0;
  Array<std::uint8_t> choices_;     // index of the maximum in each window
};

}  // namespace mgcompare
