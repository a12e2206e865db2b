#pragma once

// Networks that are drawn by chance, of all layers: combinations of which nobody has thought.

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "cases.h"
#include "mgcompare/random.h"

namespace mgcompare::testing {

class DrawnNetwork {
 public:
  explicit DrawnNetwork(std::uint64_t seed) : random_(seed, 17) {
    network_.name = "drawn_" + std::to_string(seed);
    const std::size_t form = below(6);
    if (form == 0) draw_rows();
    else if (form == 1) draw_sequence();
    else draw_image();
    network_.layers.push_back(dense(3));
    if (of_positions_) network_.layers.back().per_position = true;
  }

  const Case& network() const { return network_; }
  // Without kinks, at which rounding decides: tanh for relu, and max pooling as its mean.
  Case smooth() const {
    Case smooth = network_;
    for (LayerConfig& layer : smooth.layers)
      if (layer.type == LayerType::relu) layer.type = LayerType::tanh;
    smooth.numerics.average_pooling = true;
    return smooth;
  }
  // "drawn_3: conv 8, relu 0, ...", types and channels or units, for messages.
  std::string text() const {
    std::string text = network_.name + ":";
    for (const LayerConfig& layer : network_.layers) text += " " + std::string(to_string(layer.type)) + " " + std::to_string(layer.channels) + ",";
    return text;
  }

 private:
  std::size_t below(std::size_t end) { return random_.below(drawn_++, end); }
  std::size_t one_of(std::initializer_list<std::size_t> values) { return values.begin()[below(values.size())]; }
  bool by_chance(std::size_t of) { return below(of) == 0; }
  void add(const LayerConfig& config) { network_.layers.push_back(config); }
  LayerConfig activation() {
    const char* const names[] = {"relu", "tanh", "sigmoid", "gelu"};
    return layer(names[below(4)]);
  }
  void add_some_of(const std::vector<LayerConfig>& all) {
    for (const LayerConfig& config : all)
      if (by_chance(3)) add(config);
  }

  void draw_rows() {
    network_.shape = {one_of({1, 3, 10, 37})};
    draw_dense();
    draw_dense();
  }

  void draw_sequence() {
    network_.shape = {one_of({2, 5, 9})};
    network_.tokens = one_of({2, 7, 20});
    if (by_chance(3)) add(layer("one_hot"));
    else add(embedding(one_of({1, 6, 16})));
    for (std::size_t k = below(3); k > 0; --k) {
      const std::string type = by_chance(2) ? "gru" : "lstm";
      const std::size_t units = one_of({1, 3, 8, 17});
      add(recurrent(type, units, true));
      // The norm of a single feature leaves rounding errors only.
      add_some_of({dropout(0.2), layer(units > 1 ? "layer_norm" : "tanh"), per_position(dense(one_of({1, 6}))), layer("gelu")});
    }
    of_positions_ = by_chance(3);
    if (of_positions_) network_.targets = network_.shape[0];
    else if (by_chance(2)) add(recurrent(by_chance(2) ? "gru" : "lstm", one_of({2, 9})));
    else if (by_chance(2)) add(layer("global_average_pool"));
  }

  void draw_image() {
    network_.shape = {one_of({1, 2, 3, 5, 8}), 4 + below(9), 4 + below(9)};
    channels_ = network_.shape[0], height_ = network_.shape[1], width_ = network_.shape[2];
    for (std::size_t k = 1 + below(4); k > 0; --k) {
      const std::size_t kind = below(8);
      if (kind < 5) draw_convolution();
      else if (kind < 7) draw_pooling();
      else add_some_of({response_norm(1 + below(2), 0.3, 0.75, 1.5), layer("layer_norm"), dropout(0.3)});
    }
    if (by_chance(3)) add(layer("global_average_pool"));
    draw_dense();
  }

  // That a window makes of `size` pixels; 0 if it is larger.
  static std::size_t outputs(std::size_t size, std::size_t window, std::size_t stride, std::size_t padding) {
    return size + 2 * padding < window ? 0 : (size + 2 * padding - window) / stride + 1;
  }
  // Takes the layer's outputs for the image from now on; false if there would be none.
  bool fit(LayerConfig& config) {
    const std::size_t height = outputs(height_, config.kernel[0], config.stride[0], config.padding[0]);
    const std::size_t width = outputs(width_, config.kernel[1], config.stride[1], config.padding[1]);
    if (height == 0 || width == 0) return false;
    height_ = height, width_ = width;
    return true;
  }

  void draw_convolution() {
    LayerConfig config = convolution(one_of({1, 3, 4, 7, 8, 16, 17, 24}), one_of({1, 1, 2, 3, 3, 3, 5}));
    if (by_chance(4)) config.kernel[1] = 1 + below(4);
    if (by_chance(3)) config = strided(config, 1 + below(3), 1 + below(3));
    config.padding[0] = below(config.kernel[0]), config.padding[1] = below(config.kernel[1]);
    config.bias = by_chance(2);
    if (!fit(config)) return;
    add(config);
    channels_ = config.channels;
    if (by_chance(2)) add(layer("batch_norm"));
    if (!by_chance(5)) add(activation());
    if (by_chance(4)) draw_branch();
  }

  // A sum or a concatenation of the last layer and what two convolutions make of it.
  void draw_branch() {
    const std::string number = std::to_string(network_.layers.size()), begin = "begin" + number, end = "end" + number;
    add(named(layer("tanh"), begin));
    add(padded(convolution(channels_, 3), 1, 1));
    add_some_of({layer("batch_norm"), layer("relu")});
    add(named(convolution(channels_, 1), end));
    const bool adds = !by_chance(3);
    add(named(layer(adds ? "add" : "concat"), "joined" + number, {begin, end}));
    if (!adds) channels_ *= 2;
    if (by_chance(2)) add(layer("relu"));
  }

  void draw_pooling() {
    const std::size_t window = one_of({2, 2, 3});
    LayerConfig config = pool(by_chance(3) ? "average_pool" : "max_pool", window, by_chance(3) ? 1 + below(3) : window, by_chance(3) ? window / 2 : 0);
    if (fit(config)) add(config);
  }

  void draw_dense() {
    for (std::size_t k = below(3); k > 0; --k) {
      const std::size_t units = one_of({1, 5, 16, 33});
      add(dense(units));
      if (by_chance(2)) network_.layers.back().bias = false;
      if (by_chance(3)) add(layer("batch_norm"));
      if (by_chance(3) && units > 1) add(layer("layer_norm"));
      if (!by_chance(4)) add(activation());
      if (by_chance(5)) add(dropout(0.3));
    }
  }

  const Random random_;
  std::uint64_t drawn_ = 0;
  Case network_;
  bool of_positions_ = false;       // the outputs are those of each position of a sequence
  std::size_t channels_ = 0, height_ = 0, width_ = 0;
};

}  // namespace mgcompare::testing
