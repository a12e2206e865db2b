#pragma once

// Which batches fit into memory.

#include <string>
#include <vector>

#include "reports/comparison.h"

namespace mgcompare {

// For each strategy, variant and number of devices that ran out of memory, one sentence with the smallest batch that did not
// fit and the largest one that did, in a row or in the search after the failure (services/fitting_batch.h).
std::vector<std::string> fitting_batches(const Comparison& comparison);

}  // namespace mgcompare
