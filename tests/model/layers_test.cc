// Every layer inside small networks: logits against the reference loops, gradients against central differences of them.

#include <gtest/gtest.h>

#include <algorithm>

#include "networks.h"
#include "rig.h"

namespace mgcompare::testing {
namespace {

struct Case {
  std::string name;
  Shape shape;
  std::vector<LayerConfig> layers;
  Numerics numerics;
};

LayerConfig strided(LayerConfig config, std::size_t down, std::size_t right) {
  config.stride[0] = down;
  config.stride[1] = right;
  return config;
}

LayerConfig padded(LayerConfig config, std::size_t rows, std::size_t columns) {
  config.padding[0] = rows;
  config.padding[1] = columns;
  return config;
}

LayerConfig kernel(LayerConfig config, std::size_t height, std::size_t width) {
  config.kernel[0] = height;
  config.kernel[1] = width;
  return config;
}

LayerConfig unbiased(LayerConfig config) {
  config.bias = false;
  return config;
}

std::vector<Case> cases() {
  const Shape small{1, 9, 7}, colour{3, 8, 11};
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
      {"convolution_oblong", small,
       {kernel(convolution(2, 1), 2, 5), layer("relu"), unbiased(kernel(convolution(9, 1), 4, 1)), dense(3)}, {}},
      {"fused_max_pool", colour, {convolution(6, 3), layer("tanh"), max_pool(2), convolution(5, 2), max_pool(2), dense(3)}, {}},
      {"fused_relu_max_pool_remainders", colour, {convolution(7, 2), layer("relu"), max_pool(3), layer("flatten"), dense(3)}, {}},
      {"fused_sigmoid_max_pool", small, {convolution(2, 2), layer("sigmoid"), max_pool(2), dense(3)}, {}},
      {"max_pool_overlapping", small, {convolution(3, 2), layer("tanh"), pool("max_pool", 3, 2, 1), dense(3)}, {}},
      {"max_pool_of_activation", small, {convolution(3, 2), max_pool(2), layer("tanh"), dense(3)}, {}},
      {"average_pool", small, {convolution(3, 2), layer("tanh"), pool("average_pool", 3, 2, 1), dense(3)}, {}},
      {"max_pool_as_average", small, {convolution(3, 2), layer("tanh"), max_pool(2), dense(3)}, {"fp32", false, true, true}},
      {"dropout_of_image", small, {convolution(3, 2), layer("tanh"), dropout(0.4), dense(3)}, {}},
      {"dropout_of_rows", {6}, {dense(9), layer("tanh"), dropout(0.5), dense(3)}, {}},
      {"dropout_switched_off", {6}, {dense(9), layer("tanh"), dropout(0.5), dense(3)}, {"fp32", false, false, false}},
      {"batch_norm_of_image", small, {convolution(3, 2), layer("batch_norm"), layer("tanh"), convolution(2, 3), dense(3)}, {}},
      {"batch_norm_of_rows", {6}, {dense(5), layer("batch_norm"), layer("sigmoid"), dense(3)}, {}},
      {"batch_norm_of_sequence", {4, 3}, {layer("batch_norm"), layer("tanh"), dense(3)}, {}},
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
      {"weights_behind_a_dead_end", {5}, {named(dense(4), "a"), named(dense(3), "unread", {"a"}), named(dense(3), "read", {"a"})}, {}},
  };
}

class Layers : public ::testing::TestWithParam<Case> {};

ReferencePass reference_pass(const Case& test) {
  return {true, test.numerics.dropout, test.numerics.average_pooling, 11, 2};
}

TEST_P(Layers, LogitsAgreeWithTheReferenceLoops) {
  const ModelConfig model{"test", GetParam().layers};
  for (std::size_t count : {1, 3, 7, 16, 33, 60}) {
    Rig rig(model, GetParam().shape, 3, 64, GetParam().numerics);
    const std::vector<float> logits = rig.logits(4, count, {true, 11, 2});
    const Numbers expected =
        reference_forward(rig.spec, Numbers(rig.weights.begin(), rig.weights.end()), Numbers(rig.spec.buffers, 0),
                          rig.inputs(4, count), rig.ids(4, count), reference_pass(GetParam()));
    // One sample normalised by itself has no variance on rows: rounding is then all there is.
    const bool lone = count == 1 && GetParam().name == "batch_norm_of_rows";
    EXPECT_LT(relative_error(logits, expected), lone ? 1e-3 : 3e-6) << count << " samples";
  }
}

TEST_P(Layers, GradientsAgreeWithFiniteDifferences) {
  const ModelConfig model{"test", GetParam().layers};
  for (std::size_t count : {3, 17}) {
    Rig rig(model, GetParam().shape, 3, 64, GetParam().numerics);
    const std::vector<float> gradient = rig.gradient(1, count, {true, 11, 2});
    Numbers weights(rig.weights.begin(), rig.weights.end());
    const auto loss = [&] {
      return reference_loss(reference_forward(rig.spec, weights, Numbers(rig.spec.buffers, 0), rig.inputs(1, count),
                                              rig.ids(1, count), reference_pass(GetParam())),
                            rig.labels(1, count));
    };
    Numbers expected, found;
    const std::size_t stride = std::max<std::size_t>(1, weights.size() / 60);
    for (std::size_t i = 0; i < weights.size(); i += stride) {
      const double kept = weights[i];
      weights[i] = kept + 1e-5;
      const double above = loss();
      weights[i] = kept - 1e-5;
      expected.push_back((above - loss()) / 2e-5);
      weights[i] = kept;
      found.push_back(gradient[i]);
    }
    EXPECT_LT(relative_error(found, expected), 2e-5) << count << " samples";
  }
}

INSTANTIATE_TEST_SUITE_P(All, Layers, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

TEST(WholeNetwork, LenetAgreesWithFiniteDifferences) {
  Rig rig(lenet(), {1, 28, 28}, 10, 8);
  const std::vector<float> gradient = rig.gradient(0, 2);
  Numbers weights(rig.weights.begin(), rig.weights.end());
  const auto loss = [&] {
    return reference_loss(reference_forward(rig.spec, weights, {}, rig.inputs(0, 2), rig.ids(0, 2), {}), rig.labels(0, 2));
  };
  for (const Part& part : rig.spec.parts) {
    Numbers expected, found;
    for (std::size_t i = part.range.begin; i < part.range.end; i += part.range.size() / 5 + 1) {
      const double kept = weights[i];
      weights[i] = kept + 1e-5;
      const double above = loss();
      weights[i] = kept - 1e-5;
      expected.push_back((above - loss()) / 2e-5);
      weights[i] = kept;
      found.push_back(gradient[i]);
    }
    EXPECT_LT(relative_error(found, expected), 1e-4) << part.name;
  }
}

}  // namespace
}  // namespace mgcompare::testing
