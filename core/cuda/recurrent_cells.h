#pragma once

// What the layers of one wave (recurrent_shape.h) compute from the products with their weights: gates and states, and backward the gradients
// of the products. As in cpu/gru.h and cpu/lstm.h.

#include "cuda/device.h"
#include "cuda/recurrent_shape.h"

namespace mgcompare::cuda {

// In device memory, of the element type unless it is said otherwise.
struct RecurrentArrays {
  const void* inputs = nullptr;     // products of the first layer's input: (position, sample, gate row)
  const void* products = nullptr;   // of this wave: (sample, column), for each layer those of its input and of its state
  const float* biases = nullptr;    // fp32
  void* states = nullptr;           // (wave + 1, sample, layer, unit)
  float* memory = nullptr;          // fp32, of an LSTM: as the states
  void* kept = nullptr;             // (wave, sample, layer, gate rows of the input, gate rows of the state)
};

// The output of the last layer or its gradient: of all positions (sample, position, unit) or of the last one (sample, unit).
struct RecurrentOutput {
  void* values = nullptr;
  bool of_all_positions = false;
};

class RecurrentCells {
 public:
  RecurrentCells(CudaDevice& device, const RecurrentShape& shape, Element element) : device_(device), shape_(shape), element_(element) {}

  void reserve(std::size_t samples);

  // Layers without a position in the wave get zeros, in wave -1 all of them. `keeps`: for a backward pass.
  void forward(std::size_t samples, int wave, bool keeps, const RecurrentArrays& arrays, const RecurrentOutput& output) const;
  // Replaces what is kept. The waves are called from the last one to 0.
  void backward(std::size_t samples, int wave, const RecurrentArrays& arrays, const RecurrentOutput& gradient) const;
  // What products add to the gradients of the states of the next wave to be called, fp32: (sample, layer, product of the layer's own state or
  // of the next layer's input, unit).
  float* slopes() const { return slopes_.data(); }
  // Sums over samples and positions of the gradients of products, after the backward passes: (layer, sum, unit). Those of input and state
  // differ for the candidate of a GRU only.
  void sum_gradients(cudaStream_t stream, std::size_t samples, float* sums) const;
  static constexpr std::size_t kSums = 4;
  static constexpr std::size_t sum_of(LayerType type, std::size_t gate, bool of_state) {
    return type == LayerType::gru && of_state && gate == 2 ? 3 : gate;
  }

 private:
  struct Grid;
  Grid grid(std::size_t samples) const;
  template <class F> void with_cells(std::size_t samples, int wave, F f) const;

  CudaDevice& device_;
  const RecurrentShape shape_;
  const Element element_;
  Array<float> slopes_;
  Array<float> carried_;            // (sample, layer, unit): what a position passes to the one before it beside the products
  Array<float> sums_;               // (row of threads, layer, sum, unit)
};

}  // namespace mgcompare::cuda
