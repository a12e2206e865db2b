#pragma once

// Rows whose time to the target accuracy is that of their first evaluation.

#include <string>

#include "reports/comparison.h"

namespace mgcompare {

// A sentence; empty if the comparison has no such row that could be evaluated more often. Before the first evaluation nothing is known, so such a
// time is too long, and says little about which row is faster.
std::string coarse_target_text(const Comparison& comparison);

}  // namespace mgcompare
