#pragma once

// The weights of consecutive recurrent layers in the order in which they are multiplied (recurrent_shape.h), and their gradients: those of
// the first layer's input (gate row, feature), and for each layer the rows of its state, followed by the rows of the next layer's input
// (zeros behind the last layer), as (layer, gate row, unit). These are matrices of gate rows, one behind the other.

#include <cstdint>
#include <vector>

#include "cuda/device.h"
#include "cuda/recurrent_shape.h"
#include "model/spec.h"

namespace mgcompare::cuda {

// A matrix of the network's vector: rows without gaps there, `spacing` elements apart here.
struct RecurrentPart {
  std::size_t flat, place;
  std::size_t gradient_place;       // of a bias, among RecurrentCells::sum_gradients()
  std::size_t rows, columns, spacing;
  bool is_bias;
};

class RecurrentWeights {
 public:
  RecurrentWeights(CudaDevice& device, const RecurrentShape& shape, const std::vector<LayerSpec>& layers, Element element);

  // Queues copies from and to the network's vectors.
  void load(cudaStream_t stream, const float* vector) const;
  void store_gradients(cudaStream_t stream, float* vector) const;

  const std::uint8_t* of_input() const { return weights_.data(); }
  const std::uint8_t* of_states() const { return weights_.data() + input_size_ * bytes_of(element_); }
  const float* biases() const { return biases_.data(); }  // (layer, of the input or of the state, gate row)
  float* input_gradient() const { return gradients_.data(); }
  float* state_gradient() const { return gradients_.data() + input_size_; }
  float* bias_gradient() const { return bias_gradients_.data(); }  // RecurrentCells::sum_gradients()
  // Read and written by load(), about.
  std::size_t loaded_bytes() const { return gradients_.size() * (sizeof(float) + bytes_of(element_)); }

 private:
  void add_parts(const RecurrentShape& shape, const LayerSpec& layer, std::size_t index, std::vector<RecurrentPart>& parts) const;

  const Element element_;
  const std::size_t input_size_;    // elements of the weights of the input
  Array<std::uint8_t> weights_;
  Array<float> biases_, gradients_, bias_gradients_;
  Array<RecurrentPart> parts_;
};

}  // namespace mgcompare::cuda
