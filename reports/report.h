#pragma once

// Writes what a run has found as files for people and programs. Reads nothing but results; never measures.

#include <string>
#include <vector>

#include "reports/objective.h"
#include "results/results_store.h"

namespace mgcompare {

// Writes report.html, report.md with its picture (scaling.svg, where there are curves and gnuplot), results.csv and
// results.json into the directory and returns their paths. A file is replaced in one step or stays as it was. Throws
// NotWritable.
std::vector<std::string> write_reports(const Run& run, const std::string& directory,
                                       Objective objective = Objective::time_to_accuracy);

}  // namespace mgcompare
