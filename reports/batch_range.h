#pragma once

// At which of the measured batches several devices are faster than one.

#include <string>

#include "reports/comparison.h"

namespace mgcompare {

// A sentence; empty with fewer than two batches. At each batch the rows of the program itself on several devices count, as far as they can be
// ranked: one that is significantly faster than its baseline, by samples/s, is enough. What is undecided is said apart.
std::string batch_range_text(const Comparison& comparison);

}  // namespace mgcompare
