// GRU and LSTM layers: what the cases of every layer (cases.h) do not cover.

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "mgcompare/error.h"
#include "networks.h"
#include "rig.h"

namespace mgcompare::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const Shape kSequence{7, 5};

class RecurrentNetwork : public ::testing::TestWithParam<const char*> {};

TEST_P(RecurrentNetwork, GradientsAgreeWithFiniteDifferencesOnRaggedSizes) {
  for (const std::size_t times : {1, 2, 7}) {
    for (const std::size_t count : {1, 5}) {
      Rig rig(stacked(GetParam()), {times, 3}, 10, 16);
      const std::vector<float> gradient = rig.gradient(2, count);
      for (const Part& part : rig.spec.parts) {
        // Gradients that are exactly zero have no relative error.
        if (times == 1 && part.name.ends_with(".recurrent")) continue;
        EXPECT_LT(rig.gradient_error(gradient, 2, count, part.range, part.range.size() / 9 + 1), 1e-4)
            << part.name << ", " << times << " x " << count;
      }
    }
  }
}

TEST_P(RecurrentNetwork, OnePositionHasNoGradientOfTheRecurrentWeights) {
  Rig rig(stacked(GetParam()), {1, 3}, 10, 16);
  const std::vector<float> gradient = rig.gradient(0, 9);
  for (const Part& part : rig.spec.parts) {
    if (!part.name.ends_with(".recurrent")) continue;
    for (std::size_t i = part.range.begin; i < part.range.end; ++i) EXPECT_EQ(gradient[i], 0) << part.name;
  }
}

TEST_P(RecurrentNetwork, AnEmptyShareGivesZerosAlsoAfterAFullOne) {
  Rig rig(stacked(GetParam()), kSequence, 10, 32);
  rig.gradient(0, 20);
  EXPECT_EQ(rig.gradient(20, 0), std::vector<float>(rig.spec.parameters, 0.0f));
  Rig fresh(stacked(GetParam()), kSequence, 10, 32);
  EXPECT_EQ(fresh.gradient(0, 0), std::vector<float>(rig.spec.parameters, 0.0f));
}

TEST_P(RecurrentNetwork, CallsReadyFromTheEndToTheStartWithoutGaps) {
  Rig rig(stacked(GetParam()), kSequence, 10, 32);
  for (const std::size_t count : {0, 1, 20}) {
    std::vector<float> seen(rig.spec.parameters);
    std::size_t begin = rig.spec.parameters;
    const std::vector<float> gradient = rig.gradient(0, count, {}, 1, [&](Vec slice) {
      const auto at = static_cast<std::size_t>(slice.data() - rig.network->gradients().data());
      EXPECT_EQ(at + slice.size(), begin);
      begin = at;
      std::copy(slice.begin(), slice.end(), seen.begin() + static_cast<std::ptrdiff_t>(at));
    });
    EXPECT_EQ(begin, 0u);
    EXPECT_EQ(seen, gradient) << "a slice changed after it was ready";
  }
}

TEST_P(RecurrentNetwork, SharesOfABatchAddUpToItsGradient) {
  Rig rig(stacked(GetParam()), kSequence, 10, 64);
  const std::vector<float> whole = rig.gradient(2, 60, {}, 1.0f / 60);
  for (const std::size_t ranks : {2, 3, 7, 64}) {
    std::vector<double> sum(whole.size());
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const Range mine = share(60, rank, ranks);
      const std::vector<float> part = rig.gradient(2 + mine.begin, mine.size(), {}, 1.0f / 60);
      std::transform(sum.begin(), sum.end(), part.begin(), sum.begin(), std::plus<>());
    }
    EXPECT_LT(relative_error(sum, whole), 2e-6) << ranks << " ranks";
  }
}

TEST_P(RecurrentNetwork, GivesTheSameBitsOnEveryRunAndEveryThread) {
  std::vector<std::vector<float>> found(4);
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < found.size(); ++k) {
    threads.emplace_back([&, k] {
      Rig rig(stacked(GetParam()), kSequence, 10, 64);
      rig.gradient(k, 7 + k);  // state left by an earlier pass must not matter
      rig.network->reserve(64);
      found[k] = rig.gradient(3, 50);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t k = 1; k < found.size(); ++k) EXPECT_EQ(found[k], found[0]);
}

TEST_P(RecurrentNetwork, ANaNShowsInTheLoss) {
  Rig rig(stacked(GetParam()), kSequence, 10, 16);
  for (const std::size_t part : {0, 1}) {
    std::vector<float> weights = rig.weights;
    weights[rig.spec.parts[part].range.begin] = std::numeric_limits<float>::quiet_NaN();
    rig.load(weights);
    for (const float logit : rig.logits(0, 1)) EXPECT_TRUE(std::isnan(logit)) << rig.spec.parts[part].name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RecurrentNetwork, ::testing::Values("gru", "lstm"), [](const auto& info) { return info.param; });

NetworkSpec spec_of(const ModelConfig& model, const Shape& shape = kSequence) {
  return make_spec(model, bytes_of(shape, 10), false);
}

TEST(RecurrentSpec, LaysOutItsPartsInPyTorchsOrder) {
  const NetworkSpec spec = spec_of(stacked("lstm"));
  const std::vector<std::pair<std::string, Shape>> expected = {
      {"lstm1.weight", {64, 5}},  {"lstm1.recurrent", {64, 16}}, {"lstm1.bias", {64}}, {"lstm1.recurrent_bias", {64}},
      {"lstm2.weight", {48, 16}}, {"lstm2.recurrent", {48, 12}}, {"lstm2.bias", {48}}, {"lstm2.recurrent_bias", {48}},
      {"dense1.weight", {10, 12}}, {"dense1.bias", {10}}};
  ASSERT_EQ(spec.parts.size(), expected.size());
  std::size_t end = 0;
  for (std::size_t p = 0; p < expected.size(); ++p) {
    EXPECT_EQ(spec.parts[p].name, expected[p].first);
    EXPECT_EQ(spec.parts[p].shape, expected[p].second);
    EXPECT_EQ(spec.parts[p].range.begin, end);
    EXPECT_EQ(spec.parts[p].decays, spec.parts[p].shape.size() > 1);
    end = spec.parts[p].range.end;
  }
  EXPECT_EQ(spec.parameters, end);
  EXPECT_EQ(spec.layers[0].output_shape, (Shape{7, 16}));
  EXPECT_EQ(spec.layers[1].output_shape, (Shape{12}));
  EXPECT_EQ(spec.layers[1].parameters().begin, spec.layers[0].parameters().end);
  EXPECT_EQ(spec_of(stacked("gru")).parts[0].shape, (Shape{48, 5}));
}

TEST(RecurrentSpec, BeginsAsKerasDoes) {
  const NetworkSpec spec = spec_of(stacked("lstm"));
  const std::vector<float> weights = initial_weights(spec, 1);
  const auto part = [&](std::size_t p) { return Span<const float>(weights.data() + spec.parts[p].range.begin, spec.parts[p].range.size()); };
  const float limit = std::sqrt(6.0f / (5 + 64));
  EXPECT_LE(*std::max_element(part(0).begin(), part(0).end()), limit);
  EXPECT_GT(*std::max_element(part(0).begin(), part(0).end()), 0.95f * limit);
  for (std::size_t row = 0; row < 64; ++row) {
    EXPECT_EQ(part(2)[row], row / 16 == 1 ? 1 : 0) << "only the forget gate has a bias";
    EXPECT_EQ(part(3)[row], 0);
  }
  for (std::size_t a = 0; a < 16; ++a) {
    for (std::size_t b = 0; b < 16; ++b) {
      double product = 0;
      for (std::size_t row = 0; row < 64; ++row) product += part(1)[row * 16 + a] * part(1)[row * 16 + b];
      EXPECT_NEAR(product, a == b ? 1 : 0, 1e-6) << "columns " << a << " and " << b;
    }
  }
  EXPECT_NE(weights, initial_weights(spec, 2));
  const std::vector<float> gru = initial_weights(spec_of(stacked("gru")), 1);
  for (const std::size_t p : {2, 3}) {
    const Range range = spec_of(stacked("gru")).parts[p].range;
    EXPECT_TRUE(std::all_of(gru.begin() + static_cast<std::ptrdiff_t>(range.begin), gru.begin() + static_cast<std::ptrdiff_t>(range.end),
                            [](float value) { return value == 0; }));
  }
}

TEST(RecurrentSpec, RefusesWhatIsNoSequenceWithBothShapes) {
  const auto refusal = [](const ModelConfig& model, const Shape& shape) -> std::string {
    try {
      spec_of(model, shape);
    } catch (const NetworkError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal({"m", {recurrent("gru", 4), dense(10)}}, {1, 28, 28}),
              AllOf(HasSubstr("layer 'gru1': needs time x features, its input is 1 x 28 x 28 of samples that are 1 x 28 x 28: these are images"),
                    Not(HasSubstr("embedding"))));
  EXPECT_THAT(refusal({"m", {recurrent("lstm", 4), dense(10)}}, {49}), HasSubstr("embedding or one_hot"));
  EXPECT_THAT(refusal({"m", {recurrent("gru", 4), recurrent("gru", 4), dense(10)}}, {9, 3}),
              HasSubstr("layer 'gru2': needs time x features, its input is 4 of samples that are 9 x 3: 'gru1' gives only its last state; "
                        "write `gru: {units: 4, return_sequences: true}` there"));
  EXPECT_THAT(refusal({"m", {recurrent("gru", 0), dense(10)}}, {9, 3}), HasSubstr("units must be at least 1"));
}

}  // namespace
}  // namespace mgcompare::testing
