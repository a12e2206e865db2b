#pragma once

// results.csv: one row per trial, in the order of the plan; of several runs one after the other, with columns that tell them apart.
// README.md in this directory describes the columns.

#include <string>

#include "reports/overview.h"

namespace mgcompare {

std::string csv_report(const Overview& overview);
std::string csv_report(const Run& run);

}  // namespace mgcompare
