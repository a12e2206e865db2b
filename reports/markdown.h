#pragma once

// report.md: the run for people, in tables.

#include <string>

#include "results.h"

namespace mgcompare {

std::string markdown_report(const Run& run);

}  // namespace mgcompare
