#pragma once

// The order in which the layers of a recurrent network are computed, and the order of its arrays. Layer l works at position w - l in wave w:
// then what it reads, its own state of the position before and the state of the layer before at this position, was computed in wave w - 1.
// So the layers of a wave are independent, and with arrays in the order (wave, sample, layer, ...) one call can multiply for all of
// them. Layers that have no position in a wave have zeros there.
//
// Each layer has two kinds of gate rows, those that multiply its input and those that multiply its state; gates are in the order of the CPU
// twins. Of each unit, four values are kept for the backward pass, in the place of which it stores the gradients of both kinds of
// products, those of the input first.

#include <cstddef>

#include "cuda/element.h"
#include "model/spec.h"

namespace mgcompare::cuda {

struct RecurrentShape {
  // `layer` is the first of `count`.
  RecurrentShape(const LayerSpec& layer, std::size_t count)
      : type(layer.config.type), layers(count), gates(gates_of(type)), positions(layer.input_shapes.front()[0]),
        features(layer.input_shapes.front()[1]), units(layer.config.channels), row(padded(features)), width(padded(units)) {}

  std::size_t waves() const { return positions + layers - 1; }
  // Rows of the weights: a row of each gate and unit.
  std::size_t gate_rows() const { return gates * width; }
  // Those that multiply the state of a layer: its own, and those of the next layer.
  std::size_t state_rows() const { return (layers > 1 ? 2 : 1) * gate_rows(); }
  // Matrices of gate rows that multiply states.
  std::size_t state_matrices() const { return 2 * layers - 1; }
  // Of one sample and wave:
  std::size_t state_size() const { return layers * width; }
  std::size_t kept_size() const { return layers * 2 * gate_rows(); }
  std::size_t slope_size() const { return layers * 2 * width; }
  std::size_t product_size() const { return (layers > 1 ? 2 * layers + 1 : 2) * gate_rows(); }

  LayerType type;
  std::size_t layers, gates, positions, features, units;
  std::size_t row, width;           // features and units, followed by zeros up to a multiple of kMultiple

  static constexpr std::size_t kMultiple = 8;  // elements: 16 bytes of bf16

 private:
  static std::size_t padded(std::size_t size) { return (size + kMultiple - 1) / kMultiple * kMultiple; }
};

}  // namespace mgcompare::cuda
