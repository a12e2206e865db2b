#include "model/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <thread>
#include <vector>

#include "cpu/device.h"
#include "mgcompare/error.h"

namespace mgcompare {
namespace {

constexpr std::size_t kSize = 1000;
const Shape kShape{1};

const std::vector<Part> kParts = {{"a.weight", "a", {400}, {0, 400}, true},
                                  {"b.weight", "b", {300}, {400, 700}, true, 0.05},
                                  {"b.bias", "b", {300}, {700, 1000}, false, 0.05}};

Batch batch(double rate) { return Batch({0, 0, 0, 1, 0, 1, rate}, kShape); }

std::vector<float> numbers(std::uint64_t stream) {
  std::vector<float> values(kSize);
  for (std::size_t i = 0; i < kSize; ++i) values[i] = static_cast<float>(Random(1, stream).normal(i));
  return values;
}

struct Rule {
  OptimizerConfig config;
  // Update of one element in double precision; a and b are its state.
  std::function<void(double& w, double g, double& a, double& b, double rate, double decay, int step)> formula;
};

OptimizerConfig config(const std::string& kind, double decay) {
  OptimizerConfig made;
  made.kind = kind_named<OptimizerKind>(kind);
  made.weight_decay = decay;
  return made;
}

std::vector<Rule> rules() {
  OptimizerConfig momentum = config("sgd", 0.01), nesterov = momentum, adadelta = config("adadelta", 0.01);
  momentum.momentum = nesterov.momentum = 0.9;
  nesterov.nesterov = true;
  adadelta.epsilon = 1e-7;
  return {
      {config("sgd", 0.01), [](double& w, double g, double&, double&, double rate, double decay, int) {
         w -= rate * (g + decay * w);
       }},
      {momentum, [](double& w, double g, double& m, double&, double rate, double decay, int) {
         m = 0.9 * m - rate * decay * w - rate * g;
         w += m;
       }},
      {nesterov, [](double& w, double g, double& m, double&, double rate, double decay, int) {
         const double slope = g + decay * w;
         m = 0.9 * m - rate * slope;
         w += 0.9 * m - rate * slope;
       }},
      {config("adam", 0.01), [](double& w, double g, double& m, double& v, double rate, double decay, int step) {
         const double slope = g + decay * w;
         m = 0.9 * m + 0.1 * slope;
         v = 0.999 * v + 0.001 * slope * slope;
         w -= rate * (m / (1 - std::pow(0.9, step))) / (std::sqrt(v / (1 - std::pow(0.999, step))) + 1e-8);
       }},
      {config("adagrad", 0.01), [](double& w, double g, double& h, double&, double rate, double decay, int) {
         const double slope = g + decay * w;
         h += slope * slope;
         w -= rate * slope / (std::sqrt(h) + 1e-8);
       }},
      {adadelta, [](double& w, double g, double& a, double& d, double rate, double decay, int) {
         const double slope = g + decay * w;
         a = 0.95 * a + 0.05 * slope * slope;
         const double step = slope * std::sqrt(d + 1e-7) / std::sqrt(a + 1e-7);
         w -= rate * step;
         d = 0.95 * d + 0.05 * step * step;
       }},
  };
}

class Optimizers : public ::testing::TestWithParam<std::size_t> {
 protected:
  Rule rule_ = rules()[GetParam()];
};

TEST_P(Optimizers, FollowTheFormulaAndDecayWeightsAsTheirLayersSay) {
  const auto optimizer = make_host_optimizer(rule_.config, kParts, nullptr);
  std::vector<float> weights = numbers(1);
  std::vector<double> expected(weights.begin(), weights.end()), a(kSize), b(kSize);
  for (int step = 1; step <= 5; ++step) {
    const std::vector<float> gradient = numbers(static_cast<std::uint64_t>(10 + step));
    optimizer->update({weights.data(), kSize}, {gradient.data(), kSize}, batch(0.1 / step), 0.5);
    for (std::size_t i = 0; i < kSize; ++i) {
      rule_.formula(expected[i], gradient[i], a[i], b[i], 0.05 / step, i < 400 ? 0.01 : i < 700 ? 0.05 : 0, step);
    }
  }
  for (std::size_t i = 0; i < kSize; ++i) ASSERT_NEAR(weights[i], expected[i], 2e-5) << i;
}

TEST_P(Optimizers, RangesFromSeveralThreadsEqualOneUpdate) {
  MemoryMeter meter;
  CpuDevice device(0, meter);
  const auto whole = make_host_optimizer(rule_.config, kParts, nullptr);
  const auto pieces = make_host_optimizer(rule_.config, kParts, &device);
  std::vector<float> one = numbers(1), other = one;
  for (int step = 0; step < 3; ++step) {
    const std::vector<float> gradient = numbers(static_cast<std::uint64_t>(20 + step));
    whole->update({one.data(), kSize}, {gradient.data(), kSize}, batch(0.1));
    pieces->advance();
    std::vector<std::thread> threads;
    for (std::size_t k = 0; k < 7; ++k) {
      threads.emplace_back([&, k] {
        pieces->apply({other.data(), kSize}, {gradient.data(), kSize}, share(kSize, k, 7), batch(0.1));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(one, other);
}

TEST_P(Optimizers, ContinueFromTheirStateAndForgetItOnReset) {
  const auto straight = make_host_optimizer(rule_.config, kParts, nullptr);
  const auto resumed = make_host_optimizer(rule_.config, kParts, nullptr);
  std::vector<float> weights = numbers(1);
  const std::vector<float> gradient = numbers(2);
  const auto learn = [&](Optimizer& optimizer) {
    optimizer.update({weights.data(), kSize}, {gradient.data(), kSize}, batch(0.1));
  };
  learn(*straight);
  const std::vector<float> first = weights;
  learn(*straight);
  ASSERT_EQ(straight->state().size(), resumed->state().size());

  weights = numbers(1);
  learn(*resumed);
  auto& counted = dynamic_cast<CountedOptimizer&>(*resumed);
  EXPECT_EQ(counted.updates(), (UpdateCount{1, 0}));
  std::vector<std::vector<float>> kept;
  for (Vec state : resumed->state()) kept.emplace_back(state.begin(), state.end());
  resumed->reset();
  EXPECT_EQ(counted.updates(), (UpdateCount{1, 1})) << "the results count on";
  weights = numbers(1);
  learn(*resumed);
  EXPECT_EQ(weights, first);
  resumed->reset();
  counted.set_updates({3, 2});
  for (std::size_t i = 0; i < kept.size(); ++i) std::copy(kept[i].begin(), kept[i].end(), resumed->state()[i].begin());
  learn(*resumed);
  std::vector<float> second = numbers(1);
  const auto again = make_host_optimizer(rule_.config, kParts, nullptr);
  for (int step = 0; step < 2; ++step) again->update({second.data(), kSize}, {gradient.data(), kSize}, batch(0.1));
  EXPECT_EQ(weights, second);
}

INSTANTIATE_TEST_SUITE_P(All, Optimizers, ::testing::Range<std::size_t>(0, 6), [](const auto& info) {
  const OptimizerConfig made = rules()[info.param].config;
  return std::string(to_string(made.kind)) + (made.nesterov ? "_nesterov" : made.momentum > 0 ? "_momentum" : "");
});

TEST(OptimizerKinds, AnUnknownKindIsRefused) {
  EXPECT_THROW(make_host_optimizer(config("lion", 0), kParts, nullptr), Error);
}

}  // namespace
}  // namespace mgcompare
