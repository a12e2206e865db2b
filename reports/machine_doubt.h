#pragma once

// Whether the machine may have decided a comparison, in a few words for its answer.

#include <string>

#include "reports/comparison.h"

namespace mgcompare {

// "the run is tainted and the machine's speed changed by -11 %"; empty if the report has no such warning. `best` and `base`: the
// rows of the answer.
std::string machine_doubt(const Comparison& comparison, const Cell& best, const Cell& base);

}  // namespace mgcompare
