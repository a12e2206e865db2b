// Optimisers on a GPU against those on the host, which have tests of their own.

#include "cuda/optimizer.h"
#include "gpu.h"

namespace mgcompare::testing {
namespace {

constexpr std::size_t kSize = 5000;
const Shape kShape{1};
const std::vector<Part> kParts = {{"a.weight", "a", {3700}, {0, 3700}, true},
                                  {"a.bias", "a", {300}, {3700, 4000}, false},
                                  {"b.weight", "b", {1000}, {4000, 5000}, true, 0.05}};

std::vector<float> numbers(std::uint64_t stream) {
  std::vector<float> values(kSize);
  for (std::size_t i = 0; i < kSize; ++i) values[i] = static_cast<float>(Random(1, stream).normal(i));
  return values;
}

struct Kind {
  const char* name;
  const char* kind;
  double momentum;
  bool nesterov;
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class CudaOptimizers : public OnGpu, public ::testing::WithParamInterface<Kind> {};

TEST_P(CudaOptimizers, FollowThoseOfTheHost) {
  OptimizerConfig config;
  config.kind = kind_named<OptimizerKind>(GetParam().kind);
  config.momentum = GetParam().momentum;
  config.nesterov = GetParam().nesterov;
  config.weight_decay = 0.01;
  cuda::CudaDevice device(gpu(0));
  const auto ours = cuda::make_optimizer(device, config, kParts);
  const auto theirs = make_host_optimizer(config, kParts, nullptr);
  std::vector<float> expected = numbers(1);
  const Array<float> weights = to_device(device, expected);
  for (int step = 1; step <= 5; ++step) {
    const std::vector<float> gradient = numbers(static_cast<std::uint64_t>(10 + step));
    const Array<float> slopes = to_device(device, gradient);
    const Batch batch({0, 0, 0, 1, 0, 1, 0.1 / step}, kShape);
    theirs->update({expected.data(), kSize}, {gradient.data(), kSize}, batch, 0.5);
    // Two ranges that make up one update.
    ours->advance();
    ours->apply(weights.span(), slopes.span(), {2000, kSize}, batch, 0.5);
    ours->apply(weights.span(), slopes.span(), {0, 2000}, batch, 0.5);
  }
  EXPECT_EQ(ours->updates().made, 5u);
  const std::vector<float> found = to_host(device, weights.span());
  for (std::size_t i = 0; i < kSize; ++i) ASSERT_NEAR(found[i], expected[i], 2e-6 * (1 + std::abs(expected[i]))) << i;
  ours->reset();
  EXPECT_EQ(ours->updates(), (UpdateCount{5, 5}));
  for (const Vec state : ours->state()) EXPECT_EQ(to_host(device, state), std::vector<float>(kSize, 0.0f));
}

INSTANTIATE_TEST_SUITE_P(All, CudaOptimizers,
                         ::testing::Values(Kind{"sgd", "sgd", 0, false}, Kind{"momentum", "sgd", 0.9, false},
                                           Kind{"nesterov", "sgd", 0.9, true}, Kind{"adam", "adam", 0, false},
                                           Kind{"adagrad", "adagrad", 0, false}, Kind{"adadelta", "adadelta", 0, false}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mgcompare::testing
