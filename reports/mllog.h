#pragma once

// A trial as log lines in the format of MLPerf (mlcommons/logging, training rules v4), for programs that read such logs. Not a
// valid submission.

#include <string>

#include "results/results_store.h"

namespace mgcompare {

// The lines of one finished trial. Times are its start by the system clock plus measured durations.
std::string mllog(const Run& run, const Row& row);

}  // namespace mgcompare
