#pragma once

// What GRU and LSTM have in common: the input products of all positions at once, then one step for each position, and
// back-propagation through time. Sequences are (time, features); the state before the first position is zero.

#include <memory>

#include "cpu/layer.h"
#include "mgcompare/device.h"
#include "model/spec.h"

namespace mgcompare {

// One position of all samples. Arrays are (samples, units) or (samples, gates x units), with the gates in the order of the
// layer's weights.
struct RecurrentStep {
  std::size_t samples = 0, units = 0, position = 0;
  bool last = false;                // the last position of the sequence
  const float* previous = nullptr;  // the state before the step
  float* state = nullptr;           // the state after it
  float* gates = nullptr;           // forward: input product with its bias -> activations; backward: -> its gradient
  float* recurrent = nullptr;       // the same for the recurrent product, unless the cell adds it to the gates
  // Backward: the gradient of the state after the step -> that of the state before it, but for the recurrent product's part.
  float* gradient = nullptr;
};

class RecurrentCell {
 public:
  virtual ~RecurrentCell() = default;
  // False if only the sum of the two products matters. It is then in `gates`, and `recurrent` is the same array.
  virtual bool keeps_products_apart() const = 0;
  virtual void reserve(std::size_t /*samples*/, std::size_t /*positions*/) {}
  virtual void forward(const RecurrentStep& step) = 0;
  virtual void backward(const RecurrentStep& step) = 0;
};

std::unique_ptr<Layer> make_recurrent(Device& device, const LayerSpec& spec, std::unique_ptr<RecurrentCell> cell, Port& input,
                                      Tensor& output);

}  // namespace mgcompare
