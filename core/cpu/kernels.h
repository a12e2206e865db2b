#pragma once

// Inner loops of the layers; faster than oneDNN for LeNet's shapes (figures in docs/performance/cpu.md). Images are stored in
// blocks of 16 samples, (block, channel, row, column, 16): a vector register holds one pixel of 16 samples, so that no
// channel count or image width leaves lanes unused. The same source is compiled for three instruction sets.
//
// Pointers to blocked memory are 64-byte aligned. All functions are deterministic and stateless.

#include <cstddef>
#include <cstdint>

#include "model/activation.h"

namespace mgcompare {

constexpr std::size_t kLanes = 16;
// Output channels (or weights of one filter) that are accumulated in registers at a time; the width of packed weights.
constexpr std::size_t kTile = 5;

// Convolution of one block. The input is already padded. Sizes are in elements, not counting the 16 lanes.
struct ConvolutionShape {
  std::size_t channels = 0, height = 0, width = 0;         // input with its padding
  std::size_t outputs = 0, out_height = 0, out_width = 0;
  std::size_t kernel_height = 0, kernel_width = 0;
  std::size_t stride_height = 1, stride_width = 1;

  std::size_t terms() const { return channels * kernel_height * kernel_width; }
  std::size_t input_size() const { return channels * height * width; }
  std::size_t output_plane() const { return out_height * out_width; }
};

// Planes of one block in tiles of 2 x 2 outputs of a 3 x 3 convolution (winograd.h).
struct TiledPlanes {
  std::size_t channels = 0, height = 0, width = 0;
  std::size_t across = 0;           // tiles in a row
  std::size_t padding[2] = {0, 0};  // zeros around a plane that is transformed; they are not stored
};

// Places of a tile after its transform.
constexpr std::size_t kPlaces = 16;
// Pixels (of 16 samples) from one place to the next in arrays of transformed tiles: not a multiple of 4 KiB, so that the places of a
// tile are in different sets of the caches.
constexpr std::size_t place_stride(std::size_t channels, std::size_t pitch) { return (channels * pitch + 63) / 64 * 64 + 5; }
// Tiles whose products are computed at a time.
constexpr std::size_t kChunk = 4;

// Parts of at most `most` whose sizes differ by at most one: no small part is left over at the end.
struct EvenParts {
  std::size_t size = 0, most = 1;

  std::size_t count() const { return (size + most - 1) / most; }
  std::size_t begin(std::size_t part) const { return part * size / count(); }
};

// A plane after batch normalisation and activation, and the gradient of this output. `y` is not read for relu and without an activation.
struct Normalized {
  Activation activation = Activation::none;
  const float* x = nullptr;
  const float* y = nullptr;
  const float* gradient = nullptr;
  float scale = 1, shift = 0;       // y = activation(x * scale + shift)
};

struct Kernels {
  const char* name;

  // Computes rows [row_begin, row_end) of `count` <= kTile output channels. `out` is row `row_begin` of the first of them, and `out_plane` the
  // distance of channels in floats. `weights` is packed as (terms, count); `bias` has `count` elements or is null. offsets[t] is the
  // position of term t of the first window in the input, in floats.
  void (*convolve)(const ConvolutionShape& shape, const std::uint32_t* offsets, const float* in, const float* weights,
                   const float* bias, std::size_t count, std::size_t row_begin, std::size_t row_end, float* out, std::size_t out_plane);
  // Adds to the gradient of one block's padded input. `weights` is packed in tiles of kTile terms: (tile, outputs, terms
  // of the tile).
  void (*convolve_back)(const ConvolutionShape& shape, const std::uint32_t* offsets, const float* out_gradient,
                        const float* weights, float* in_gradient);
  // Adds to (or overwrites, if `fresh`) the gradient of the weights, (outputs, terms), summed over `blocks` blocks.
  void (*convolve_weights)(const ConvolutionShape& shape, const std::uint32_t* offsets, const float* in,
                           const float* out_gradient, std::size_t blocks, bool fresh, float* weight_gradient);

  // Max pooling with windows that do not overlap (remainders are cut off), then an activation, for one output row: in is
  // (pool_height rows or more, width, 16), out is (width / pool_width, 16). `choice` is the index of the maximum in its
  // window.
  void (*pool_row)(const float* in, std::size_t width, std::size_t pool_height, std::size_t pool_width,
                   Activation activation, float* out, std::uint8_t* choice);
  // Backward of pool_row: overwrites pool_height rows of in_gradient. `gradient` is that of the activation's input.
  void (*unpool_row)(const float* gradient, const std::uint8_t* choice, std::size_t width, std::size_t pool_height,
                     std::size_t pool_width, float* in_gradient);

  // to = from * factor. These and the functions below, up to sum_rows, allow any alignment.
  void (*scale_bytes)(const std::uint8_t* from, std::size_t size, float factor, float* to);
  void (*scale_floats)(const float* from, std::size_t size, float factor, float* to);
  // x = activation(x).
  void (*activate)(Activation activation, float* x, std::size_t size);
  // to = gradient * derivative, computed from the activation's output y. `to` may equal `gradient`.
  void (*activate_back)(Activation activation, const float* y, const float* gradient, float* to, std::size_t size);
  // x = activation(x + bias); x is (rows, columns).
  void (*add_bias)(Activation activation, const float* bias, float* x, std::size_t rows, std::size_t columns);
  // sums[c] = sum over the rows of x, which is (rows, columns).
  void (*sum_rows)(const float* x, std::size_t rows, std::size_t columns, float* sums);
  // Sum over the pixels and lanes of one blocked plane, which is aligned.
  float (*sum_plane)(const float* x, std::size_t pixels);

  // Add to sums[lane], for each of the 16 lanes, the sum over the pixels of a blocked plane in double precision: of x, and of (x - mean)^2.
  void (*sum_lanes)(const float* x, std::size_t pixels, double* sums);
  void (*sum_squares)(const float* x, std::size_t pixels, float mean, double* sums);

  // Batch normalisation of a blocked plane: y = activation(x * scale + shift).
  void (*normalize)(Activation activation, const float* x, float scale, float shift, std::size_t pixels, float* y);
  // Adds to sums[lane] and products[lane], in double precision, the gradient g before the activation and g * (x - mean).
  void (*sum_products)(const Normalized& from, std::size_t pixels, float mean, double* sums, double* products);
  // to = g * scale + x * factor + offset.
  void (*normalize_back)(const Normalized& from, std::size_t pixels, float factor, float offset, float* to);

  // Winograd's convolution. Tiles are those from `first` on of all planes; arrays of transformed tiles are (chunk of `pitch` tiles, place,
  // channel, pitch, 16) with place_stride() between places.
  // Transforms the 4 x 4 pixels of the input that each tile needs.
  void (*transform_tiles)(const TiledPlanes& planes, const float* image, std::size_t first, std::size_t count, std::size_t pitch, float* to);
  // Transforms the 2 x 2 gradients of each tile's outputs.
  void (*transform_gradients)(const TiledPlanes& planes, const float* image, std::size_t first, std::size_t count, std::size_t pitch, float* to);
  // Products of the first `count` tiles of a chunk of kChunk, (place, output, kChunk, 16) with place_stride(), from weights (place, part of
  // outputs, channel, output of the part); parts are EvenParts{outputs, kTile}.
  void (*multiply_tiles)(const float* tiles, const float* weights, std::size_t channels, std::size_t outputs, std::size_t count, float* products);
  // Transforms the products of a chunk back and adds the bias, which may be null. `planes` are those of these outputs.
  void (*finish_tiles)(const TiledPlanes& planes, const float* products, const float* bias, std::size_t first, std::size_t count, float* out);
  // Adds to sums (place, output, channel) the products of transformed gradients and inputs, summed over tiles and samples.
  void (*correlate_tiles)(const float* gradients, const float* tiles, std::size_t outputs, std::size_t channels, std::size_t count,
                          std::size_t pitch, float* sums);
};

// The fastest set that this processor supports.
const Kernels& kernels();

}  // namespace mgcompare
