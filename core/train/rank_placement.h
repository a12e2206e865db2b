#pragma once

// Collects where the ranks of a trial keep their data, and what they send.

#include <vector>

#include "results/placement.h"
#include "train/rank.h"
#include "plan/trial.h"

namespace mgcompare {

// Call after the last step, before the strategies are destroyed.
std::vector<RankPlacement> placement_of(const std::vector<Rank>& ranks, const Trial& trial);

}  // namespace mgcompare
