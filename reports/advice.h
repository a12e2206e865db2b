#pragma once

// What the answer means for who has to choose.

#include <string>

#include "reports/comparison.h"

namespace mgcompare {

// A sentence about what to train with; empty if nothing follows from the results.
std::string advice_text(const Comparison& comparison);

}  // namespace mgcompare
