#pragma once

// 3 x 3 convolution of stride 1 with 16 multiplications in place of 36 for four outputs: Winograd's minimal filtering F(2 x 2, 3 x 3)
// (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016). Inputs and filters are transformed, multiplied place
// by place, and the products are transformed back. The gradient of the weights is the transpose of this. Results of a sample do not
// depend on the others; rounding errors are about twice those of the direct sum.

#include <cstddef>
#include <vector>

#include "cpu/kernels.h"

namespace mgcompare {

// A convolution from `channels` planes of height x width pixels to `outputs` planes.
struct WinogradShape {
  std::size_t channels = 0, height = 0, width = 0, outputs = 0;
  std::size_t padding[2] = {0, 0};  // at most 2

  std::size_t out_height() const { return height + 2 * padding[0] - 2; }
  std::size_t out_width() const { return width + 2 * padding[1] - 2; }
  // The convolution that computes the gradient of the input from that of the output.
  WinogradShape transposed() const;
};

// Whether the transforms cost less than they save: both have a price for each channel on one side, and save for each pair.
bool pays(std::size_t channels, std::size_t outputs);

// The filters in the transformed space, in the order of the products.
class WinogradFilters {
 public:
  explicit WinogradFilters(const WinogradShape& shape);
  // From weights (outputs, channels, 3, 3). With `transposed`, from those of the convolution whose transpose this is.
  void load(const float* weights, bool transposed);
  // Convolves one block; pointers are to blocked memory (kernels.h). `bias` may be null.
  void convolve(const float* in, const float* bias, float* out) const;

 private:
  WinogradShape shape_;
  std::size_t group_;               // tiles whose transformed inputs stay in the cache
  std::vector<float> filters_;      // (panel of outputs, place, part of the panel, channel, output of the part)
};

// Sums the gradient of the weights over blocks. From begin() to finish(), no other may be open on the thread: tiles that are not summed
// yet stay in memory that all of a thread share.
class WinogradGradient {
 public:
  explicit WinogradGradient(const WinogradShape& shape);
  void begin();
  void add(const float* in, const float* out_gradient);
  // Overwrites the gradient, (outputs, channels, 3, 3).
  void finish(float* weight_gradient);

 private:
  void sum();

  WinogradShape shape_;
  std::size_t pitch_;               // tiles that are summed at a time
  std::size_t used_ = 0;
  std::vector<float> sums_;         // (place, output, channel)
};

}  // namespace mgcompare
