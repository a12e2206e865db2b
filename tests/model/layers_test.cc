// Every layer inside small networks: logits against the reference loops, gradients against central differences of them.

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
