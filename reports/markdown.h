#pragma once

// report.md: the report as Markdown, mostly tables.

#include <string>

#include "reports/overview.h"

namespace mgcompare {

// `picture`: file name of the scaling curves in the same directory; empty if there is none.
std::string markdown_report(const Overview& overview, const std::string& picture = "");

// The heading, introduction and lines of a table.
std::string markdown_section(const Table& table);

}  // namespace mgcompare
