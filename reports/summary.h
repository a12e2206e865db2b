#pragma once

// The summary at the end of a run on the terminal: findings, a table of the rows, and failures at the end.

#include <string>

#include "reports/objective.h"
#include "reports/tables.h"
#include "results/results_store.h"

namespace mgcompare {

struct Style {
  bool color = false;
  bool utf8 = true;                 // false: ASCII only
};

std::string closing_summary(const Run& run, const Style& style, Objective objective = Objective::time_to_accuracy);
std::string table_text(const Table& table, const Style& style);

}  // namespace mgcompare
