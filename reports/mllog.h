#pragma once

// A trial as log lines in the style of MLPerf (mlcommons/logging, rules of training v4): what readers of those logs need,
// not a valid submission.

#include <string>

#include "results/results_store.h"

namespace mgcompare {

// Lines of one finished trial. Moments are its start by the clock on the wall plus measured durations.
std::string mllog(const Run& run, const Row& row);

}  // namespace mgcompare
