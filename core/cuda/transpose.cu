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

// Matrices with a short side, such as the three channels of an image or the places of a small kernel: a block reads a piece of
// the long side, which is contiguous if that is the rows, and otherwise consists of runs; and writes it likewise.
constexpr unsigned kShort = 16, kLong = 128;

template <class From, class To>
__global__ void transpose_strips(Matrices matrices, unsigned strips, bool tall, const From* from, To* to) {
  __shared__ float strip[kShort * kLong];  // (long, short) as read if tall, otherwise as written
  const unsigned rows = static_cast<unsigned>(matrices.rows), columns = static_cast<unsigned>(matrices.columns);
  const unsigned length = tall ? rows : columns, width = tall ? columns : rows;
  wait_for_previous_kernel();
  for (std::size_t s = blockIdx.x; s < matrices.count * strips; s += gridDim.x) {
    const std::size_t base = s / strips * rows * columns;
    const unsigned first = static_cast<unsigned>(s % strips) * kLong, here = min(kLong, length - first), size = here * width;
    __syncthreads();
    for (unsigned i = threadIdx.x; i < size; i += blockDim.x) {
      // The runs of the long side are `length` apart.
      const unsigned at = tall ? i : i % here * width + i / here;
      strip[at] = widened(from[base + (tall ? first * width + i : i / here * length + first + i % here)]);
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < size; i += blockDim.x) {
      const unsigned at = tall ? i % here * width + i / here : i;
      to[base + (tall ? i / here * length + first + i % here : first * width + i)] = narrowed<To>(strip[at]);
    }
  }
}

// One block per row of `to`.
constexpr unsigned kRowThreads = 128;

template <class T>
__global__ void swap_rows(std::size_t first, std::size_t second, std::size_t size, const T* from, std::size_t from_row, T* to, std::size_t to_row) {
  const std::size_t row = blockIdx.x;
  const T* const source = from + (row % first * second + row / first) * from_row;
  wait_for_previous_kernel();
  for (std::size_t i = threadIdx.x; i < size; i += blockDim.x) to[row * to_row + i] = source[i];
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
      if (std::min(matrices.rows, matrices.columns) <= kShort) {
        const bool tall = matrices.rows >= matrices.columns;
        const std::size_t strips = ((tall ? matrices.rows : matrices.columns) + kLong - 1) / kLong;
        const auto blocks = static_cast<unsigned>(std::min<std::size_t>(matrices.count * strips, 132 * 16));
        launch(stream, blocks, kThreads, 0, transpose_strips<From, To>, matrices, static_cast<unsigned>(strips), tall, in, out);
        return;
      }
      const std::size_t down = (matrices.rows + kTile - 1) / kTile, across = (matrices.columns + kTile - 1) / kTile;
      const auto blocks = static_cast<unsigned>(std::min<std::size_t>(matrices.count * down * across, 132 * 16));
      launch(stream, blocks, kTile * kRows, 0, transpose_tiles<From, To>, matrices, down, across, in, out);
    });
  });
}

void swap_axes(cudaStream_t stream, Element element, std::size_t first, std::size_t second, std::size_t size, const void* from,
               std::size_t from_row, void* to, std::size_t to_row) {
  if (first * second == 0) return;
  with_element(element, [&](auto type) {
    using T = decltype(type);
    launch(stream, static_cast<unsigned>(first * second), kRowThreads, 0, swap_rows<T>, first, second, size, static_cast<const T*>(from), from_row,
           static_cast<T*>(to), to_row);
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
