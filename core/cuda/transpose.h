#pragma once

// Transposition of many matrices at once, with conversion of the element type: images and filters between planar
// (channel, pixel) and channels-last (pixel, channel) order. And of sequences between (sample, position) and (position, sample) order.

#include <cstddef>

#include <cuda_runtime_api.h>

#include "cuda/element.h"

namespace mgcompare::cuda {

struct Matrices {
  std::size_t count, rows, columns;

  Matrices transposed() const { return {count, columns, rows}; }
};

// to[m] (columns x rows) = transpose(from[m]) (rows x columns). The memory must not overlap.
void transpose(cudaStream_t stream, const Matrices& matrices, const void* from, Element from_element, void* to, Element to_element);

// Rows of `size` elements, (first, second, row) to (second, first, row), which begin from_row and to_row elements apart. The memory must
// not overlap.
void swap_axes(cudaStream_t stream, Element element, std::size_t first, std::size_t second, std::size_t size, const void* from,
               std::size_t from_row, void* to, std::size_t to_row);

// to[i] = from[i] with conversion.
void convert(cudaStream_t stream, std::size_t size, const void* from, Element from_element, void* to, Element to_element);

}  // namespace mgcompare::cuda
