#pragma once

// Splits the exchange time of device steps into transfer, wait for other ranks, and overlap with compute.

#include <vector>

#include "measure/step_breakdown.h"

namespace mgcompare {

// Returns the times of every rank with `waiting` taken out of `exchange`, and with `overlapped` set. A collective ends on all
// ranks at the same time and cannot start before the last one arrives. The fastest rank's time is therefore transfer; any
// excess on other ranks is wait. Times are returned unsplit if the ranks did not make the same number of calls.
std::vector<RankTimes> split_exchanges(const std::vector<StepBreakdown>& of_ranks);

}  // namespace mgcompare
