#pragma once

// Finds out where the ranks of a trial are and what they send.

#include <vector>

#include "placement.h"
#include "rank.h"
#include "trial.h"

namespace mgcompare {

// Of all ranks after their last step, while their strategies live.
std::vector<RankPlacement> placement_of(const std::vector<Rank>& ranks, const Trial& trial);

}  // namespace mgcompare
