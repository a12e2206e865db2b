#pragma once

// Compares two runs row by row: better, worse, the same or undecided.

#include <string>
#include <string_view>
#include <vector>

#include "reports/comparison.h"
#include "reports/tables.h"

namespace mgcompare {

enum class Change {
  better, worse, same, undecided,
  reference,                        // a baseline that is not known to be the same: other rows are compared by it
  marked,                           // a row that breaks its promise, sends nothing or is too short (marks.h)
};
std::string_view to_string(Change change);

// A figure of both runs. Ratios are second run / first run, not by seed, because the runs are independent.
struct FigureChange {
  Spread ratio;
  Change absolute = Change::undecided;
  // The same for the figure's ratio to each run's own baseline.
  Spread own_before, own_after, own_ratio;
  Change own = Change::undecided;
};

struct RowChange {
  const Cell* before = nullptr;
  const Cell* after = nullptr;
  FigureChange speed;               // samples/s; own: speed-up
  FigureChange time;                // seconds to the target; own: times as fast as the baseline
  // Both runs have the row's baseline, and it is not known to be the same. Then the ratios to each run's own baseline decide.
  bool by_baseline = false;
  Change change = Change::undecided, target_change = Change::undecided;  // what decides
  // Two rows that compute in the same way in different frameworks (counterparts.h). Absolute figures decide; the own figures are the
  // speed-ups within each framework.
  bool has_frameworks() const { return before->framework != after->framework; }
};

struct Regression {
  std::vector<RowChange> rows;                   // in the order of the second run, then those with a counterpart
  std::vector<std::string> only_before, only_after;  // titles of rows that only one run has, or has results of
  std::vector<std::string> lost;                 // those in only_before that the second run has, too, without a result
  std::vector<std::string> warnings;             // differences that affect the comparison
};

// Rows are matched by name, and those that only one run has by counterparts(). A baseline that is better or worse means that the
// machine, or all of the program, became faster or slower. `same`: the whole interval of the ratio is within the noise floor of 1.
Regression compare_runs(const Comparison& before, const Comparison& after);

// Whether the samples/s or the time to the target of a row are worse by more than `tolerance`, such as 0.05, by the figures that
// decide, or a row has lost its result.
bool has_regressed(const Regression& regression, double tolerance);

// "replicated on 2 CPU cores, batch 64"; the label before, too, if the rows are of two frameworks.
std::string regression_title(const RowChange& row);
Table regression_table(const Regression& regression);
// The comparison as Markdown.
std::string regression_report(const Regression& regression, const std::string& before, const std::string& after);
// The comparison as JSON; docs/commands.md has its fields.
std::string regression_json(const Regression& regression, const std::string& before, const std::string& after);

}  // namespace mgcompare
