#pragma once

// Finds out where the ranks of a trial are and what they send.

#include <vector>

#include "results/placement.h"
#include "train/rank.h"
#include "plan/trial.h"

namespace mgcompare {

// Of all ranks after their last step, while their strategies live.
std::vector<RankPlacement> placement_of(const std::vector<Rank>& ranks, const Trial& trial);

}  // namespace mgcompare
