#pragma once

// Two runs side by side: of the rows that both have, which are better, worse, the same, and which nobody can tell.

#include <string>
#include <vector>

#include "reports/comparison.h"
#include "reports/tables.h"

namespace mgcompare {

enum class Change { better, worse, same, undecided };

struct RowChange {
  const Cell* before = nullptr;
  const Cell* after = nullptr;
  Spread speed;                     // samples/s after over before; not seed by seed: the machine was another at that time
  Change change = Change::undecided;
  Spread time_to_target;            // seconds after over before
  Change target_change = Change::undecided;
};

struct Regression {
  std::vector<RowChange> rows;                   // in the order of the second run
  std::vector<std::string> only_before, only_after;  // titles of rows without a partner or without a result in one run
  std::vector<std::string> warnings;             // what makes the two runs poor to compare
};

// Rows fit together by their names. `same` when the whole interval of the ratio lies within the noise floor of 1.
Regression compare_runs(const Comparison& before, const Comparison& after);

// Whether a row is worse, and by more than this share (0.05) of its samples/s or of its time to the target.
bool has_regressed(const Regression& regression, double tolerance);

Table regression_table(const Regression& regression);
// The comparison for people, as Markdown.
std::string regression_report(const Regression& regression, const std::string& before, const std::string& after);

}  // namespace mgcompare
