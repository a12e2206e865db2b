#include "check/alteration.h"

#include <algorithm>
#include <cstdint>

#include "mgcompare/random.h"

namespace mgcompare {

std::size_t alterations_of(const VerifyScope& scope, int ranks) {
  const std::size_t optimizers = scope.optimizers.size();
  return (2 * static_cast<std::size_t>(ranks) + optimizers - 1) / optimizers;
}

Alteration alteration_of(const VerifyScope& scope, const std::string& optimizer, int ranks, bool is_brief, std::size_t number) {
  const auto place = std::find(scope.optimizers.begin(), scope.optimizers.end(), optimizer) - scope.optimizers.begin();
  const std::uint64_t turn = scope.seed + static_cast<std::uint64_t>(place) * alterations_of(scope, ranks) + number;
  const Extent extent = extent_of(scope, optimizer, is_brief);
  const Random random(scope.seed, turn);
  const auto count = static_cast<std::uint64_t>(ranks);
  const bool is_late = turn / count % 2 == 1;
  // Not in the last step of the epoch, which has a short batch.
  const std::size_t pairs = (extent.steps_per_epoch - 1) / 2;
  return {static_cast<int>(turn % count), is_late ? 1 + random.below(0, (extent.epochs - 1) / 2) : 0, 1 + random.below(1, pairs - 1) * 2 + turn % 2};
}

}  // namespace mgcompare
