#include <gtest/gtest.h>

#include "rows.h"

namespace mgcompare::testing {
namespace {

TEST(DataParallel, EqualsReplicated) {
  for (const std::size_t ranks : {2u, 3u, 4u, 8u})
    for (const std::string kind : {"sgd", "adam"}) {
      const auto weights = [&](const std::string& plugin) {
        Trial trial = small_trial(ranks, plugin);
        trial.config.optimizer.kind = kind_named<OptimizerKind>(kind);
        trial.config.optimizer.learning_rate = kind == "adam" ? 1e-3 : 0.05;
        return run(trial).weights;
      };
      EXPECT_EQ(weights("data_parallel"), weights("replicated")) << ranks << " " << kind << ": the same sums in the same order";
    }
}

// The token after each position of a sequence: a sample has several rows of logits.
Dataset token_sequences() {
  constexpr std::size_t kTokens = 11, kLength = 6;
  Dataset data = small_digits();
  data.spec = {};
  data.spec.shape = {kLength};
  data.spec.classes = data.spec.tokens = kTokens;
  data.spec.targets = kLength;
  for (Split* split : {&data.train, &data.test}) {
    std::vector<std::uint8_t> values;
    split->targets.clear();
    for (std::size_t i = 0; i < split->samples * kLength; ++i) {
      const std::size_t token = i * i / 3 % kTokens;
      values.push_back(static_cast<std::uint8_t>(token));
      split->targets.push_back(static_cast<std::uint32_t>((token * 2 + 1) % kTokens));
    }
    split->values = SharedBytes(std::move(values));
  }
  return data;
}

TEST(DataParallel, EqualsReplicatedOnSequences) {
  const Dataset data = token_sequences();
  const auto layer = [](LayerType type, std::size_t units, bool sequences) {
    LayerConfig config;
    config.type = type;
    config.channels = units;
    config.return_sequences = config.per_position = sequences;
    return config;
  };
  const auto outcome = [&](const std::string& plugin) {
    Trial trial = small_trial(3, plugin);
    trial.config.model = {"sequences", {layer(LayerType::one_hot, 0, false), layer(LayerType::gru, 7, true), layer(LayerType::dense, 11, true)}};
    return run(trial, {}, [&](TrainingRequest& request) { request.dataset = &data; });
  };
  const TrainingOutcome parallel = outcome("data_parallel"), replicated = outcome("replicated");
  EXPECT_EQ(parallel.weights, replicated.weights) << "the same sums in the same order";
  EXPECT_LT(parallel.result.epochs[1].loss, parallel.result.epochs[0].loss);
  EXPECT_NEAR(parallel.result.epochs[1].loss, replicated.result.epochs[1].loss, 1e-6);
}

TEST(DataParallel, OnlyTheHolderUpdatesAndSeesTheLoss) {
  const Result parallel = run(small_trial(3, "data_parallel")).result, replicated = run(small_trial(3, "replicated")).result;
  EXPECT_EQ(parallel.updates, 30u);
  EXPECT_EQ(parallel.samples, replicated.samples);
  ASSERT_EQ(parallel.epochs.size(), 2u);
  EXPECT_NEAR(parallel.epochs[1].loss, replicated.epochs[1].loss, 1e-6);
  EXPECT_EQ(parallel.epochs[1].train_accuracy, replicated.epochs[1].train_accuracy);
}

TEST(DataParallel, BytesAreThoseOfWeightsLogitsAndGradients) {
  const std::size_t ranks = 4, classes = 10;
  Trial trial = small_trial(ranks, "data_parallel");
  const Result result = run(trial).result;
  double bytes = 0, steps = 0;
  for (std::size_t begin = 0; begin < 730; begin += trial.global_batch, ++steps) {
    const std::size_t batch = std::min<std::size_t>(trial.global_batch, 730 - begin), others = batch - share(batch, 0, ranks).size();
    bytes += 2.0 * 4 * static_cast<double>((ranks - 1) * result.parameters);  // weights out, gradients in
    bytes += 2.0 * 4 * static_cast<double>(others * classes);                // logits in, their gradient out
  }
  EXPECT_NEAR(result.bytes_per_step, bytes / steps / ranks, 1);
}

TEST(DataParallel, ScatteredInputsAreThoseThatEachDeviceWouldRead) {
  for (const std::size_t ranks : {1u, 2u, 3u, 8u}) {
    const auto weights = [&](const std::vector<OptionConfig>& options, bool augments) {
      Trial trial = small_trial(ranks, "data_parallel", options);
      // What a sample looks like depends on the epoch and on its index in the data set.
      if (augments) trial.config.data.prepare.flip = true, trial.config.data.prepare.crop_padding = 2, trial.config.data.prepare.mean = {0.1f};
      return run(trial).weights;
    };
    for (const bool augments : {false, true})
      EXPECT_EQ(weights({option("inputs", "scatter")}, augments), weights({}, augments)) << ranks << (augments ? " augmented" : "");
  }
}

TEST(DataParallel, ScatteredInputsAreSent) {
  const auto bytes = [](const std::vector<OptionConfig>& options) { return run(small_trial(4, "data_parallel", options)).result.bytes_per_step; };
  const double steps = 15, samples = 730, pixels = 784;
  // Device 0 keeps its share.
  double others = 0;
  for (std::size_t begin = 0; begin < 730; begin += 50) {
    const std::size_t batch = std::min<std::size_t>(50, 730 - begin);
    others += static_cast<double>(batch - share(batch, 0, 4).size());
  }
  ASSERT_LT(others, samples);
  EXPECT_NEAR(bytes({option("inputs", "scatter")}) - bytes({}), others * pixels * 4 / steps / 4, 1);
}

}  // namespace
}  // namespace mgcompare::testing
