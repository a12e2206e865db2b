#pragma once

// Convolution of images with few channels by kernels of few places, such as the first layer of a network that reads grey or
// colour images: a product of so few terms is bound by the memory that its output fills, and cuDNN's kernels for tensor cores
// would pad the channels to 4 or 8. Input (sample, channel, row, column) in float32, output channels-last. All arithmetic is
// fp32, whatever numerics.precision is.

#include <cstddef>

#include "cuda/activation.h"
#include "cuda/device.h"
#include "cuda/element.h"
#include "model/spec.h"

namespace mgcompare::cuda {

class FewChannels {
 public:
  // Channels times places of the kernel, at most. With more terms, tensor cores are faster; of one channel cuDNN makes no use.
  static constexpr std::size_t kTerms = 32, kTermsOfColours = 12;
  // Whether the layer has that shape.
  static bool serves(const LayerSpec& spec);

  FewChannels(CudaDevice& device, const LayerSpec& spec, Element element);

  // out = activation(convolution(in) + bias), on the compute stream. `bias` may be null.
  void forward(Activation activation, const float* in, const float* weights, const float* bias, void* out, std::size_t samples) const;
  // The gradients of weights and bias, which follow the weights in `to`, from that of the output after the activation; y is
  // the output. Without a bias, or with `has_bias_gradient` false, only that of the weights. Deterministic.
  void backward(Activation activation, const float* in, const void* y, const void* gradient, float* to, bool has_bias_gradient,
                std::size_t samples) const;

 private:
  struct Geometry {
    unsigned channels, height, width, outputs, down, across, rows, columns;
    int stride[2], padding[2];
    unsigned terms() const { return channels * rows * columns; }
  };
  friend struct FewChannelsKernels;
  template <class F> void dispatch(F f) const;
  std::size_t runs(std::size_t samples) const;  // of neighbouring pixels

  CudaDevice& device_;
  Element element_;
  Geometry geometry_;
  Array<float> partial_;
};

}  // namespace mgcompare::cuda
