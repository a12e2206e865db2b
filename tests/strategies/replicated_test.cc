#include <gtest/gtest.h>

#include "puppet.h"
#include "check/reference.h"
#include "rows.h"

namespace mgcompare::testing {
namespace {

Trial replicated(std::size_t ranks, const std::vector<OptionConfig>& options = {}) {
  return small_trial(ranks, "replicated", options);
}

// One bucket for everything is exchanged after the backward pass, buckets of one element during it.
TEST(Replicated, BucketsOfAnySizeOverlappedOrNotGiveTheSameBits) {
  for (const std::string wire : {"fp32", "fp16", "bf16"})
    for (const std::string deferred : {"false", "true"}) {
      const std::vector<OptionConfig> given = {option("wire", wire), option("deferred", deferred)};
      const TrainingOutcome whole = run(replicated(3, given));
      for (const char* bytes : {"4", "100", "1000"}) {
        std::vector<OptionConfig> options = given;
        options.push_back(option("bucket_bytes", bytes));
        options.push_back(option("first_bucket_bytes", bytes));
        EXPECT_EQ(run(replicated(3, options)).weights, whole.weights) << wire << " deferred " << deferred << " " << bytes;
      }
    }
}

TEST(Replicated, AllRanksHaveTheSameBits) {
  for (const std::string wire : {"fp32", "fp16", "bf16"}) {
    const TrainingOutcome outcome = run(replicated(4, {option("wire", wire)}));
    for (const std::vector<float>& weights : outcome.weights) EXPECT_EQ(weights, outcome.weights[0]) << wire;
  }
}

TEST(Replicated, HalfTheWireIsHalfTheBytesAndNearlyTheSum) {
  const TrainingOutcome full = run(replicated(4));
  const double bytes = 2.0 * 3 / 4 * 4 * static_cast<double>(full.result.parameters);
  EXPECT_NEAR(full.result.bytes_per_step, bytes, 1);
  for (const auto& [wire, limit] : {std::pair{"fp16", 2e-3}, std::pair{"bf16", 2e-2}}) {
    const TrainingOutcome half = run(replicated(4, {option("wire", wire)}));
    EXPECT_NEAR(half.result.bytes_per_step, bytes / 2, 1) << wire;
    const double difference = largest_difference(half.weights[0], full.weights[0]);
    EXPECT_GT(difference, 0) << wire;
    EXPECT_LT(difference, limit) << wire;
    EXPECT_EQ(half.result.traits.at("promise"), "approximate");
  }
}

TEST(Replicated, SumsOfHalvesAreMadeInFullPrecision) {
  // 2048 + 1 + 1 + 1 is 2048 if every sum is rounded to fp16, and 2052 if only the total is.
  Play given;
  given.plugin = "replicated";
  given.options = {option("wire", "fp16")};
  given.ranks = 4;
  given.steps = 1;
  given.global_batch = 4;
  given.rate = 1;
  given.slope = [](const Batch& batch, std::size_t, float) { return 4 * (batch.begin() == 0 ? -2048.0f : -1.0f); };
  EXPECT_EQ(play(given).weights[2][1][0], 2052.0f);
}

TEST(Replicated, DeferredAppliesZerosFirstAndThenTheStepBefore) {
  Play given;
  given.plugin = "replicated";
  given.options = {option("deferred", "true")};
  given.ranks = 3;
  given.global_batch = 7;
  given.slope = [](const Batch& batch, std::size_t element, float) { return -static_cast<float>((batch.step() + 1) * (element + 1)); };
  const Played played = play(given);
  for (std::size_t made = 0; made <= given.steps; ++made)
    for (std::size_t element = 0; element < given.elements; ++element) {
      double expected = 0;  // sum of the gradients of steps 0 to made - 2
      for (std::size_t step = 0; step + 1 < made; ++step) expected += 0.1 * static_cast<double>((step + 1) * (element + 1));
      EXPECT_NEAR(played.weights[0][made][element], expected, 1e-5) << made;
      EXPECT_EQ(played.weights[1][made], played.weights[0][made]);
    }
}

// With momentum 0.9, a gradient that is one step late is stable only up to a 38th of the usual rate.
TEST(Replicated, DeferredGoesAtARateThatBearsMomentum) {
  Play given;
  given.plugin = "replicated";
  given.momentum = 0.9;
  given.steps = 2;
  given.slope = [](const Batch&, std::size_t, float) { return -1.0f; };
  given.options = {option("deferred", "true")};
  EXPECT_NEAR(play(given).weights[0][2][0], 0.1 * (1 - 0.9), 1e-6);
  given.options.push_back(option("rate", "0.5"));
  EXPECT_NEAR(play(given).weights[0][2][0], 0.1 * 0.5, 1e-6);

  Trial trial = replicated(4, {option("deferred", "true")});
  trial.config.epochs = 6;
  const auto epochs = run(trial).result.epochs;
  EXPECT_LT(epochs[5].loss, 0.8 * epochs[0].loss);
}

TEST(Replicated, AloneNothingIsSentRoundedOrLate) {
  const std::vector<float> plain = run(small_trial(1), [](Options&, const Facts&) { return make_reference(1); }).weights[0];
  for (const char* wire : {"fp32", "fp16"}) {
    const TrainingOutcome alone = run(replicated(1, {option("wire", wire), option("deferred", "true")}));
    EXPECT_EQ(alone.weights[0], plain) << wire;
    EXPECT_EQ(alone.result.bytes_per_step, 0) << wire;
    EXPECT_EQ(alone.result.traits.at("promise"), "exact") << wire;
  }
}

}  // namespace
}  // namespace mgcompare::testing
