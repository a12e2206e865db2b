#pragma once

// The gradients of a convolution with few channels, computed as those of one with half the columns and twice the channels.
// A channels-last image (sample, row, column, channel) of even width is, without moving a byte, also the image (sample, row,
// pair, 2 * channels) whose pixels are pairs of neighbours. Between such images the convolution has stride one, too, and its
// kernel of S columns becomes one of floor((S - padding) / 2) + ceil(padding / 2) + 1 pairs, which is zero where a pixel of the
// output does not read one of the input. cuDNN's kernels waste most of their tiles on gradients of 32 channels, so that the
// pairs are faster although they have 4/3 of the products for a kernel of 3 columns without padding.

#include <cstddef>
#include <optional>

#include <cuda_runtime_api.h>

#include "cuda/convolution_plan.h"
#include "cuda/element.h"

namespace mgcompare::cuda {

class PixelPairs {
 public:
  // Nothing if a width is odd, the stride along a row is not 1, the images are planar, or padding would differ on both sides.
  static std::optional<PixelPairs> of(const ConvolutionProblem& problem);

  const ConvolutionProblem& problem() const { return problem_; }
  // Elements of the filter for pairs, (2 * outputs, rows, pairs, 2 * inputs).
  std::size_t filter_size() const;
  // pairs = the filter (outputs, rows, columns, inputs), for pairs.
  void expand(cudaStream_t stream, const void* filter, void* pairs) const;
  // filter = the gradient of the filter from that of the one for pairs.
  void fold(cudaStream_t stream, const void* pairs, void* filter) const;

 private:
  PixelPairs() = default;
  // Calls f(filters, V, T) for packs of V inputs of the filter and that of pairs.
  template <class F> void with_packs(const void* filter, const void* pairs, F f) const;

  ConvolutionProblem problem_;      // for pairs
  unsigned outputs_ = 0, inputs_ = 0, rows_ = 0, columns_ = 0, padding_ = 0;
};

}  // namespace mgcompare::cuda
