#pragma once

// results.csv: a row a trial, in the order of the plan; columns are described in README.md beside this file.

#include <string>

#include "results/results_store.h"

namespace mgcompare {

std::string csv_report(const Run& run);

}  // namespace mgcompare
