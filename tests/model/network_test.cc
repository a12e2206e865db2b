// Properties of a network beyond the arithmetic of its layers.

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <limits>
#include <set>
#include <thread>

#include "cpu/batch_norm.h"
#include "mgcompare/error.h"
#include "networks.h"
#include "rig.h"

namespace mgcompare::testing {
namespace {

const Shape kDigit{1, 28, 28};

ModelConfig normalized() {
  LayerConfig first = convolution(4, 3);
  first.bias = false;
  return {"normalized",
          {first, layer("batch_norm"), layer("relu"), max_pool(2), convolution(5, 3), layer("batch_norm"), layer("tanh"),
           dense(10)}};
}

std::vector<float> copy_of(Vec vector) { return {vector.begin(), vector.end()}; }

TEST(Network, CallsReadyFromTheEndToTheStartWithoutGaps) {
  for (const ModelConfig& model : {lenet(), mlp(), keras_cnn(), normalized()}) {
    Rig rig(model, kDigit, 10, 32);
    for (std::size_t count : {0, 1, 20}) {
      std::vector<float> seen(rig.spec.parameters);
      std::size_t begin = rig.spec.parameters;
      const std::vector<float> gradient = rig.gradient(0, count, {}, 1, [&](Vec slice) {
        const auto at = static_cast<std::size_t>(slice.data() - rig.network->gradients().data());
        EXPECT_EQ(at + slice.size(), begin) << model.name;
        begin = at;
        std::copy(slice.begin(), slice.end(), seen.begin() + static_cast<std::ptrdiff_t>(at));
      });
      EXPECT_EQ(begin, 0u) << model.name;
      EXPECT_EQ(seen, gradient) << model.name << ": a slice changed after it was ready";
    }
  }
}

TEST(Network, AnEmptyShareGivesZerosAlsoAfterAFullOne) {
  for (const ModelConfig& model : {lenet(), mlp(), normalized()}) {
    Rig rig(model, kDigit, 10, 32);
    rig.gradient(0, 20);
    const std::vector<float> buffers = copy_of(rig.network->buffers());
    EXPECT_EQ(rig.gradient(20, 0), std::vector<float>(rig.spec.parameters, 0.0f)) << model.name;
    EXPECT_EQ(copy_of(rig.network->buffers()), buffers) << model.name;
    Rig fresh(model, kDigit, 10, 32);
    EXPECT_EQ(fresh.gradient(0, 0), std::vector<float>(rig.spec.parameters, 0.0f)) << model.name;
  }
}

TEST(Network, SharesOfABatchAddUpToItsGradient) {
  for (const ModelConfig& model : {lenet(), mlp(), keras_cnn()}) {
    Rig rig(model, kDigit, 10, 64, {Precision::fp32, false, true, true});
    const Pass pass{true, 5, 1};
    const std::vector<float> whole = rig.gradient(2, 60, pass, 1.0f / 60);
    for (std::size_t ranks : {2, 3, 7, 64}) {
      std::vector<double> sum(whole.size());
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const Range mine = share(60, rank, ranks);
        const std::vector<float> part = rig.gradient(2 + mine.begin, mine.size(), pass, 1.0f / 60);
        std::transform(sum.begin(), sum.end(), part.begin(), sum.begin(), std::plus<>());
      }
      EXPECT_LT(relative_error(sum, whole), 2e-6) << model.name << ", " << ranks << " ranks";
    }
  }
}

TEST(Network, ASampleGivesTheSameLogitsWhereverItStands) {
  Rig rig(keras_cnn(), kDigit, 10, 40);
  const Pass pass{true, 5, 1};
  const std::vector<float> together = rig.logits(0, 40, pass);
  for (std::size_t at : {0, 15, 16, 39}) {
    const std::vector<float> alone = rig.logits(at, 1, pass);
    for (std::size_t c = 0; c < 10; ++c) EXPECT_NEAR(alone[c], together[at * 10 + c], 2e-5) << at;
  }
}

TEST(Network, GivesTheSameBitsOnEveryRunAndEveryThread) {
  for (const ModelConfig& model : {lenet(), normalized(), keras_cnn()}) {
    std::vector<std::vector<float>> found(4);
    std::vector<std::thread> threads;
    for (std::size_t k = 0; k < found.size(); ++k) {
      threads.emplace_back([&, k] {
        Rig rig(model, kDigit, 10, 64);
        rig.gradient(k, 7 + k);  // state left by an earlier pass must not matter
        rig.network->reserve(64);
        found[k] = rig.gradient(3, 50, {true, 5, 1});
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t k = 1; k < found.size(); ++k) EXPECT_EQ(found[k], found[0]) << model.name;
  }
}

TEST(Network, EvaluatesOtherWeightsWithoutTouchingItsOwn) {
  Rig rig(lenet(), kDigit, 10, 32), other(lenet(), kDigit, 10, 32, {}, 8);
  const std::vector<float> own = rig.logits(0, 20), wanted = other.logits(0, 20);
  const Vec found = rig.network->forward(*rig.feed, 0, 20, {false, 0, 0}, other.network->weights());
  EXPECT_EQ(copy_of(found), wanted);
  EXPECT_EQ(rig.logits(0, 20), own);
  rig.load(other.weights);
  EXPECT_EQ(rig.logits(0, 20), wanted) << "changed weights must be seen by the next pass";
}

TEST(Network, TalliesLossHitsAndSamples) {
  Rig rig(mlp(), kDigit, 10, 32);
  const std::vector<float> logits = rig.logits(0, 30);
  std::uint64_t correct = 0;
  const std::vector<std::uint32_t> labels = rig.labels(0, 30);
  for (std::size_t n = 0; n < 30; ++n) {
    const auto row = logits.begin() + static_cast<std::ptrdiff_t>(n * 10);
    correct += std::max_element(row, row + 10) - row == labels[n];
  }
  rig.network->loss(*rig.feed, 0, 30, {logits.data(), logits.size()}, {}, 1);
  const Tally tally = rig.network->take_tally();
  EXPECT_NEAR(tally.loss, reference_loss(Numbers(logits.begin(), logits.end()), labels), 1e-4);
  EXPECT_EQ(tally.correct, correct);
  EXPECT_EQ(tally.predictions, 30u);
  EXPECT_EQ(rig.network->take_tally().predictions, 0u);
}

TEST(Network, ANaNShowsInTheLossAndIsNeverCorrect) {
  for (const ModelConfig& model : {lenet(), keras_cnn(), mlp(), normalized()}) {
    for (bool training : {false, true}) {
      Rig rig(model, kDigit, 10, 32);
      std::vector<float> weights = rig.weights;
      weights[0] = std::numeric_limits<float>::quiet_NaN();
      rig.load(weights);
      const Vec logits = rig.network->forward(*rig.feed, 0, 32, {training, 0, 0}, {});
      rig.network->loss(*rig.feed, 0, 32, logits, {}, 1);
      const Tally tally = rig.network->take_tally();
      EXPECT_TRUE(std::isnan(tally.loss)) << model.name << (training ? ", training" : "");
      EXPECT_EQ(tally.correct, 0u) << model.name << (training ? ", training" : "");
    }
  }
}

TEST(Network, RefusesWhatItCannotDo) {
  EXPECT_THROW(Rig(mlp(), kDigit, 10, 8, {Precision::bf16, false, false, true}), Error);
  Rig rig(mlp(), kDigit, 10, 8);
  EXPECT_THROW(rig.logits(4, 5), Error);
  rig.logits(0, 4);
  std::vector<float> slopes(50);
  EXPECT_THROW(rig.network->backward({slopes.data(), slopes.size()}, {}), Error);
  rig.split.targets[0] = 10;
  const auto feed = byte_feed(rig.device, rig.spec, rig.split);
  EXPECT_THROW(rig.network->loss(*feed, 0, 4, {slopes.data(), 40}, {}, 1), Error);
  const std::uint32_t beyond[] = {8};
  EXPECT_THROW(feed->set_order({beyond, 1}), Error);
}

TEST(Network, LosesNoMemory) {
  MemoryMeter meter;
  CpuDevice device(0, meter);
  {
    const auto network = make_network(device, make_spec(lenet(), bytes_of(kDigit, 10), false), {});
    network->reserve(64);
    EXPECT_GT(meter.peak(), 2u * 431'080 * sizeof(float));
  }
  meter.reset();
  EXPECT_EQ(meter.peak(), 0u);
}

TEST(Dropout, DropsItsShareAndKeepsTheMean) {
  // Dropout directly before the logits, with weights that make every logit the mean of its inputs.
  Rig rig({"m", {dense(100), dropout(0.3), dense(10)}}, {4}, 10, 64);
  std::vector<float> weights(rig.spec.parameters, 0.0f);
  for (std::size_t i = rig.spec.parts[1].range.begin; i < rig.spec.parts[1].range.end; ++i) weights[i] = 1;
  for (std::size_t i = rig.spec.parts[2].range.begin; i < rig.spec.parts[2].range.end; ++i) weights[i] = 0.01f;
  rig.load(weights);
  const std::vector<float> trained = rig.logits(0, 64, {true, 1, 1});
  double mean = 0;
  std::set<float> different;
  for (std::size_t n = 0; n < 64; ++n) {
    mean += trained[n * 10] / 64;
    different.insert(trained[n * 10]);
  }
  EXPECT_NEAR(mean, 1, 0.03);
  EXPECT_GT(different.size(), 8u) << "samples share a mask";
  EXPECT_NE(trained, rig.logits(0, 64, {true, 1, 2})) << "epochs share a mask";
  EXPECT_NE(trained, rig.logits(0, 64, {true, 2, 1})) << "seeds share a mask";
  EXPECT_EQ(trained, rig.logits(0, 64, {true, 1, 1}));
  for (float value : rig.logits(0, 64, {false, 1, 1})) EXPECT_NEAR(value, 1, 1e-5);
}

TEST(BatchNorm, RunningStatisticsMoveTowardsTheBatchAndServeEvaluation) {
  LayerConfig config = layer("batch_norm");
  config.momentum = 0.75;
  Rig rig({"m", {config, dense(10)}}, {2, 3}, 10, 32);
  const Numbers inputs = rig.inputs(0, 20);
  rig.logits(0, 20);
  const Vec buffers = rig.network->buffers();
  for (std::size_t c = 0; c < 2; ++c) {
    double mean = 0, variance = 0;
    const auto for_each = [&](auto f) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (i / 3 % 2 == c) f(inputs[i]);
      }
    };
    for_each([&](double x) { mean += x / 60; });
    for_each([&](double x) { variance += (x - mean) * (x - mean) / 60; });
    EXPECT_NEAR(buffers[c], 0.25 * mean, 1e-6);
    EXPECT_NEAR(buffers[2 + c], 0.75 + 0.25 * variance, 1e-6);
  }
  const std::vector<float> before = copy_of(buffers), logits = rig.logits(0, 20, {false, 0, 0});
  EXPECT_EQ(copy_of(buffers), before) << "evaluation must not learn";
  const Numbers expected =
      reference_forward(rig.spec, Numbers(rig.weights.begin(), rig.weights.end()), Numbers(before.begin(), before.end()),
                        inputs, rig.ids(0, 20), {false, true, false, 0, 0});
  EXPECT_LT(relative_error(logits, expected), 1e-5);
}

// Values of mean 1000 and deviation 1 in images of 37 samples, so that 11 lanes of the last block are none of the batch.
TEST(BatchNorm, KeepsTheVarianceOfChannelsWithALargeMean) {
  LayerConfig normal = layer("batch_norm");
  normal.momentum = 0.75;
  constexpr std::size_t kCount = 37, kPixels = 15;
  Rig rig({"m", {convolution(2, 1), normal, dense(10)}}, {1, 5, 3}, 10, 40);
  const float factors[] = {3.4f, -3.5f}, offsets[] = {1000, -1000};
  for (std::size_t c = 0; c < 2; ++c) {
    rig.weights[rig.spec.layers[0].weights.begin + c] = factors[c];
    rig.weights[rig.spec.layers[0].bias.begin + c] = offsets[c];
  }
  for (std::size_t bytes : {kLeastParts, kOnePart}) {
    rig.take_parts_of(bytes);
    rig.logits(0, kCount);
    const Vec buffers = rig.network->buffers();
    const Numbers inputs = rig.inputs(0, kCount);
    double mean = 0, variance = 0;
    for (double x : inputs) mean += x / (kCount * kPixels);
    for (double x : inputs) variance += (x - mean) * (x - mean) / (kCount * kPixels);
    for (std::size_t c = 0; c < 2; ++c) {
      const double factor = factors[c];
      EXPECT_NEAR(buffers[c], 0.25 * (mean * factor + offsets[c]), 1e-4);
      EXPECT_NEAR(buffers[2 + c], 0.75 + 0.25 * variance * factor * factor, 3e-6);
    }
  }
}

LayerConfig of_same_size(std::size_t channels) {
  LayerConfig config = convolution(channels, 3);
  config.bias = false;
  config.padding[0] = config.padding[1] = 1;
  return config;
}

// Layers that work on parts of a batch, which here are of 16 samples: the images are so large that no layer needs more.
const Shape kLarge{1, 36, 34};

ModelConfig layers_of_parts() {
  return {"parts", {of_same_size(16), layer("batch_norm"), layer("relu"), max_pool(2), of_same_size(17), layer("batch_norm"), layer("tanh"),
                    of_same_size(5), layer("batch_norm"), layer("sigmoid"), convolution(4, 2), layer("batch_norm"), dense(7),
                    layer("batch_norm"), layer("tanh"), dense(10)}};
}

TEST(BatchNorm, ABatchInPartsGivesTheSameBits) {
  Rig rig(layers_of_parts(), kLarge, 10, 64);
  rig.take_parts_of(kOnePart);
  const auto expected = rig.computed(2, 53);
  for (std::size_t bytes : {kLeastParts, kPartBytes}) {
    rig.take_parts_of(bytes);
    EXPECT_EQ(rig.computed(2, 53), expected) << bytes;
  }
}

TEST(BatchNorm, ABatchInPartsAgreesWithTheReferenceLoops) {
  const ModelConfig model{"parts", {of_same_size(6), layer("batch_norm"), layer("tanh"), of_same_size(3), layer("batch_norm"),
                                    layer("sigmoid"), max_pool(2), convolution(4, 2), layer("batch_norm"), layer("tanh"), dense(3)}};
  constexpr std::size_t kCount = 37;
  Rig rig(model, {1, 40, 44}, 3, 64);
  rig.take_parts_of(kLeastParts);
  const std::vector<float> logits = rig.logits(2, kCount);
  const Numbers expected = reference_forward(rig.spec, Numbers(rig.weights.begin(), rig.weights.end()), Numbers(rig.spec.buffers, 0),
                                             rig.inputs(2, kCount), rig.ids(2, kCount), {});
  EXPECT_LT(relative_error(logits, expected), 3e-6);
  const std::vector<float> gradient = rig.gradient(2, kCount);
  for (std::size_t part = 0; part < 6; ++part) {
    const Range range = rig.spec.parts[part].range;
    EXPECT_LT(rig.gradient_error(gradient, 2, kCount, range, range.size() / 2), 1e-4) << rig.spec.parts[part].name;
  }
}

struct Synchronised {
  std::vector<std::vector<float>> gradients, buffers;  // of each rank
};

// One pass over shares of a batch, on a thread each.
Synchronised train_synchronised(const ModelConfig& model, const Shape& shape, std::size_t batch, const std::vector<Range>& shares,
                                std::size_t part_bytes) {
  Synchronised found;
  found.gradients.resize(shares.size());
  found.buffers.resize(shares.size());
  std::vector<Vec> given(shares.size());
  std::barrier context(static_cast<std::ptrdiff_t>(shares.size()));
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    threads.emplace_back([&, rank] {
      Rig rig(model, shape, 10, 64);
      rig.take_parts_of(part_bytes);
      rig.network->synchronize_batch_norm([&](Vec mine) {
        given[rank] = mine;
        context.arrive_and_wait();
        std::vector<float> sum(mine.size(), 0.0f);
        for (Vec other : given) std::transform(sum.begin(), sum.end(), other.begin(), sum.begin(), std::plus<>());
        context.arrive_and_wait();
        std::copy(sum.begin(), sum.end(), mine.begin());
        context.arrive_and_wait();
      });
      found.gradients[rank] = rig.gradient(3 + shares[rank].begin, shares[rank].size(), {}, 1.0f / static_cast<float>(batch));
      found.buffers[rank] = copy_of(rig.network->buffers());
    });
  }
  for (std::thread& thread : threads) thread.join();
  return found;
}

TEST(BatchNorm, SynchronisedSharesEqualTheWholeBatchAlsoWithEmptyOnes) {
  constexpr std::size_t kBatch = 21;
  Rig whole(normalized(), kDigit, 10, 64);
  const std::vector<float> expected = whole.gradient(3, kBatch, {}, 1.0f / kBatch);
  const std::vector<float> statistics = copy_of(whole.network->buffers());

  const Synchronised found = train_synchronised(normalized(), kDigit, kBatch, {{0, 9}, {9, 9}, {9, 20}, {20, 21}}, kPartBytes);
  std::vector<double> sum(expected.size());
  for (const auto& part : found.gradients) std::transform(sum.begin(), sum.end(), part.begin(), sum.begin(), std::plus<>());
  EXPECT_LT(relative_error(sum, expected), 1e-5);
  for (const auto& buffers : found.buffers) EXPECT_LT(relative_error(buffers, statistics), 1e-6);
}

TEST(BatchNorm, SynchronisedSharesInPartsGiveTheSameBits) {
  const std::vector<Range> shares = {{0, 35}, {35, 35}, {35, 52}};
  const Synchronised one = train_synchronised(layers_of_parts(), kLarge, 52, shares, kOnePart);
  const Synchronised parts = train_synchronised(layers_of_parts(), kLarge, 52, shares, kLeastParts);
  EXPECT_EQ(parts.gradients, one.gradients);
  EXPECT_EQ(parts.buffers, one.buffers);
}

// A pass can end with an error after the layer saw its input.
TEST(BatchNorm, AnEmptyShareAfterAnAbandonedPassAddsNothing) {
  MemoryMeter meter;
  CpuDevice device(0, meter);
  const NetworkSpec spec = Rig({"rows", {layer("batch_norm"), dense(3)}}, {4}, 3, 8).spec;
  std::vector<float> values(8 * 4, 2.0f), output(8 * 4), weights(spec.parameters, 1.0f), buffers(spec.buffers, 1.0f);
  values[5] = -3;
  Tensor from{{4}, 4, false, true, values.data(), nullptr}, to{{4}, 4, false, true, output.data(), nullptr};
  Port port{&from, nullptr};
  const std::unique_ptr<Layer> normalization = make_batch_norm(device, spec.layers.front(), {}, port, to);
  std::vector<float> sent;
  normalization->synchronize([&](Vec mine) {
    sent.insert(sent.end(), mine.begin(), mine.end());
    for (float& total : mine) total += 1;  // of another rank, without which nothing is normalised
  });
  Work work;
  work.weights = weights.data();
  work.buffers = buffers.data();
  work.samples = 8;
  normalization->of_parts()->observe(work, {0, 8});
  work.samples = 0;
  normalization->forward(work);
  EXPECT_EQ(sent.size(), 4u + 1 + 4) << "sums with the number of samples, then squares";
  EXPECT_EQ(sent, std::vector<float>(sent.size(), 0.0f));
}

}  // namespace
}  // namespace mgcompare::testing
