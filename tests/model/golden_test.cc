// Gradients of networks that contain every layer against those of PyTorch (tests/golden/make_golden.py).

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

#include "cases.h"
#include "rig.h"

namespace mgcompare::testing {
namespace {

std::uint32_t hashed(std::uint32_t stream, std::uint32_t index) {
  std::uint32_t h = index * 2654435761u + stream * 40503u;
  h = (h ^ (h >> 16)) * 0x85EBCA6Bu;
  h = (h ^ (h >> 13)) * 0xC2B2AE35u;
  return h ^ (h >> 16);
}

float symmetric(std::uint32_t stream, std::uint32_t index) {
  return static_cast<float>(hashed(stream, index) >> 8) * 0x1p-23f - 1;
}

struct GoldenNetwork {
  ModelConfig model;
  SampleSpec form;
};
void PrintTo(const GoldenNetwork& network, std::ostream* out) { *out << network.model.name; }

GoldenNetwork network(const ModelConfig& model, const Shape& shape = {1, 28, 28}, std::size_t tokens = 0, std::size_t targets = 1) {
  GoldenNetwork made{model, bytes_of(shape, 10)};
  made.form.tokens = tokens;
  made.form.targets = targets;
  return made;
}

LayerConfig bare(std::size_t channels, std::size_t kernel, std::size_t stride, std::size_t padding) {
  return unbiased(padded(strided(convolution(channels, kernel), stride, stride), padding, padding));
}

// The twins of OTHERS in make_golden.py.
ModelConfig tokens() {
  return {"tokens", {embedding(12), per_position(dense(20)), layer("layer_norm"), layer("gelu"), per_position(dense(10))}};
}

ModelConfig sequence() {
  return {"sequence",
          {per_position(dense(9)), layer("gelu"), layer("layer_norm"), layer("global_average_pool"), layer("layer_norm"), dense(10)}};
}

ModelConfig responses() {
  return {"responses",
          {padded(convolution(8, 5), 2, 2), layer("gelu"), pool("max_pool", 3, 2, 1), response_norm(2, 0.3, 0.75, 1.5),
           convolution(6, 3), layer("layer_norm"), layer("tanh"), response_norm(4, 0.001, 0.75, 1), dense(10)}};
}

ModelConfig residual() {
  return {"residual",
          {bare(6, 7, 2, 3), layer("batch_norm"), layer("relu"), named(pool("max_pool", 3, 2, 1), "first"), bare(4, 1, 1, 0),
           layer("batch_norm"), layer("relu"), bare(4, 3, 2, 1), layer("batch_norm"), layer("relu"), bare(8, 1, 1, 0),
           named(layer("batch_norm"), "a"), named(bare(8, 1, 2, 0), "b", {"first"}), named(layer("batch_norm"), "c"),
           named(layer("add"), "d", {"a", "c"}), named(layer("relu"), "second"), bare(8, 3, 1, 1), named(layer("batch_norm"), "e"),
           named(layer("add"), "f", {"e", "second"}), layer("relu"), layer("global_average_pool"), dense(10)}};
}

Split golden_split(const SampleSpec& form, std::size_t samples) {
  std::size_t values = samples;
  for (const std::size_t size : form.shape) values *= size;
  std::vector<std::uint8_t> bytes;
  for (std::uint32_t i = 0; i < values; ++i)
    bytes.push_back(static_cast<std::uint8_t>(form.tokens == 0 ? hashed(1, i) & 255 : hashed(1, i) % form.tokens));
  Split split;
  split.samples = samples;
  split.values = SharedBytes(std::move(bytes));
  for (std::uint32_t i = 0; i < samples * form.targets; ++i) split.targets.push_back(hashed(2, i) % 10);
  return split;
}

std::vector<float> golden_weights(const NetworkSpec& spec) {
  std::vector<float> weights(spec.parameters);
  for (std::size_t p = 0; p < spec.parts.size(); ++p) {
    const Part& part = spec.parts[p];
    const auto fan_in = static_cast<double>(part.range.size()) / static_cast<double>(part.shape[0]);
    const float scale = part.shape.size() > 1 ? static_cast<float>(std::sqrt(3.0 / fan_in)) : 0.1f;
    const float shift = part.name.ends_with(".gamma") ? 1 : 0;
    for (std::size_t i = 0; i < part.range.size(); ++i) {
      weights[part.range.begin + i] =
          symmetric(static_cast<std::uint32_t>(100 + p), static_cast<std::uint32_t>(i)) * scale + shift;
    }
  }
  return weights;
}

void expect_close(const Span<const float>& found, const nlohmann::json& golden, const std::string& what) {
  ASSERT_EQ(found.size(), golden["size"].get<std::size_t>()) << what;
  double squares = 0;
  for (float value : found) squares += static_cast<double>(value) * value;
  EXPECT_NEAR(std::sqrt(squares) / golden["norm"].get<double>(), 1, 1e-4) << what;
  const auto expected = golden["values"].get<Numbers>();
  Numbers kept;
  for (std::size_t i = 0; i < found.size(); i += golden["step"].get<std::size_t>()) kept.push_back(found[i]);
  ASSERT_EQ(kept.size(), expected.size()) << what;
  EXPECT_LT(relative_error(kept, expected), 1e-4) << what;
}

class Golden : public ::testing::TestWithParam<GoldenNetwork> {};

TEST_P(Golden, GradientsAgreeWithPyTorch) {
  std::ifstream file(std::string(MGCOMPARE_SOURCE_DIR) + "/tests/golden/gradients.json");
  const nlohmann::json all = nlohmann::json::parse(file);
  const auto& [model, form] = GetParam();
  const nlohmann::json& golden = all["networks"].at(model.name);
  const std::size_t samples = all["samples"];

  MemoryMeter meter;
  CpuDevice device(0, meter);
  const NetworkSpec spec = make_spec(model, form, false);
  const auto network = make_network(device, spec, {Precision::fp32, false, false, false});
  const auto feed = make_feed(device, form, golden_split(form, samples), preparation_of({}, form));
  const std::vector<float> weights = golden_weights(spec);
  std::copy(weights.begin(), weights.end(), network->weights().begin());

  const Vec logits = network->forward(*feed, 0, samples, {}, {});
  std::vector<float> slopes(logits.size());
  network->loss(*feed, 0, samples, logits, {slopes.data(), slopes.size()}, 1 / static_cast<float>(samples));
  network->backward({slopes.data(), slopes.size()}, {});

  expect_close(logits, golden["logits"], "logits");
  EXPECT_NEAR(network->take_tally().loss / static_cast<double>(samples * form.targets), golden["loss"].get<double>(), 1e-5);
  ASSERT_EQ(spec.parts.size(), golden["gradients"].size());
  for (std::size_t p = 0; p < spec.parts.size(); ++p) {
    expect_close(network->gradients().slice(spec.parts[p].range), golden["gradients"][p], spec.parts[p].name);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, Golden, ::testing::Values(network(lenet()), network(mlp()), network(keras_cnn()), network(keras_bn_cnn()),
                                           network(tokens(), {7}, 23, 7), network(sequence(), {6, 5}),
                                           network(responses(), {3, 13, 12}), network(residual(), {3, 33, 29}),
                                            network(stacked("gru"), {28, 28}), network(stacked("lstm"), {28, 28})),
                         [](const auto& info) { return info.param.model.name; });

}  // namespace
}  // namespace mgcompare::testing
