#pragma once

// Which layers of a network are computed together: an activation after a convolution, dense layer, batch normalisation or sum;
// max pooling after a convolution; recurrent layers of one type and width; and what batch normalisation takes over from the
// layer before it.

#include <cstddef>
#include <vector>

#include "model/activation.h"
#include "model/network.h"
#include "model/spec.h"

namespace mgcompare::cuda {

// What is computed with one layer.
struct Fusion {
  std::size_t layers = 1;           // of the specification, including the layer itself
  Activation activation = Activation::none;
  const LayerSpec* pool = nullptr;  // max pooling with windows that do not overlap; null: none
  // A convolution or dense layer whose only reader is batch normalisation. That applies the derivative of the activation to
  // the gradient that it writes; without an activation it handles the bias instead (batch_norm.h).
  bool feeds_normalization = false;

  bool folds_bias() const { return feeds_normalization && activation == Activation::none; }
};

class Fusions {
 public:
  // `spec` must outlive the object.
  Fusions(const NetworkSpec& spec, const Numerics& numerics);
  Fusion of(std::size_t index) const;
  // The range of the bias that the layer before leaves to batch normalisation `index`; empty if it leaves none.
  Range folded_bias(std::size_t index) const;

 private:
  bool is_only_reader(std::size_t index, std::size_t producer) const;

  const NetworkSpec& spec_;
  const bool fuses_;                // otherwise recurrent layers only, which cuDNN computes together
  bool pools_;                      // max pooling can be fused
  std::vector<std::size_t> readers_;  // [0] of the sample, [i + 1] of layer i
};

}  // namespace mgcompare::cuda
