#pragma once

// Transposition of many matrices at once, with conversion of the element type: images and filters between planar
// (channel, pixel) and channels-last (pixel, channel) order.

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

// to[i] = from[i] with conversion.
void convert(cudaStream_t stream, std::size_t size, const void* from, Element from_element, void* to, Element to_element);

}  // namespace mgcompare::cuda
