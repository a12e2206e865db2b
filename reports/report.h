#pragma once

// Writes the reports of a run, for readers and programs. Reads only the results.

#include <string>
#include <vector>

#include "reports/objective.h"
#include "reports/overview.h"
#include "results/results_store.h"

namespace mgcompare {

// Writes report.html, report.md, results.csv and results.json to the directory, and scaling.svg if there are curves and
// gnuplot. Returns their paths. Each file is replaced atomically. Throws NotWritable.
std::vector<std::string> write_reports(const Overview& overview, const std::string& directory);
std::vector<std::string> write_reports(const Run& run, const std::string& directory,
                                       Objective objective = Objective::time_to_accuracy);

}  // namespace mgcompare
