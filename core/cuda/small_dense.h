#pragma once

// Dense layer whose products are too small to fill a GPU with cuBLASLt's tiles. Each of its three products is one kernel on tensor
// cores: the forward product with bias and activation, the gradient of the input with the derivative of the activation before it,
// the gradient of the weights with that of the bias. A block computes 16 x 16 or 32 x 32 elements, and its warps split the terms of
// each sum, so that all loads of a block are in flight early. Deterministic. Needs compute capability 8.0.
//
// Inputs, outputs and their gradients store `element`: fp32, which is rounded to tf32 for the products, or bf16. Weights store that
// or fp32. Sums, biases and the gradients of weights and bias are float32.

#include <cstddef>

#include "config/kinds.h"
#include "cuda/device.h"
#include "cuda/element.h"
#include "model/activation.h"

namespace mgcompare::cuda {

class SmallDense {
 public:
  struct Weights {
    const void* values;
    Element element;
  };

  // Whether the kernels compute this precision on the device.
  static bool supports(const CudaDevice& device, Precision precision);
  SmallDense(CudaDevice& device, Element element, std::size_t inputs, std::size_t outputs);

  // Whether this is expected to be faster than cuBLASLt, and the grids of blocks are not too large.
  bool serves(std::size_t rows) const {
    return rows <= kMostRows && outputs_ <= kMostRows && rows * inputs_ * outputs_ <= kMultiplicationsPerProcessor * processors_;
  }

  // The same for forward(), whose few blocks have many terms each where the layer has many inputs.
  bool serves_forward(std::size_t rows) const { return serves(rows) && inputs_ <= kMostTerms; }

  // out = activation(in * transpose(weights) + bias), on the compute stream. out is (rows, outputs), in is (rows, inputs), weights is
  // (outputs, inputs). `bias` may be null.
  void forward(Activation activation, const void* in, const Weights& weights, const float* bias, void* out, std::size_t rows) const;
  // to = gradient of `in` from that of `out` before the activation, times the derivative of `activation`, whose output is `in`. On
  // the compute stream.
  void backward_data(const void* gradient, const Weights& weights, Activation activation, const void* in, void* to,
                     std::size_t rows) const;
  // Gradients of weights and bias from that of `out` before the activation. `bias` may be null.
  void backward_weights(cudaStream_t stream, const void* in, const void* gradient, float* weights, float* bias,
                        std::size_t rows) const;

 private:
  template <class F> void with_types(Element weights, F f) const;

  // By measurement on an H100: docs/performance/cuda.md.
  static constexpr std::size_t kMultiplicationsPerProcessor = 1u << 20;
  static constexpr std::size_t kMostTerms = 2048;
  static constexpr std::size_t kMostRows = 65535 * 16;  // of a result: blocks have at least 16, and a grid 65535 of them

  CudaDevice& device_;
  Element element_;
  std::size_t inputs_, outputs_, processors_;
};

}  // namespace mgcompare::cuda
