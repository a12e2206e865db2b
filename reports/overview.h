#pragma once

// What a report is about: the networks of a run, or of several runs side by side. Rows are compared, and ranked, within a part;
// tables and charts show all parts.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "reports/charts/chart.h"
#include "reports/comparison.h"
#include "reports/tables.h"

namespace mgcompare {

// In place of all sections with figures.
inline constexpr char kNoResults[] = "There are no figures, charts and predictions, because no trial was completed.";

struct Overview {
  Overview() = default;
  Overview(Comparison comparison);  // NOLINT: a report of one comparison
  explicit Overview(std::vector<Comparison> comparisons);

  std::vector<Comparison> parts;    // by run, then by network; at least one
  std::vector<std::string> warnings;  // settings in which the runs differ

  bool has_networks() const;        // more than one
  bool has_runs() const;
  bool has_results() const;         // a trial was completed
  // The first part of each run.
  std::vector<const Comparison*> runs() const;
  // What distinguishes a part from the others: "lenet", "lenet, 2 x H200"; empty if it is the only one.
  std::string title_of(const Comparison& part) const;
  // The same for the beginning of a sentence about the part: "lenet: ".
  std::string prefix_of(const Comparison& part) const;
};

// One table for all parts, with a column for the network and one for the infrastructure if there are several. Parts whose table has
// another title, such as a target of their own, get a table of their own.
std::vector<Table> tables_of(const Overview& overview, const std::function<Table(const Comparison&)>& table);
// The same for tables that concern a run, not a network.
std::vector<Table> run_tables_of(const Overview& overview, const std::function<Table(const Run&)>& table);

// The groups of charts of all parts, each with one panel or more for each part.
std::vector<ChartGroup> charts_of(const Overview& overview, const std::function<std::vector<ChartGroup>(const Comparison&)>& charts);

// The networks of a run.
Overview overview_of(const Run& run, Objective objective = Objective::time_to_accuracy);
// Several runs side by side. The runs outlive it.
Overview merged(const std::vector<Run>& runs, Objective objective = Objective::time_to_accuracy);

}  // namespace mgcompare
