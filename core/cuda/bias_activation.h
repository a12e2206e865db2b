#pragma once

// Bias and activation after a convolution or dense layer, and their gradients. The values are a (rows x columns) matrix: of
// channels-last images a row is a pixel and a column a channel.

#include <cstddef>
#include <memory>

#include "cuda/activation.h"
#include "cuda/element.h"

namespace mgcompare::cuda {

class CudaDevice;
class ColumnSums;

// x = activation(x + bias[column]); bias may be null.
void add_bias(CudaDevice& device, Activation activation, const float* bias, Element element, void* x, std::size_t rows,
              std::size_t columns);

// Backward pass of bias and activation. Bias gradients are summed over the rows in a fixed order.
class BiasGradient {
 public:
  BiasGradient(CudaDevice& device, std::size_t columns);
  ~BiasGradient();
  // Multiplies `gradient` by the activation's derivative at y, in place. sums[column] = the result summed over the rows; `sums`
  // may be null. y and gradient store `element`.
  void backward(Activation activation, Element element, const void* y, void* gradient, float* sums, std::size_t rows);

 private:
  CudaDevice& device_;
  std::size_t columns_;
  std::unique_ptr<ColumnSums> sums_;
};

}  // namespace mgcompare::cuda
