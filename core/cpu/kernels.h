#pragma once

// Our own inner loops, for the shapes on which they are faster than oneDNN's (docs/performance/cpu.md has the figures). Images are
// stored in blocks of 16 samples, (block, channel, row, column, 16): a vector register holds one pixel of 16 samples, so
// no channel count or image width wastes lanes. The same source is compiled for three instruction sets.
//
// All pointers to blocked memory are 64-byte aligned. Every function is deterministic and keeps no state.

#include <cstddef>
#include <cstdint>

#include "model/activation.h"

namespace mgcompare {

constexpr std::size_t kLanes = 16;
// Output channels (or weights of one filter) whose sums are held in registers together; packed weights have this width.
constexpr std::size_t kTile = 5;

// One convolution over one block whose input is already padded. Sizes are elements, without the 16 lanes.
struct ConvolutionShape {
  std::size_t channels = 0, height = 0, width = 0;         // input with its padding
  std::size_t outputs = 0, out_height = 0, out_width = 0;
  std::size_t kernel_height = 0, kernel_width = 0;
  std::size_t stride_height = 1, stride_width = 1;

  std::size_t terms() const { return channels * kernel_height * kernel_width; }
  std::size_t input_size() const { return channels * height * width; }
  std::size_t output_plane() const { return out_height * out_width; }
};

struct Kernels {
  const char* name;

  // Rows [row_begin, row_end) of the output channels [first, first + count), count <= kTile: out is
  // (count, row_end - row_begin, out_width, 16). `weights` is the tile's packed (terms, count), `bias` its slice or null;
  // offsets[t] is where term t of the first window lies in the input, in floats.
  void (*convolve)(const ConvolutionShape& shape, const std::uint32_t* offsets, const float* in, const float* weights,
                   const float* bias, std::size_t count, std::size_t row_begin, std::size_t row_end, float* out);
  // Adds the gradient of one block's output to that of its padded input. `weights` is packed in tiles of kTile terms:
  // (tile, outputs, terms of the tile).
  void (*convolve_back)(const ConvolutionShape& shape, const std::uint32_t* offsets, const float* out_gradient,
                        const float* weights, float* in_gradient);
  // Adds (or writes, when `fresh`) the gradient of the weights (outputs, terms), summed over `blocks` blocks.
  void (*convolve_weights)(const ConvolutionShape& shape, const std::uint32_t* offsets, const float* in,
                           const float* out_gradient, std::size_t blocks, bool fresh, float* weight_gradient);

  // One plane of max pooling with windows that tile it (pool x pool, remainders cut off) followed by an activation:
  // in (>= pool rows, width, 16) makes one row of out (width / pool, 16); `choice` is the winner's place in its window.
  void (*pool_row)(const float* in, std::size_t width, std::size_t pool_height, std::size_t pool_width,
                   Activation activation, float* out, std::uint8_t* choice);
  // The reverse for one row: writes all pool_height rows of in_gradient. `gradient` is that of the activation's input.
  void (*unpool_row)(const float* gradient, const std::uint8_t* choice, std::size_t width, std::size_t pool_height,
                     std::size_t pool_width, float* in_gradient);

  // x = activation(x); any alignment.
  void (*activate)(Activation activation, float* x, std::size_t size);
  // to = gradient * the derivative, from the activation's output y. `to` may be `gradient`.
  void (*activate_back)(Activation activation, const float* y, const float* gradient, float* to, std::size_t size);
  // x (rows, columns) += bias, then the activation.
  void (*add_bias)(Activation activation, const float* bias, float* x, std::size_t rows, std::size_t columns);
  // sums[c] = the sum over rows of x (rows, columns).
  void (*sum_rows)(const float* x, std::size_t rows, std::size_t columns, float* sums);
  // The sum over pixels and lanes of one blocked plane.
  float (*sum_plane)(const float* x, std::size_t pixels);
};

// The fastest that this processor runs.
const Kernels& kernels();

}  // namespace mgcompare
