#pragma once

// The summary at the end of a run on the terminal: findings, a table of the rows, and failures at the end.

#include <string>

#include "reports/objective.h"
#include "reports/overview.h"
#include "reports/tables.h"
#include "results/results_store.h"

namespace mgcompare {

struct Style {
  bool color = false;
  bool utf8 = true;                 // false: ASCII only
  std::size_t columns = 80;         // of the terminal; columns that do not fit are left out
};

std::string closing_summary(const Overview& overview, const Style& style);
std::string closing_summary(const Run& run, const Style& style, Objective objective = Objective::time_to_accuracy);
std::string table_text(const Table& table, const Style& style);

}  // namespace mgcompare
