#pragma once

// The end of a run on the terminal: what it has shown in sentences, the rows in a table, and what went wrong, last.

#include <string>

#include "reports/objective.h"
#include "reports/tables.h"
#include "results/results_store.h"

namespace mgcompare {

struct Style {
  bool color = false;
  bool utf8 = true;                 // false: nothing but ASCII
};

std::string closing_summary(const Run& run, const Style& style, Objective objective = Objective::time_to_accuracy);
std::string table_text(const Table& table, const Style& style);

}  // namespace mgcompare
