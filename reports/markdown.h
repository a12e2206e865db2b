#pragma once

// report.md: the run for people, in tables.

#include <string>

#include "results.h"

namespace mgcompare {

// `picture`: a file beside it with the scaling curves; empty where there is none.
std::string markdown_report(const Run& run, const std::string& picture = "");

}  // namespace mgcompare
