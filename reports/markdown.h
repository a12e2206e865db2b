#pragma once

// report.md: the run for people, in tables.

#include <string>

#include "reports/comparison.h"

namespace mgcompare {

// `picture`: a file beside it with the scaling curves; empty where there is none.
std::string markdown_report(const Comparison& comparison, const std::string& picture = "");

// A heading, the table's words and the table.
struct Table;
std::string markdown_section(const Table& table);

}  // namespace mgcompare
