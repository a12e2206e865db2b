#include <gtest/gtest.h>

#include "check/reference.h"
#include "rows.h"

namespace mgcompare::testing {
namespace {

Trial tower(std::size_t ranks, const std::vector<OptionConfig>& options = {}) { return small_trial(ranks, "tower", options); }

TEST(Tower, OfGradientsEqualsAccumulatedSharesToTheBitAndOneDeviceUpToRounding) {
  for (const std::string kind : {"sgd", "adam", "adadelta"})
    for (const std::size_t ranks : {2u, 3u, 4u, 8u}) {
      const auto weights = [&](Trial trial, std::size_t shares) {
        trial.config.optimizer.kind = kind_named<OptimizerKind>(kind);
        trial.config.optimizer.learning_rate = kind == "sgd" ? 0.05 : kind == "adam" ? 1e-3 : 1.0;
        return run(trial, shares == 0 ? MakeStrategy() : [shares](Options&, const Facts&) { return make_reference(shares); }).weights[0];
      };
      const std::vector<float> towers = weights(tower(ranks), 0);
      EXPECT_EQ(towers, weights(small_trial(1), ranks)) << ranks << " " << kind;
      EXPECT_LT(largest_difference(towers, weights(small_trial(1), 1)), kind == "adam" ? 1e-4 : 1e-5) << ranks << " " << kind;
    }
}

// Batches of 7: the last batch of an epoch has 2 samples, which leaves most ranks without any.
TEST(Tower, OfParametersInEachStepEqualsGradientsWhereTheRuleIsLinear) {
  for (const std::size_t ranks : {2u, 3u, 4u, 8u})
    for (const auto& [kind, momentum] : {std::pair{"sgd", 0.0}, std::pair{"sgd", 0.9}, std::pair{"adam", 0.0}}) {
      Trial gradients = tower(ranks), parameters = tower(ranks, {option("average", "parameters")});
      for (Trial* trial : {&gradients, &parameters}) {
        trial->global_batch = 7;
        trial->config.epochs = 1;
        trial->config.optimizer.kind = kind_named<OptimizerKind>(kind);
        trial->config.optimizer.momentum = momentum;
        trial->config.optimizer.learning_rate = std::string(kind) == "adam" ? 1e-3 : 0.05;
      }
      const TrainingOutcome copies = run(parameters);
      const double difference = largest_difference(run(gradients).weights[0], copies.weights[0]);
      if (std::string(kind) == "sgd") EXPECT_LT(difference, 1e-5) << ranks << " " << momentum;
      else EXPECT_GT(difference, 1e-3) << "Adam's steps are not linear in the gradient: " << ranks;
      EXPECT_EQ(copies.result.traits.at("promise"), std::string(kind) == "sgd" ? "exact" : "approximate");
      EXPECT_EQ(copies.result.updates, 105u) << "a step without samples counts";
    }
}

TEST(Tower, BytesGoToTheHostAndBack) {
  const Result gradients = run(tower(4)).result;
  const double vector = 4.0 * static_cast<double>(gradients.parameters);
  EXPECT_NEAR(gradients.bytes_per_step, 2 * vector, 1);
  // Weights and momentum, every fifth step.
  const Result parameters = run(tower(4, {option("average", "parameters"), option("every", "5")})).result;
  EXPECT_NEAR(parameters.bytes_per_step, 2 * 2 * vector / 5, 1);
}

}  // namespace
}  // namespace mgcompare::testing
