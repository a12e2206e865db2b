#pragma once

// Whether the machine may have decided a comparison, in a few words for its answer.

#include <string>

#include "reports/answer.h"

namespace mgcompare {

// "the run is tainted and the machine's speed changed by -11 %"; empty if the report has no such warning. `rows`: those of the answer.
std::string machine_doubt(const Comparison& comparison, const Contest& rows);

}  // namespace mgcompare
