#include "check/verify_scope.h"

#include <algorithm>

#include "mgcompare/random.h"

namespace mgcompare {
namespace {

constexpr std::size_t kQuickSamples = 110;
constexpr std::size_t kTestSamples = 20;
constexpr std::size_t kLeastEpochs = 3;

// A stream of random numbers for each optimiser, whatever others there are.
std::uint64_t stream_of(const std::string& optimizer) {
  std::uint64_t stream = 0;
  for (const char c : optimizer) stream = stream * 31 + static_cast<unsigned char>(c);
  return stream;
}

}  // namespace

VerifyScope quick_scope() {
  VerifyScope scope;
  scope.ranks = {3};
  scope.optimizers = {"momentum", "adam"};
  scope.samples = kQuickSamples;
  scope.batch = {7, 9};
  scope.steps = {45, 75};
  return scope;
}

Extent extent_of(const VerifyScope& scope, const std::string& optimizer) {
  const Random random(scope.seed, stream_of(optimizer));
  std::uint64_t index = 0;
  const auto draw = [&](Bounds bounds) {
    return bounds.least + static_cast<std::size_t>(random.below(index++, bounds.most - bounds.least + 1));
  };
  Extent extent;
  do extent.batch = draw(scope.batch);
  while (scope.samples % extent.batch == 0);
  const std::size_t steps_per_epoch = scope.samples / extent.batch + 1;
  extent.epochs = std::max(kLeastEpochs, (draw(scope.steps) + steps_per_epoch - 1) / steps_per_epoch);
  // Two different epochs before the last one.
  extent.checkpoint = draw({1, extent.epochs - 1});
  extent.unsettled = draw({0, extent.epochs - 3});
  if (extent.unsettled + 1 >= extent.checkpoint) ++extent.unsettled;
  return extent;
}

DataConfig verify_data(const DataConfig& data, std::size_t samples) {
  DataConfig limited = data;
  limited.train_samples = samples;
  limited.test_samples = kTestSamples;
  limited.validation_samples = 0;
  return limited;
}

}  // namespace mgcompare
