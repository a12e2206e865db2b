#pragma once

// results.csv: one row per trial, in the order of the plan. README.md in this directory describes the columns.

#include <string>

#include "results/results_store.h"

namespace mgcompare {

std::string csv_report(const Run& run);

}  // namespace mgcompare
