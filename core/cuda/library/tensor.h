#pragma once

// A tensor for cuDNN's functions of single layers.

#include <cudnn.h>

#include <cstddef>

#include "cuda/element.h"

namespace mgcompare::cuda::library {

// Sizes of (sample, channel, row, column).
struct Sizes {
  std::size_t samples, channels, rows = 1, columns = 1;
};

class Tensor4d {
 public:
  Tensor4d();
  Tensor4d(const Tensor4d&) = delete;
  Tensor4d& operator=(const Tensor4d&) = delete;
  ~Tensor4d();
  // The descriptor, which is valid until the next call. Channels-last: the channels of a pixel are neighbours in memory. Throws
  // Error if cuDNN does not support the sizes.
  cudnnTensorDescriptor_t of(const Sizes& sizes, Element element, bool channels_last = false);

 private:
  cudnnTensorDescriptor_t descriptor_ = nullptr;
};

}  // namespace mgcompare::cuda::library
