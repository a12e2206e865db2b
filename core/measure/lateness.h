#pragma once

// How long ranks wait for each other because their steps do not last equally long.

#include <cstddef>
#include <vector>

namespace mgcompare {

// By how many seconds the last of several ranks is later than the mean one, on average, if the steps of each last as these of one rank: the
// longest of each `ranks` steps in a row, less their mean. Steps in a row, because all ranks share slow changes of the machine. A rest of fewer
// steps does not count; if there are fewer steps than ranks, the result is that of as many ranks as steps. Steps may be periods of several.
double lateness(const std::vector<double>& step_seconds, std::size_t ranks);

}  // namespace mgcompare
