#pragma once

// Sentences on rows with marks, for all formats.

#include <string>
#include <vector>

#include "reports/comparison.h"

namespace mgcompare {

// One sentence for each row that broke its promise, up to five, and one for each other kind of mark.
std::vector<std::string> marked_rows(const Comparison& comparison);

// What "!" in the terminal's table means; empty without marks.
std::vector<std::string> legend_of_marks(const Comparison& comparison);

}  // namespace mgcompare
