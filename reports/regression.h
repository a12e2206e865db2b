#pragma once

// Compares two runs row by row: better, worse, the same or undecided.

#include <string>
#include <vector>

#include "reports/comparison.h"
#include "reports/tables.h"

namespace mgcompare {

enum class Change { better, worse, same, undecided };

struct RowChange {
  const Cell* before = nullptr;
  const Cell* after = nullptr;
  Spread speed;                     // samples/s after / before; not by seed, because the runs are independent
  Change change = Change::undecided;
  Spread time_to_target;            // seconds after / before
  Change target_change = Change::undecided;
};

struct Regression {
  std::vector<RowChange> rows;                   // in the order of the second run
  std::vector<std::string> only_before, only_after;  // titles of rows that only one run has, or has results of
  std::vector<std::string> warnings;             // differences that affect the comparison
};

// Rows are matched by name. `same`: the whole interval of the ratio is within the noise floor of 1.
Regression compare_runs(const Comparison& before, const Comparison& after);

// Whether the samples/s or the time to the target of a row are worse by more than `tolerance`, such as 0.05.
bool has_regressed(const Regression& regression, double tolerance);

Table regression_table(const Regression& regression);
// The comparison as Markdown.
std::string regression_report(const Regression& regression, const std::string& before, const std::string& after);

}  // namespace mgcompare
