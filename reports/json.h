#pragma once

// results.json: everything that the results hold, and what follows from it; described in README.md beside this file.

#include <functional>
#include <string_view>

#include "reports/comparison.h"

namespace mgcompare {

// Piece by piece: all of it at once would take more memory than everything else together.
void json_report(const Comparison& comparison, const std::function<void(std::string_view)>& write);

}  // namespace mgcompare
