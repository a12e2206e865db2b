#pragma once

// Whether a row bought its speed with accuracy.

#include <string>

#include "reports/comparison.h"

namespace mgcompare {

// "0.8615 against 0.9155" if the row's accuracy is lower than the other's beyond chance; otherwise empty. With three repeats of both it is
// lower if the ranges do not overlap and the medians differ by half a point; with fewer the medians must differ by two points.
std::string lower_accuracy_text(const Cell& cell, const Cell& other);

}  // namespace mgcompare
