#include "check/alteration.h"

#include <algorithm>
#include <cstdint>

#include "mgcompare/random.h"

namespace mgcompare {

namespace {

// The first step, the last full one and the last one of an epoch.
constexpr std::size_t kEnds = 3;

// A rank that others could ignore, if it has a sample there.
Alteration at_end(std::size_t which, std::size_t epoch, const VerifyScope& scope, const Extent& extent, const Random& random, int ranks) {
  const std::size_t steps = extent.steps_per_epoch, last_samples = scope.samples - (steps - 1) * extent.batch;
  const std::size_t step = which == 0 ? 0 : steps - 3 + which;
  const std::size_t with_samples = std::min(static_cast<std::size_t>(ranks), step + 1 == steps ? last_samples : extent.batch);
  const std::size_t rank = with_samples < 2 ? 0 : 1 + random.below(2, with_samples - 1);
  // The first step: of the last epoch that has a next one, in which models show it.
  return {static_cast<int>(rank), which == 0 ? extent.epochs - 2 : epoch, step, random.uniform(3)};
}

}  // namespace

std::size_t alterations_of(const VerifyScope& scope, const AlteredTraining& of) {
  const std::size_t optimizers = scope.optimizers.size(), all = 2 * static_cast<std::size_t>(of.ranks) + (of.is_lockstep ? kEnds : 0);
  return (all + optimizers - 1) / optimizers;
}

Alteration alteration_of(const VerifyScope& scope, const AlteredTraining& of, std::size_t number) {
  const auto place = std::find(scope.optimizers.begin(), scope.optimizers.end(), of.optimizer) - scope.optimizers.begin();
  const std::size_t index = static_cast<std::size_t>(place) * alterations_of(scope, of) + number;
  const auto count = static_cast<std::uint64_t>(of.ranks);
  const std::uint64_t turn = scope.seed + index;
  const Extent extent = extent_of(scope, of.optimizer, of.is_brief);
  const Random random(scope.seed, turn);
  const std::size_t late_epoch = 1 + random.below(0, (extent.epochs - 1) / 2);
  if (index >= 2 * count && of.is_lockstep) return at_end((index - 2 * count) % kEnds, late_epoch, scope, extent, random, of.ranks);
  const bool is_late = turn / count % 2 == 1;
  // Not in the last step of the epoch, which has a short batch.
  const std::size_t pairs = (extent.steps_per_epoch - 1) / 2;
  const double sample_place = (turn / count + turn % count) % 2 == 0 ? 0 : 1;
  return {static_cast<int>(turn % count), is_late ? late_epoch : 0, 1 + random.below(1, pairs - 1) * 2 + turn % 2, sample_place};
}

}  // namespace mgcompare
