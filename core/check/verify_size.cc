#include "check/verify_size.h"

#include <algorithm>

#include <fmt/core.h>

namespace mgcompare {
namespace {

// Of trainings with large shares: epochs of two full steps and a short one, of these parts of a batch.
constexpr std::size_t kFullSteps = 2, kLastSteps[] = {3, 8};
constexpr Bounds kWideSteps = {24, 24}, kWideStepsQuick = {12, 12};
// Larger shares would take most of the time of a verification, and so would more of them.
constexpr std::size_t kMostShare = 256, kMostShareQuick = 64;
constexpr std::size_t kMostShares = 6, kMostSharesQuick = 2;
// Of epochs of one step, which is the first one, the last one, and full.
constexpr std::size_t kShareOfSingleStep = 4;
constexpr Bounds kLongSteps = {400, 600}, kLongStepsQuick = {260, 320};
constexpr std::size_t kLongEpochs = 4;
// Of a training with the config's own schedule: epochs of two full steps and a short one.
constexpr std::size_t kShareOfSchedule = 4, kMostEpochs = 60, kMostEpochsQuick = 16;
// Of the shares of a training with many steps: small, and with more than two ranks empty on the last one in the last step of an epoch.
constexpr std::size_t kSmallShare = 2;

// Of several ranks.
void add_shares(Sizes& shares, const ScalingConfig& scaling) {
  std::set<std::size_t> counts;
  if (scaling.automatic) counts.insert(2);
  for (const DevicesConfig& asked : scaling.devices)
    if (asked.count * scaling.ranks_per_device > 1) counts.insert(asked.count);
  // A share in weak scaling does not depend on the number.
  if (scaling.mode == ScalingMode::weak && !counts.empty()) counts = {1};
  for (const std::size_t count : counts)
    for (const std::size_t batch : scaling.batch) shares.insert(divided_up(batch, count * scaling.ranks_per_device));
}

// That the other trainings do not have, from the largest on.
std::vector<std::size_t> large_shares(const VerifyScope& scope, const Config& config, std::size_t samples, bool quick) {
  const auto ranks = static_cast<std::size_t>(scope.ranks.front());
  Sizes own, shares;
  add_shares(own, config.scaling);
  for (const VariantConfig& variant : config.variants)
    if (variant.config) add_shares(own, variant.config->scaling);
  for (const std::size_t share : own) {
    const std::size_t possible = std::min({share, quick ? kMostShareQuick : kMostShare, samples / (kFullSteps * ranks)});
    if (possible * ranks > scope.brief.batch.most) shares.insert(possible);
  }
  return chosen(shares, quick ? kMostSharesQuick : kMostShares);
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

std::vector<std::size_t> chosen(const Sizes& sizes, std::size_t most) {
  const std::vector<std::size_t> all(sizes.begin(), sizes.end());
  if (all.size() <= most) return all;
  if (most == 1) return {all.front()};
  std::vector<std::size_t> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(all[i * (all.size() - 1) / (most - 1)]);
  return some;
}

std::vector<VerifySize> sizes_of(const VerifyScope& scope, const Config& config, std::size_t samples, bool quick) {
  std::vector<VerifySize> sizes;
  if (scope.ranks.empty() || scope.optimizers.empty()) return sizes;
  const auto ranks = static_cast<std::size_t>(scope.ranks.front());
  const auto add = [&](const std::string& what, std::size_t wanted, const VerifyLength& length) {
    sizes.push_back({what, scope_with(scope, std::min(samples, wanted), length)});
  };
  const std::vector<std::size_t> shares = large_shares(scope, config, samples, quick);
  const Bounds wide = quick ? kWideStepsQuick : kWideSteps;
  // Each with a last step of another size; a single one with both.
  for (std::size_t i = 0; i < std::max(shares.size(), std::min<std::size_t>(2 * shares.size(), 2)); ++i) {
    const std::size_t share = shares[i % shares.size()], batch = share * ranks, part = kLastSteps[i % 2];
    add(fmt::format("with shares of {} samples, and of {} of a batch", share, part == 3 ? "a third" : "an eighth"), kFullSteps * batch + batch / part + 1,
        {{batch, batch}, wide});
  }
  const std::size_t single = kShareOfSingleStep * ranks + 1;
  add("in epochs of one step", single, {{single, single}, wide});
  const std::size_t most = quick ? kMostEpochsQuick : kMostEpochs, epochs = std::min(config.epochs, most), own = kShareOfSchedule * ranks;
  add(config.epochs > most ? fmt::format("with the learning rates of the config in the first {} of {} epochs", epochs, config.epochs)
                           : fmt::format("with the learning rates of the config in {} epoch{}", epochs, epochs == 1 ? "" : "s"),
      kFullSteps * own + ranks + 1, {{own, own}, {(kFullSteps + 1) * epochs, (kFullSteps + 1) * epochs}});
  sizes.back().scope.has_own_schedule = true;
  sizes.back().scope.most_epochs = epochs;
  sizes.back().scope.optimizers = {optimizer_name(config.optimizer)};
  const Bounds steps = quick ? kLongStepsQuick : kLongSteps, batch{kSmallShare * ranks, kSmallShare * ranks + 1};
  // Whichever batch is drawn, the last step of an epoch has one sample less than ranks. With two ranks it would have a single one, which
  // extent_of() avoids.
  const std::size_t period = batch.least * batch.most, most_samples = steps.most / kLongEpochs * batch.most;
  const std::size_t wanted_samples = ranks > 2 && most_samples > period ? most_samples / period * period + ranks - 1 : most_samples;
  add(fmt::format("after {} steps or more", steps.least), wanted_samples, {batch, steps});
  sizes.back().scope.resumes_late = true;
  return sizes;
}

}  // namespace mgcompare
