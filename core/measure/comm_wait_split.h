#pragma once

// Where the exchanges of steps on devices go: to moving data, to waiting for other ranks, or beside computing.

#include <vector>

#include "measure/step_breakdown.h"

namespace mgcompare {

// The times of every rank, with waiting taken out of its exchange, and what ran beside computing. An exchange ends everywhere
// at once and cannot begin before the last rank comes, so on that rank it takes what it takes, and on another what is more
// than that is waiting. Nothing is told apart where the ranks did not call alike.
std::vector<RankTimes> split_exchanges(const std::vector<StepBreakdown>& of_ranks);

}  // namespace mgcompare
