#include "check/alteration.h"

#include <algorithm>
#include <cstdint>

#include "mgcompare/random.h"

namespace mgcompare {

std::size_t alterations_of(const VerifyScope& scope, int ranks) {
  const std::size_t optimizers = scope.optimizers.size(), least = std::max<std::size_t>(2, static_cast<std::size_t>(ranks));
  return (least + optimizers - 1) / optimizers;
}

Alteration alteration_of(const VerifyScope& scope, const std::string& optimizer, int ranks, bool is_brief, std::size_t number) {
  const auto place = std::find(scope.optimizers.begin(), scope.optimizers.end(), optimizer) - scope.optimizers.begin();
  const std::uint64_t turn = scope.seed + static_cast<std::uint64_t>(place) * alterations_of(scope, ranks) + number;
  // Not in the last step of the epoch, which has a short batch.
  const std::size_t steps = extent_of(scope, optimizer, is_brief).steps_per_epoch - 1;
  const std::size_t step = Random(scope.seed, turn).below(0, steps / 2) * 2 + turn % 2;
  return {static_cast<int>(turn % static_cast<std::uint64_t>(ranks)), step};
}

}  // namespace mgcompare
