#pragma once

// From which batch on several devices are faster than one, among the batches that were measured.

#include <string>

#include "reports/comparison.h"

namespace mgcompare {

// A sentence; empty with fewer than two batches, or if a gain at one of them is undecided. At each batch the rows of the program itself on several devices count, as far as they can be
// ranked: one that is significantly faster than its baseline, by samples/s, is enough.
std::string batch_range_text(const Comparison& comparison);

}  // namespace mgcompare
