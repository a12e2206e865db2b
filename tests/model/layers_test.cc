// Every layer in small networks: logits against the reference loops, gradients against their central differences.

#include <gtest/gtest.h>

#include <algorithm>

#include "cases.h"
#include "networks.h"
#include "rig.h"

namespace mgcompare::testing {
namespace {

class Layers : public ::testing::TestWithParam<Case> {};

ReferencePass reference_pass(const Case& test) {
  return {true, test.numerics.dropout, test.numerics.average_pooling, 11, 2};
}

TEST_P(Layers, LogitsAgreeWithTheReferenceLoops) {
  const ModelConfig model{"test", GetParam().layers};
  for (std::size_t count : {1, 3, 7, 16, 33, 60}) {
    Rig rig(model, GetParam().samples(), 64, GetParam().numerics);
    const std::vector<float> logits = rig.logits(4, count, {true, 11, 2});
    const Numbers expected =
        reference_forward(rig.spec, Numbers(rig.weights.begin(), rig.weights.end()), Numbers(rig.spec.buffers, 0),
                          rig.inputs(4, count), rig.ids(4, count), reference_pass(GetParam()));
    // Batch normalisation of one sample without spatial dimensions has zero variance, so only rounding errors are left.
    const bool lone = count == 1 && GetParam().name == "batch_norm_of_rows";
    EXPECT_LT(relative_error(logits, expected), lone ? 1e-3 : 3e-6) << count << " samples";
  }
}

TEST_P(Layers, GradientsAgreeWithFiniteDifferences) {
  const ModelConfig model{"test", GetParam().layers};
  for (std::size_t count : {3, 17}) {
    Rig rig(model, GetParam().samples(), 64, GetParam().numerics);
    const std::vector<float> gradient = rig.gradient(1, count, {true, 11, 2});
    const std::size_t all = gradient.size(), stride = std::max<std::size_t>(1, all / 60);
    EXPECT_LT(rig.gradient_error(gradient, 1, count, {0, all}, stride, reference_pass(GetParam())), 2e-5) << count << " samples";
  }
}

TEST_P(Layers, AnEmptyShareGivesZeros) {
  Rig rig({"test", GetParam().layers}, GetParam().samples(), 64, GetParam().numerics);
  rig.gradient(0, 5);  // leaves other values where the gradient is
  EXPECT_EQ(rig.gradient(0, 0), std::vector<float>(rig.spec.parameters, 0.0f));
}

// Whatever was computed before, in lanes that are not used now for instance.
TEST_P(Layers, TheSameCallsGiveTheSameBits) {
  Rig one({"test", GetParam().layers}, GetParam().samples(), 64, GetParam().numerics);
  Rig other({"test", GetParam().layers}, GetParam().samples(), 64, GetParam().numerics);
  other.gradient(0, 64, {true, 1, 1});
  EXPECT_EQ(one.gradient(1, 33, {true, 5, 1}), other.gradient(1, 33, {true, 5, 1}));
  EXPECT_EQ(one.gradient(3, 1, {true, 5, 1}), other.gradient(3, 1, {true, 5, 1}));
}

// Of these images a part has up to 160 samples, because some layers need that many.
TEST_P(Layers, ABatchInPartsGivesTheSameBits) {
  Rig rig({"test", GetParam().layers}, GetParam().samples(), 336, GetParam().numerics);
  rig.take_parts_of(kOnePart, GetParam().numerics);
  const auto expected = rig.computed(2, 333);
  rig.take_parts_of(kLeastParts, GetParam().numerics);
  EXPECT_EQ(rig.computed(2, 333), expected);
}

INSTANTIATE_TEST_SUITE_P(All, Layers, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

TEST(Tokens, AValueThatIsNoneShowsInTheOutputOfItsSample) {
  SampleSpec form = bytes_of({5}, 3);
  form.tokens = 11;
  for (const LayerConfig& first : {embedding(4), layer("one_hot")}) {
    Rig rig({"test", {first, dense(3)}}, form, 8);
    std::vector<std::uint8_t> bytes(rig.split.values.begin(), rig.split.values.end());
    bytes[rig.order[2] * 5 + 3] = 11;
    rig.split.values = SharedBytes(std::move(bytes));
    rig.feed = make_feed(rig.device, form, rig.split, preparation_of({}, form));
    rig.feed->set_order({rig.order.data(), rig.order.size()});
    const std::vector<float> logits = rig.logits(0, 8);
    for (std::size_t i = 0; i < logits.size(); ++i) EXPECT_EQ(std::isnan(logits[i]), i / 3 == 2) << i;
    EXPECT_NO_THROW(rig.gradient(0, 8));
    // So does a fraction.
    Preparation half = preparation_of({}, form);
    half.scale = 0.5F;
    rig.feed = make_feed(rig.device, form, rig.split, half);
    rig.feed->set_order({rig.order.data(), rig.order.size()});
    const std::vector<float> halves = rig.logits(0, 8);
    for (std::size_t i = 0; i < halves.size(); ++i) {
      const std::uint8_t* sample = rig.split.values.data() + rig.order[i / 3] * 5;
      EXPECT_EQ(std::isnan(halves[i]), std::any_of(sample, sample + 5, [](std::uint8_t byte) { return byte % 2 == 1; })) << i;
    }
  }
}

TEST(WholeNetwork, LenetAgreesWithFiniteDifferences) {
  Rig rig(lenet(), {1, 28, 28}, 10, 8);
  const std::vector<float> gradient = rig.gradient(0, 2);
  for (const Part& part : rig.spec.parts)
    EXPECT_LT(rig.gradient_error(gradient, 0, 2, part.range, part.range.size() / 5 + 1), 1e-4) << part.name;
}

}  // namespace
}  // namespace mgcompare::testing
