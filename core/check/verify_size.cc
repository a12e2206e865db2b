#include "check/verify_size.h"

#include <algorithm>

#include <fmt/core.h>

namespace mgcompare {
namespace {

// Of trainings with large shares: epochs of two full steps and a short one.
constexpr std::size_t kFullSteps = 2;
constexpr Bounds kWideSteps = {24, 24}, kWideStepsQuick = {12, 12};
// Larger shares would take most of the time of a verification.
constexpr std::size_t kMostShare = 256, kMostShareQuick = 64;
constexpr Bounds kLongSteps = {400, 600}, kLongStepsQuick = {260, 320};
constexpr std::size_t kLongEpochs = 4;
// Of the shares of a training with many steps: small, some of them empty in the last step of an epoch.
constexpr std::size_t kSmallShare = 2;

std::size_t largest_share(const ScalingConfig& scaling) {
  const std::size_t batch = scaling.batch.empty() ? 0 : *std::max_element(scaling.batch.begin(), scaling.batch.end());
  std::size_t devices = 2;
  if (scaling.mode == ScalingMode::weak) devices = 1;
  else if (!scaling.automatic) {
    devices = 0;
    for (const DevicesConfig& asked : scaling.devices)
      if (asked.count > 1 && (devices == 0 || asked.count < devices)) devices = asked.count;
    if (devices == 0) return 0;
  }
  return divided_up(batch, devices * scaling.ranks_per_device);
}

std::size_t largest_share(const Config& config) {
  std::size_t share = largest_share(config.scaling);
  for (const VariantConfig& variant : config.variants)
    if (variant.config) share = std::max(share, largest_share(variant.config->scaling));
  return share;
}

VerifyScope scope_with(const VerifyScope& scope, std::size_t samples, VerifyLength length) {
  VerifyScope sized = scope;
  sized.ranks = {scope.ranks.front()};
  sized.first_ranks.clear();
  sized.samples = samples;
  sized.full = sized.brief = length;
  return sized;
}

}  // namespace

std::vector<VerifySize> sizes_of(const VerifyScope& scope, const Config& config, std::size_t samples, bool quick) {
  std::vector<VerifySize> sizes;
  if (scope.ranks.empty() || scope.optimizers.empty()) return sizes;
  const auto ranks = static_cast<std::size_t>(scope.ranks.front());
  const std::size_t share = std::min({largest_share(config), quick ? kMostShareQuick : kMostShare, samples / (kFullSteps * ranks)});
  if (const std::size_t batch = share * ranks; batch > scope.brief.batch.most) {
    // The last step of an epoch has a third of a batch, and shares of unequal size.
    const std::size_t wanted = std::min(samples, kFullSteps * batch + batch / 3 + 1);
    sizes.push_back({fmt::format("with shares of {} samples", share), scope_with(scope, wanted, {{batch, batch}, quick ? kWideStepsQuick : kWideSteps})});
  }
  const Bounds steps = quick ? kLongStepsQuick : kLongSteps, batch{kSmallShare * ranks, kSmallShare * ranks + 1};
  const std::size_t wanted = std::min(samples, steps.most / kLongEpochs * batch.most);
  sizes.push_back({fmt::format("after {} steps or more", steps.least), scope_with(scope, wanted, {batch, steps})});
  return sizes;
}

}  // namespace mgcompare
