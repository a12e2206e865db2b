#pragma once

// Which layers of a network are computed together: an activation after a convolution, dense layer, batch normalisation or sum;
// max pooling after a convolution, and dropout after that; a sum after batch normalisation; recurrent layers of one type and width; and what
// batch normalisation takes over from the layer before it.

#include <cstddef>
#include <optional>
#include <vector>

#include "model/activation.h"
#include "model/network.h"
#include "model/readers.h"
#include "model/spec.h"

namespace mgcompare::cuda {

// What is computed with one layer.
struct Fusion {
  std::size_t layers = 1;           // of the specification, including the layer itself
  Activation activation = Activation::none;
  const LayerSpec* pool = nullptr;  // max pooling with windows that do not overlap; null: none
  const LayerSpec* dropout = nullptr;  // the last of the layers, after relu and max pooling; null: none
  // Batch normalisation: the layer, -1 for the sample, whose output is added to the result before the activation.
  std::optional<int> added;
  // A convolution or dense layer whose only reader is batch normalisation, which adds its bias and applies its activation. Not if
  // both have an activation.
  bool feeds_normalization = false;
};

// What a layer leaves to the batch normalisation that reads it: nothing, if the range is empty and there is no activation.
struct Unfinished {
  Range bias;
  Activation activation = Activation::none;
};

class Fusions {
 public:
  // `spec` must outlive the object.
  Fusions(const NetworkSpec& spec, const Numerics& numerics);
  Fusion of(std::size_t index) const;
  // What the layer before leaves to batch normalisation `index`.
  Unfinished left_to(std::size_t index) const;

 private:
  std::optional<int> added_to(std::size_t index) const;

  const NetworkSpec& spec_;
  const bool fuses_;                // otherwise recurrent layers only, which cuDNN, too, computes together
  bool pools_;                      // max pooling can be fused
  bool drops_;                      // dropout is not left out
  const Readers readers_;
};

}  // namespace mgcompare::cuda
