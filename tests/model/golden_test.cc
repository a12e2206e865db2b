// Gradients of the shipped networks against those of PyTorch (tests/golden/make_golden.py).

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

#include "networks.h"
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

Split golden_split(std::size_t samples) {
  std::vector<std::uint8_t> bytes;
  for (std::uint32_t i = 0; i < samples * 784; ++i) bytes.push_back(static_cast<std::uint8_t>(hashed(1, i) & 255));
  Split split;
  split.samples = samples;
  split.values = SharedBytes(std::move(bytes));
  for (std::uint32_t i = 0; i < samples; ++i) split.targets.push_back(hashed(2, i) % 10);
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

// The rows of the digit as a sequence, for networks that begin with a recurrent layer.
Shape golden_shape(const ModelConfig& model) {
  return gates_of(model.layers.front().type) > 0 ? Shape{28, 28} : Shape{1, 28, 28};
}

class Golden : public ::testing::TestWithParam<ModelConfig> {};

TEST_P(Golden, GradientsAgreeWithPyTorch) {
  std::ifstream file(std::string(MGCOMPARE_SOURCE_DIR) + "/tests/golden/gradients.json");
  const nlohmann::json all = nlohmann::json::parse(file);
  const nlohmann::json& golden = all["networks"][GetParam().name];
  const std::size_t samples = all["samples"];

  MemoryMeter meter;
  CpuDevice device(0, meter);
  const NetworkSpec spec = make_spec(GetParam(), bytes_of(golden_shape(GetParam()), 10), false);
  const auto network = make_network(device, spec, {Precision::fp32, false, false, false});
  const auto feed = byte_feed(device, spec, golden_split(samples));
  const std::vector<float> weights = golden_weights(spec);
  std::copy(weights.begin(), weights.end(), network->weights().begin());

  const Vec logits = network->forward(*feed, 0, samples, {}, {});
  std::vector<float> slopes(logits.size());
  network->loss(*feed, 0, samples, logits, {slopes.data(), slopes.size()}, 1 / static_cast<float>(samples));
  network->backward({slopes.data(), slopes.size()}, {});

  expect_close(logits, golden["logits"], "logits");
  EXPECT_NEAR(network->take_tally().loss / static_cast<double>(samples), golden["loss"].get<double>(), 1e-5);
  ASSERT_EQ(spec.parts.size(), golden["gradients"].size());
  for (std::size_t p = 0; p < spec.parts.size(); ++p) {
    expect_close(network->gradients().slice(spec.parts[p].range), golden["gradients"][p], spec.parts[p].name);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, Golden, ::testing::Values(lenet(), mlp(), keras_cnn(), keras_bn_cnn(), stacked("gru"),
                                                                     stacked("lstm")),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mgcompare::testing
