#include <gtest/gtest.h>

#include "rows.h"

namespace mgcompare::testing {
namespace {

Trial sharded(std::size_t ranks, const std::string& shard) {
  return small_trial(ranks, "sharded_server", {option("shard", shard)});
}

std::vector<double> owned_bytes(const Result& result) {
  std::vector<double> owned;
  for (const auto& metrics : result.metrics) owned.push_back(metrics.at("owned bytes").last);
  return owned;
}

TEST(ShardedServer, TensorsRangesAndReplicatedAreBitEqual) {
  for (const std::size_t ranks : {2u, 3u, 4u, 8u})
    for (const std::string kind : {"sgd", "adam"}) {
      const auto weights = [&](Trial trial) {
        trial.config.optimizer.kind = kind_named<OptimizerKind>(kind);
        trial.config.optimizer.learning_rate = kind == "adam" ? 1e-3 : 0.05;
        return run(trial).weights;
      };
      const auto expected = weights(small_trial(ranks, "replicated"));
      EXPECT_EQ(weights(sharded(ranks, "tensor")), expected) << ranks << " " << kind;
      EXPECT_EQ(weights(sharded(ranks, "range")), expected) << ranks << " " << kind;
    }
}

TEST(ShardedServer, OwnersAreDeterministicAndOwnEverythingOnce) {
  for (const std::string shard : {"tensor", "range"})
    for (const std::size_t ranks : {2u, 3u, 8u}) {
      const Result first = run(sharded(ranks, shard)).result, second = run(sharded(ranks, shard)).result;
      const std::vector<double> owned = owned_bytes(first);
      EXPECT_EQ(owned, owned_bytes(second));
      double sum = 0;
      for (const double bytes : owned) sum += bytes;
      EXPECT_EQ(sum, 4.0 * static_cast<double>(first.parameters));
      EXPECT_EQ(first.updates, 30u);
    }
}

TEST(ShardedServer, ATensorGoesToTheOwnerWithLeast) {
  // LeNet: tensors of 400,000, 25,000 and 5,000 weights, then 500, 500, 50, 20 and 10. On three ranks the third owner
  // gets 5,000 and all smaller ones.
  Trial trial = sharded(3, "tensor");
  trial.config.model = lenet_model();
  trial.config.epochs = 1;
  const Result result = run(trial, {}, [](TrainingRequest& request) {
                          request.most_steps = 1;
                          request.evaluate = false;
                        }).result;
  EXPECT_EQ(owned_bytes(result), (std::vector<double>{4.0 * 400000, 4.0 * 25000, 4.0 * (5000 + 500 + 500 + 50 + 20 + 10)}));
}

TEST(ShardedServer, BytesAreAPushAndAPullOfWhatOthersOwn) {
  for (const std::string shard : {"tensor", "range"}) {
    const Result result = run(sharded(4, shard)).result;
    EXPECT_NEAR(result.bytes_per_step, 2.0 * 3 / 4 * 4 * static_cast<double>(result.parameters), 1) << shard;
  }
  EXPECT_EQ(run(sharded(1, "tensor")).result.bytes_per_step, 0);
}

}  // namespace
}  // namespace mgcompare::testing
