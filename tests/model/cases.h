#pragma once

// Every layer in small networks with three outputs. Every back end is tested on them.

#include <ostream>
#include <string>
#include <vector>

#include "model/network.h"
#include "model/spec.h"
#include "networks.h"

namespace mgcompare::testing {

struct Case {
  std::string name;
  Shape shape;
  std::vector<LayerConfig> layers;
  Numerics numerics;
  std::size_t tokens = 0;           // the samples are tokens below this; 0: they are bytes / 255
  std::size_t targets = 1;

  SampleSpec samples() const {
    SampleSpec spec;
    spec.shape = shape;
    spec.classes = 3;
    spec.tokens = tokens;
    spec.targets = targets;
    return spec;
  }
};
inline void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

inline LayerConfig strided(LayerConfig config, std::size_t down, std::size_t right) {
  config.stride[0] = down;
  config.stride[1] = right;
  return config;
}

inline LayerConfig padded(LayerConfig config, std::size_t rows, std::size_t columns) {
  config.padding[0] = rows;
  config.padding[1] = columns;
  return config;
}

inline LayerConfig kernel(LayerConfig config, std::size_t height, std::size_t width) {
  config.kernel[0] = height;
  config.kernel[1] = width;
  return config;
}

inline LayerConfig unbiased(LayerConfig config) {
  config.bias = false;
  return config;
}

// A residual block that halves the image, as ResNet's: its sum is of a bottleneck and of a convolution of its input.
inline std::vector<LayerConfig> bottleneck() {
  return {named(padded(strided(unbiased(convolution(6, 7)), 2, 2), 3, 3), "stem"), layer("batch_norm"), layer("tanh"),
          named(pool("max_pool", 3, 2, 1), "input of the block"), unbiased(convolution(4, 1)), layer("batch_norm"), layer("relu"),
          padded(strided(unbiased(convolution(4, 3)), 2, 2), 1, 1), layer("batch_norm"), layer("relu"),
          unbiased(convolution(8, 1)), named(layer("batch_norm"), "a"),
          named(strided(unbiased(convolution(8, 1)), 2, 2), "shortcut", {"input of the block"}), named(layer("batch_norm"), "b"),
          named(layer("add"), "sum", {"a", "b"}), layer("relu"), layer("global_average_pool"), dense(3)};
}

// Residual blocks whose sums follow batch normalisation: of a layer with an activation, of a sum that three layers read, and of the sample.
inline std::vector<LayerConfig> residual_batch_norms() {
  return {named(convolution(3, 1), "first"), named(layer("batch_norm"), "normal"), named(layer("add"), "with the sample", {"normal", "input"}),
          named(layer("tanh"), "a"), padded(convolution(3, 3), 1, 1), layer("sigmoid"), named(layer("batch_norm"), "b"),
          named(layer("add"), "a and b", {"a", "b"}), named(layer("tanh"), "c"), padded(unbiased(convolution(3, 3)), 1, 1),
          named(layer("batch_norm"), "d"), named(layer("add"), "c and d", {"c", "d"}), named(layer("tanh"), "e"),
          named(layer("add"), "three", {"c", "e", "c"}), named(layer("sigmoid"), "f"), named(convolution(3, 1), "g", {"f"}),
          named(layer("add"), "last", {"f", "g"}), layer("global_average_pool"), dense(3)};
}

inline std::vector<Case> cases() {
  const Shape small{1, 9, 7}, colour{3, 8, 11};
  LayerConfig wide = embedding(6);
  wide.tokens = 14;
  return {
      {"dense", {5}, {dense(6), layer("tanh"), dense(3)}, {}},
      {"dense_without_bias", {4, 3}, {unbiased(dense(7)), layer("sigmoid"), dense(3)}, {}},
      {"dense_of_image", small, {dense(5), layer("relu"), dense(3)}, {}},
      {"convolution", small, {convolution(3, 3), layer("tanh"), layer("flatten"), dense(3)}, {}},
      {"two_convolutions", colour, {convolution(6, 3), layer("tanh"), convolution(7, 3), layer("flatten"), dense(3)}, {}},
      {"convolution_one_by_one", colour, {convolution(4, 1), convolution(11, 1), layer("sigmoid"), dense(3)}, {}},
      {"convolution_strided", colour,
       {strided(convolution(5, 3), 2, 3), layer("tanh"), strided(convolution(3, 2), 1, 2), layer("flatten"), dense(3)}, {}},
      {"convolution_padded", colour,
       {padded(convolution(4, 3), 1, 2), layer("tanh"), padded(strided(convolution(6, 3), 2, 2), 2, 1), dense(3)}, {}},
      {"convolution_to_one_channel", colour,
       {convolution(1, 3), layer("tanh"), convolution(5, 3), layer("tanh"), layer("flatten"), dense(3)}, {}},
      {"convolution_to_one_channel_behind_another", colour,
       {convolution(8, 2), layer("tanh"), convolution(1, 2), layer("tanh"), convolution(4, 2), layer("tanh"), layer("flatten"), dense(3)}, {}},
      {"convolution_of_many_terms", small, {convolution(8, 6), layer("tanh"), layer("flatten"), dense(3)}, {}},
      {"convolution_in_packs", colour,
       {convolution(16, 3), layer("batch_norm"), layer("relu"), convolution(24, 3), layer("tanh"), max_pool(2), dropout(0.3),
        layer("flatten"), dense(20), layer("tanh"), dense(3)}, {}},
      {"convolution_of_odd_planes", colour,
       {padded(convolution(17, 3), 1, 1), layer("tanh"), padded(convolution(19, 3), 2, 0), layer("sigmoid"), convolution(16, 3),
        layer("tanh"), max_pool(2), layer("flatten"), dense(3)}, {}},
      {"convolution_of_more_outputs_than_a_panel", {3, 5, 6},
       {padded(convolution(16, 3), 1, 1), layer("tanh"), padded(convolution(83, 3), 1, 1), layer("tanh"), padded(convolution(41, 3), 0, 1),
        layer("sigmoid"), layer("global_average_pool"), dense(3)}, {}},
      {"convolution_of_samples_in_packs", small,
       {padded(convolution(8, 3), 1, 1), layer("relu"), max_pool(2), dropout(0.3), layer("flatten"), dense(3)}, {}},
      {"convolution_of_samples_five_by_five", small,
       {padded(convolution(8, 5), 2, 2), layer("tanh"), unbiased(convolution(4, 3)), layer("relu"), dense(3)}, {}},
      {"convolution_oblong", small,
       {kernel(convolution(2, 1), 2, 5), layer("relu"), unbiased(kernel(convolution(9, 1), 4, 1)), dense(3)}, {}},
      {"fused_max_pool", colour, {convolution(6, 3), layer("tanh"), max_pool(2), convolution(5, 2), max_pool(2), dense(3)}, {}},
      {"relu_max_pool_dropout_remainders", colour,
       {convolution(7, 2), layer("relu"), max_pool(3), dropout(0.4), layer("flatten"), dense(3)}, {}},
      {"relu_max_pool_dropout_of_packs", colour,
       {convolution(16, 1), layer("relu"), convolution(16, 2), layer("relu"), max_pool(2), dropout(0.3), dense(5), layer("relu"), dense(3)}, {}},
      {"convolutions_with_relu_and_bias", colour,
       {convolution(8, 2), layer("relu"), convolution(12, 2), convolution(16, 1), layer("relu"), dense(3)}, {}},
      {"fused_relu_max_pool_remainders", colour, {convolution(7, 2), layer("relu"), max_pool(3), layer("flatten"), dense(3)}, {}},
      {"fused_sigmoid_max_pool", small, {convolution(2, 2), layer("sigmoid"), max_pool(2), dense(3)}, {}},
      {"max_pool_overlapping", small, {convolution(3, 2), layer("tanh"), pool("max_pool", 3, 2, 1), dense(3)}, {}},
      {"max_pool_of_activation", small, {convolution(3, 2), max_pool(2), layer("tanh"), dense(3)}, {}},
      {"average_pool", small, {convolution(3, 2), layer("tanh"), pool("average_pool", 3, 2, 1), dense(3)}, {}},
      {"max_pool_as_average", small, {convolution(3, 2), layer("tanh"), max_pool(2), dense(3)}, {Precision::fp32, false, true, true}},
      {"dropout_of_image", small, {convolution(3, 2), layer("tanh"), dropout(0.4), dense(3)}, {}},
      {"dropout_of_rows", {6}, {dense(9), layer("tanh"), dropout(0.5), dense(3)}, {}},
      {"dropout_switched_off", {6}, {dense(9), layer("tanh"), dropout(0.5), dense(3)}, {Precision::fp32, false, false, false}},
      {"batch_norm_of_image", small, {convolution(3, 2), layer("batch_norm"), layer("tanh"), convolution(2, 3), dense(3)}, {}},
      {"batch_norm_of_rows", {6}, {dense(5), layer("batch_norm"), layer("sigmoid"), dense(4), layer("tanh"), layer("batch_norm"), dense(3)}, {}},
      {"batch_norm_of_sequence", {4, 3}, {layer("batch_norm"), layer("tanh"), dense(3)}, {}},
      {"batch_norm_behind_activations", colour,
       {convolution(6, 3), layer("tanh"), layer("batch_norm"), layer("sigmoid"), unbiased(convolution(8, 2)), layer("sigmoid"),
        layer("batch_norm"), convolution(5, 2), layer("tanh"), layer("batch_norm"), dense(3)}, {}},
      {"batch_norm_with_max_pools", colour,
       {convolution(5, 2), layer("batch_norm"), layer("relu"), max_pool(2), padded(convolution(16, 3), 1, 1), layer("batch_norm"), layer("tanh"),
        pool("max_pool", 2, 2), padded(convolution(17, 3), 1, 1), layer("batch_norm"), layer("sigmoid"), layer("flatten"), dense(3)}, {}},
      {"batch_norm_with_a_max_pool_alone", colour,
       {layer("batch_norm"), max_pool(3), convolution(4, 2), layer("batch_norm"), pool("max_pool", 1, 1), dense(3)}, {}},
      {"batch_norm_with_an_overlapping_max_pool", colour,
       {convolution(4, 2), layer("batch_norm"), layer("relu"), pool("max_pool", 3, 2, 1), dense(3)}, {}},
      {"batch_norm_with_an_average_pool", colour,
       {convolution(4, 2), layer("batch_norm"), layer("tanh"), max_pool(2), dense(3)}, {Precision::fp32, false, true, true}},
      {"batch_norm_of_two_readers", colour,
       {convolution(3, 2), named(layer("batch_norm"), "a"), layer("relu"), named(max_pool(2), "b"), named(max_pool(2), "c", {"a"}),
        named(layer("add"), "sum", {"b", "c"}), dense(3)}, {}},
      {"residual_batch_norms", colour, residual_batch_norms(), {}},
      {"activations_of_two_readers", {5},
       {dense(4), layer("gelu"), named(layer("tanh"), "a"), named(dense(4), "b", {"a"}), named(layer("add"), "sum", {"a", "b"}), layer("gelu"),
        named(layer("sigmoid"), "c"), named(layer("add"), "twice", {"c", "c"}), dense(3)}, {}},
      {"gru", {7, 5}, {recurrent("gru", 6), dense(3)}, {}},
      {"gru_of_one_position", {1, 4}, {recurrent("gru", 5), dense(3)}, {}},
      {"gru_of_sequences", {2, 3}, {recurrent("gru", 17, true), layer("flatten"), dense(3)}, {}},
      {"grus_stacked", {7, 3}, {recurrent("gru", 4, true), recurrent("gru", 9, true), recurrent("gru", 3)}, {}},
      {"gru_of_a_layer", {5, 3}, {layer("tanh"), dropout(0.2), recurrent("gru", 4), layer("tanh"), dense(3)}, {}},
      {"lstm", {7, 5}, {recurrent("lstm", 6), dense(3)}, {}},
      {"lstm_of_one_position", {1, 4}, {recurrent("lstm", 5), dense(3)}, {}},
      {"lstm_of_sequences", {2, 3}, {recurrent("lstm", 17, true), layer("flatten"), dense(3)}, {}},
      {"lstms_stacked", {7, 3}, {recurrent("lstm", 4, true), recurrent("lstm", 9, true), recurrent("lstm", 3)}, {}},
      {"branches_of_sequences", {4, 3},
       {named(recurrent("gru", 4, true), "a"), named(recurrent("gru", 4, true), "b", {"a"}),
        named(recurrent("lstm", 4, true), "c", {"a"}), named(layer("add"), "sum", {"a", "b", "c"}), recurrent("lstm", 3), dense(3)},
       {}},
      {"residual", small,
       {named(padded(convolution(3, 3), 1, 1), "a"), named(layer("tanh"), "b"), padded(convolution(3, 3), 1, 1),
        named(layer("tanh"), "c"), named(layer("add"), "sum", {"b", "c", "b"}), layer("relu"), dense(3)}, {}},
      {"branches_of_the_sample", colour,
       {named(padded(convolution(2, 3), 1, 1), "a", {"input"}), named(convolution(4, 1), "b", {"input"}),
        named(layer("concat"), "both", {"a", "b", "input"}), layer("tanh"), max_pool(2), dense(3)}, {}},
      {"branches_of_rows", {5},
       {named(dense(4), "a"), named(layer("sigmoid"), "b", {"a"}), named(dense(6), "c", {"a"}),
        named(layer("concat"), "both", {"b", "c"}), dense(3)}, {}},
      {"activations_alone", {4, 3}, {layer("tanh"), layer("sigmoid"), layer("relu"), dense(3), layer("tanh")}, {}},
      {"dense_per_position", {4, 3}, {per_position(dense(5)), layer("tanh"), unbiased(per_position(dense(18))), dense(3)}, {}},
      {"dense_per_position_at_the_end", {4, 5}, {per_position(dense(17)), layer("sigmoid"), per_position(dense(3))}, {}, 0, 4},
      {"embedding", {5}, {embedding(6), layer("tanh"), dense(3)}, {}, 11},
      {"embedding_of_more_tokens", {5}, {wide, per_position(dense(2)), dense(3)}, {}, 11},
      {"embeddings_of_one_sample", {7},
       {named(embedding(4), "a"), named(embedding(4), "b", {"input"}), named(layer("add"), "sum", {"a", "b"}),
        per_position(dense(3))}, {}, 300, 7},
      {"one_hot", {5}, {layer("one_hot"), per_position(dense(4)), layer("tanh"), dense(3)}, {}, 7},
      {"global_average_pool_of_image", colour, {convolution(5, 2), layer("tanh"), layer("global_average_pool"), dense(3)}, {}},
      {"global_average_pool_of_sample", colour, {layer("global_average_pool"), dense(3)}, {}},
      {"global_average_pool_of_sequence", {4, 3}, {per_position(dense(5)), layer("tanh"), layer("global_average_pool"), dense(3)}, {}},
      {"layer_norm_of_image", small, {convolution(3, 2), layer("layer_norm"), layer("tanh"), convolution(2, 3), dense(3)}, {}},
      {"layer_norm_of_sequence", {4, 3}, {per_position(dense(5)), layer("layer_norm"), layer("tanh"), dense(3)}, {}},
      {"layer_norm_of_rows", {6}, {dense(35), layer("layer_norm"), layer("sigmoid"), dense(3)}, {}},
      {"layer_norm_of_sample", colour, {layer("layer_norm"), dense(3)}, {}},
      {"gelu_of_image", small, {convolution(3, 2), layer("gelu"), convolution(2, 3), dense(3)}, {}},
      {"gelu_of_rows", {6}, {dense(9), layer("gelu"), dense(3)}, {}},
      {"lrn", colour, {convolution(7, 2), response_norm(2, 0.3, 0.75, 1.5), layer("tanh"), dense(3)}, {}},
      {"lrn_over_all_channels", small, {convolution(3, 2), response_norm(9, 0.7, 0.5, 0.8), convolution(2, 3), dense(3)}, {}},
      {"lrn_of_sample", colour, {response_norm(1, 2, 1.3, 1), convolution(2, 3), dense(3)}, {}},
      {"bottleneck", {3, 33, 29}, bottleneck(), {}},
      {"weights_behind_a_dead_end", {5}, {named(dense(4), "a"), named(dense(3), "unread", {"a"}), named(dense(3), "read", {"a"})}, {}},
  };
}

}  // namespace mgcompare::testing
