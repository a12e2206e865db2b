#pragma once

// The bias of a convolution or dense layer, with the activation that follows it. The values are a (rows x columns) matrix: of
// channels-last images a row is a pixel and a column a channel.

#include <cstddef>

#include "model/activation.h"

namespace mgcompare::cuda {

class Bias {
 public:
  virtual ~Bias() = default;
  // Allocates memory for passes of up to `rows` rows.
  virtual void reserve(std::size_t /*rows*/) {}
  // x = activation(x + bias[column]); bias may be null.
  virtual void add(Activation activation, const float* bias, void* x, std::size_t rows) = 0;
  // Multiplies `gradient` by the activation's derivative at y, in place. sums[column] = the result summed over the rows, in a fixed
  // order; `sums` may be null.
  virtual void backward(Activation activation, const void* y, void* gradient, float* sums, std::size_t rows) = 0;
};

}  // namespace mgcompare::cuda
