#include "check/verify_scope.h"

#include <algorithm>
#include <set>

#include "mgcompare/random.h"

namespace mgcompare {
namespace {

constexpr std::size_t kLeastEpochs = 4;
constexpr std::size_t kMostOwnRanks = 16;  // more take too long

// A stream of random numbers for each optimiser, whatever others there are.
std::uint64_t stream_of(const std::string& optimizer) {
  std::uint64_t stream = 0;
  for (const char c : optimizer) stream = stream * 31 + static_cast<unsigned char>(c);
  return stream;
}

// The numbers of devices of one version of a config.
std::set<std::size_t> devices_of(const ScalingConfig& scaling, std::size_t devices, bool quick) {
  std::set<std::size_t> counts;
  for (const DevicesConfig& asked : scaling.devices) counts.insert(asked.count);
  if (!scaling.automatic) return counts;
  counts = {devices};
  for (std::size_t count = 2; count < devices && !quick; count *= 2) counts.insert(count);
  return counts;
}

}  // namespace

VerifyScope quick_scope() {
  VerifyScope scope;
  scope.ranks = {3};
  scope.hosts = {{2, 2}, {3, 1}};
  scope.optimizers = {"momentum", "adam"};
  scope.samples = 71;
  scope.full = {{4, 6}, {45, 75}};
  scope.brief = {{10, 14}, {18, 30}};
  return scope;
}

std::string optimizer_name(const OptimizerConfig& optimizer) {
  return optimizer.kind == OptimizerKind::sgd && optimizer.momentum > 0 ? "momentum" : std::string(to_string(optimizer.kind));
}

void add_optimizer(VerifyScope& scope, const OptimizerConfig& optimizer) {
  const std::string name = optimizer_name(optimizer);
  if (std::find(scope.optimizers.begin(), scope.optimizers.end(), name) == scope.optimizers.end()) scope.optimizers.push_back(name);
}

void add_ranks(VerifyScope& scope, const Config& config, std::size_t devices, bool quick) {
  std::set<std::size_t> counts;
  const auto add = [&](const ScalingConfig& scaling) {
    for (const std::size_t count : devices_of(scaling, devices, quick)) counts.insert(count * scaling.ranks_per_device);
  };
  add(config.scaling);
  for (const VariantConfig& variant : config.variants)
    if (variant.config) add(variant.config->scaling);
  for (const std::size_t count : counts) {
    const int ranks = static_cast<int>(std::min(count, kMostOwnRanks + 1));
    if (count < 2 || count > kMostOwnRanks || std::find(scope.ranks.begin(), scope.ranks.end(), ranks) != scope.ranks.end()) continue;
    (quick ? scope.first_ranks : scope.ranks).push_back(ranks);
  }
}

double rounding_limit(const std::string& optimizer) { return optimizer == "adam" || optimizer == "adagrad" ? 1e-4 : 1e-5; }

Extent extent_of(const VerifyScope& scope, const std::string& optimizer, bool is_brief) {
  const VerifyLength& length = is_brief ? scope.brief : scope.full;
  const Random random(scope.seed, stream_of(optimizer));
  std::uint64_t index = 0;
  // Epochs of one or two steps leave no choice for some of them.
  const auto draw = [&](Bounds bounds) {
    return bounds.least + static_cast<std::size_t>(random.below(index++, std::max(bounds.least, bounds.most) - bounds.least + 1));
  };
  Extent extent;
  extent.batch = draw(length.batch);
  // The short batch has samples of several ranks.
  if (scope.samples % extent.batch == 1) ++extent.batch;
  extent.steps_per_epoch = divided_up(scope.samples, extent.batch);
  extent.epochs = divided_up(draw(length.steps), extent.steps_per_epoch);
  // Three different epochs before the last one. A fault that begins late may count the steps of a process: one part of a full
  // training has all of the steps that were drawn.
  if (!is_brief) extent.epochs += 2;
  extent.epochs = std::max(kLeastEpochs, extent.epochs);
  auto& [first, second] = extent.checkpoints;
  first = is_brief ? draw({1, extent.epochs - 2}) : draw({0, 1}) == 0 ? 1 : extent.epochs - 2;
  second = is_brief ? draw({first + 1, extent.epochs - 1}) : first + 1;
  if (scope.resumes_late) first = second = extent.epochs++;
  extent.unsettled = draw({0, extent.epochs - 4});
  for (const std::size_t checkpoint : extent.checkpoints)
    if (extent.unsettled + 1 >= checkpoint) ++extent.unsettled;
  extent.rate_changes[0] = draw({1, first * extent.steps_per_epoch - 1});
  extent.rate_changes[1] = draw({second * extent.steps_per_epoch + 1, extent.epochs * extent.steps_per_epoch - 2});
  return extent;
}

}  // namespace mgcompare
