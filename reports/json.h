#pragma once

// results.json: everything that the results hold, and what follows from it; described in README.md beside this file.

#include <string>

#include "results.h"

namespace mgcompare {

std::string json_report(const Run& run);

}  // namespace mgcompare
