#include <gtest/gtest.h>

#include "puppet.h"
#include "rows.h"

namespace mgcompare::testing {
namespace {

// Each rank's model equals that of a single device on the same samples: plain sgd on the mean gradient of the rank's
// share.
TEST(Independent, EachRankTrainsAModelOfItsOwnShare) {
  Play given;
  given.plugin = "independent";
  given.ranks = 3;
  given.global_batch = 7;  // shares of 2, 2 and 3
  given.first_weight = 1;
  given.slope = [](const Batch& batch, std::size_t element, float weight) {
    return weight - static_cast<float>(batch.begin() - batch.whole().begin()) - static_cast<float>(element);
  };
  const Played played = play(given);
  for (std::size_t rank = 0; rank < given.ranks; ++rank)
    for (std::size_t element = 0; element < given.elements; ++element) {
      double weight = 1;
      for (std::size_t step = 0; step < given.steps; ++step) weight -= 0.1 * (weight - 2.0 * static_cast<double>(rank) - static_cast<double>(element));
      EXPECT_NEAR(played.weights[rank][given.steps][element], weight, 1e-5) << rank;
    }
}

TEST(Independent, NothingIsSentAndTheResultSaysThatThereAreManyModels) {
  const TrainingOutcome outcome = run(small_trial(4, "independent"));
  EXPECT_EQ(outcome.result.bytes_per_step, 0);
  EXPECT_EQ(outcome.result.traits.at("models"), "many");
  EXPECT_EQ(outcome.result.traits.at("role"), "ceiling");
  for (std::size_t rank = 1; rank < 4; ++rank) EXPECT_NE(outcome.weights[rank], outcome.weights[0]);
}

TEST(Serial, RunsOnOneRankAndSendsNothing) {
  const Result result = run(small_trial(1, "serial")).result;
  EXPECT_EQ(result.bytes_per_step, 0);
  EXPECT_EQ(result.traits.at("role"), "baseline");
  StrategyOptions none({});
  EXPECT_EQ(make_strategy(file_of_plugin("serial"), none, {})->traits().most_ranks, 1);
}

}  // namespace
}  // namespace mgcompare::testing
