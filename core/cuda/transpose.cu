#include "cuda/transpose.h"

#include "cuda/pack.h"

namespace mgcompare::cuda {
namespace {

constexpr unsigned kTile = 32, kRows = 8;

// Block x: one tile of 32 x 32 of one matrix, in turn.
template <class From, class To>
__global__ void transpose_tiles(Matrices matrices, std::size_t tiles_down, std::size_t tiles_across, const From* from, To* to) {
  __shared__ float tile[kTile][kTile + 1];
  const unsigned x = threadIdx.x % kTile, y = threadIdx.x / kTile;
  wait_for_previous_kernel();
  const std::size_t per_matrix = tiles_down * tiles_across;
  for (std::size_t t = blockIdx.x; t < matrices.count * per_matrix; t += gridDim.x) {
    const std::size_t base = t / per_matrix * matrices.rows * matrices.columns;
    const std::size_t top = t % per_matrix / tiles_across * kTile, left = t % tiles_across * kTile;
    __syncthreads();
    for (unsigned r = y; r < kTile; r += kRows)
      if (top + r < matrices.rows && left + x < matrices.columns)
        tile[r][x] = widened(from[base + (top + r) * matrices.columns + left + x]);
    __syncthreads();
    for (unsigned r = y; r < kTile; r += kRows)
      if (left + r < matrices.columns && top + x < matrices.rows)
        to[base + (left + r) * matrices.rows + top + x] = narrowed<To>(tile[x][r]);
  }
}

// One thread per element of `to`, for matrices with a short side, such as the three channels of an image or the pixels of a
// small kernel: tiles would be mostly empty.
template <class From, class To>
__global__ void transpose_elements(std::size_t size, Matrices matrices, const From* from, To* to) {
  wait_for_previous_kernel();
  const std::size_t area = matrices.rows * matrices.columns;
  for (std::size_t i = first_index(); i < size; i += index_stride()) {
    const std::size_t at = i % area;
    to[i] = narrowed<To>(widened(from[i - at + at % matrices.rows * matrices.columns + at / matrices.rows]));
  }
}

struct Same {
  __device__ float operator()(float x) const { return x; }
};

}  // namespace

void transpose(cudaStream_t stream, const Matrices& matrices, const void* from, Element from_element, void* to, Element to_element) {
  const std::size_t size = matrices.count * matrices.rows * matrices.columns;
  if (size == 0) return;
  if (matrices.rows == 1 || matrices.columns == 1) return convert(stream, size, from, from_element, to, to_element);
  with_element(from_element, [&](auto source) {
    with_element(to_element, [&](auto target) {
      using From = decltype(source);
      using To = decltype(target);
      const auto* const in = static_cast<const From*>(from);
      auto* const out = static_cast<To*>(to);
      if (std::min(matrices.rows, matrices.columns) < 12) {
        launch(stream, blocks_for(size), kThreads, 0, transpose_elements<From, To>, size, matrices, in, out);
        return;
      }
      const std::size_t down = (matrices.rows + kTile - 1) / kTile, across = (matrices.columns + kTile - 1) / kTile;
      const auto blocks = static_cast<unsigned>(std::min<std::size_t>(matrices.count * down * across, 132 * 16));
      launch(stream, blocks, kTile * kRows, 0, transpose_tiles<From, To>, matrices, down, across, in, out);
    });
  });
}

void convert(cudaStream_t stream, std::size_t size, const void* from, Element from_element, void* to, Element to_element) {
  with_element(from_element, [&](auto source) {
    with_element(to_element, [&](auto target) {
      // Packs are those of `to`; loads of `from` then have 8 or 32 bytes.
      map(stream, size, Same(), static_cast<decltype(target)*>(to), static_cast<const decltype(source)*>(from));
    });
  });
}

}  // namespace mgcompare::cuda
