#pragma once

// The comparison of two runs for a terminal.

#include <string>

#include "reports/regression.h"
#include "reports/summary.h"

namespace mgcompare {

// The table of all rows, if its lines fit into the terminal; else a title and a line for each figure of a row, without the intervals of
// the runs' own figures where these lines do not fit either.
std::string regression_text(const Regression& regression, const Style& style);

}  // namespace mgcompare
